"""A processed source of documents that different rules drop. Tests import the fixtures by name."""

import json

import pyarrow.parquet as pq

from thresher.pipeline.configuration import FiltersConfig
from thresher.pipeline.engine import run_step
from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.steps import process
from thresher.pipeline.steps.judging import judge_step
from thresher.pipeline.steps.records.rule_set import rule_set
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.directory_store import DirectoryStore

FILTERS = FiltersConfig(preset="fineweb", languages=("en", "de"))
SENTENCES = (
    "The old bridge over the river was built by hand, and it has carried the road to the mill since then.",
    "Nobody remembers who planted the trees with the red leaves that grow at the end of the valley.",
    "It took them three days to walk to the village, because the snow had covered all of the paths.",
    "She wrote to her brother that the harvest had been good and that the barn was full of hay.",
    "Every spring the water rises to the second step of the church, and every spring it falls again.",
    "The clock in the tower has two faces, of which one shows the time of the town that we left.",
    "When the bell rings for the last time, the shops close and the people go home to have supper.",
    "There were days on which the fog did not lift at all, and the boats stayed in the harbour.",
)
GERMAN = "Der alte Weg führt durch den Wald und über die Brücke bis zu dem Dorf, in dem wir wohnen. "


def rows():
    """Yield documents of many kinds; each kind is dropped by another rule, or by none."""
    for n in range(24):
        own = [f"{sentence[:-1]}, as number {n} of {at} says." for at, sentence in enumerate(SENTENCES)]
        text = {
            0: "\n".join(own),
            1: "\n".join(own[: 2 + n % 5]),
            2: "\n".join([*own, *(["Read more about it"] * (2 + n % 7))]),
            3: "\n".join([*own, *(f"menu {each}" for each in range(n % 20))]),
            4: "\n".join([*own, "lorem ipsum dolor sit amet"]),
            5: GERMAN * (4 + n % 3),
            6: "\n".join(f"{line} {n} # # #" for line in own[:5]),
            7: "\n".join([*own, "function() { return 1; }"]),
        }[n % 8]
        yield {"url": f"https://{'ab'[n % 2]}.example.org/{n}", "text": text}
    yield {"url": "https://c.example.org/", "text": "Short."}


def ingested(root):
    """Return a store with the source `s` of two files."""
    store = DirectoryStore(root / "data")
    every = list(rows())
    for number, part in enumerate((every[:13], every[13:])):
        path = root / f"{number}.jsonl"
        path.write_text("".join(f"{json.dumps(row)}\n" for row in part))
        ingest(store, "s", locate_inputs([path]))
    return store


def process_all(store, filters, pool):
    step = process.step(filters)
    parts = process.parts(store, "s", filters)
    run_step.run_step(store, step, parts, process.work, pool=pool, progress=LineProgress())
    return store


def judge_all(store, filters, pool, name="new"):
    chosen = rule_set(filters)
    parts = judge_step.parts(store, "s", name, chosen)
    step = judge_step.step(chosen)
    return run_step.run_step(store, step, parts, judge_step.work, pool=pool, progress=LineProgress())


def table(store, folder):
    """Return the rows of all tables of a folder, in order."""
    paths = sorted((store.root / folder).rglob("*.parquet"))
    return [row for path in paths for row in pq.read_table(path).to_pylist()]
