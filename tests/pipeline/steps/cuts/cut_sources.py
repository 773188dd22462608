"""Sources of texts with repeats, processed, and what a plain reading of the rules cuts out of them."""

import json
from collections import defaultdict, deque

from thresher.core import ThresherError
from thresher.filters.dedup.signature import text_hash
from thresher.isolation.shared_int import SharedInt
from thresher.pipeline.configuration import DedupConfig, FiltersConfig
from thresher.pipeline.engine import run_step
from thresher.pipeline.engine.local.part_server import PartServer
from thresher.pipeline.engine.messages import SealPart
from thresher.pipeline.engine.part_store import PartStore
from thresher.pipeline.engine.task import NO_ITEM, ItemTracker, TaskFailure, TaskSuccess
from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.steps import dedup, process
from thresher.pipeline.steps.cuts import cut_run
from thresher.pipeline.steps.verdicts.verdict_sets import judged_parts
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage import tables

FILTERS = FiltersConfig(preset="none", languages=())
PASSAGES = DedupConfig(near="off", prefer=("longest",), substring_words=10, min_words=0)
LINES = DedupConfig(near="off", prefer=("longest",), line_documents=3, min_words=0)


def put_source(store, pool, directory, source, parts, first=0):
    """Ingest and process parts of pairs of URL and text. The files are numbered from `first`."""
    for number, rows in enumerate(parts, first):
        path = directory / f"{source}-{number}.jsonl"
        path.write_text("".join(json.dumps({"url": url, "text": text}) + "\n" for url, text in rows))
        ingest(store, source, locate_inputs([path]))
    run_step.run_step(
        store,
        process.step(FILTERS),
        process.parts(store, source, FILTERS),
        process.work,
        pool=pool,
        progress=LineProgress(),
    )


def run_cuts(store, pool, sources, config):
    """Return the Manifest of the cut step."""
    removed, _ = dedup.run(store, sources, config, pool=pool, progress=LineProgress())
    manifest, _ = cut_run.run(store, sources, config, removed, pool=pool, progress=LineProgress())
    return manifest


def rows_of(store, manifest, folder, schema=None):
    """Return the rows of the tables of a run in a folder."""
    found = [output for output in manifest.outputs if output.name.startswith(f"{folder}/")]
    return [row for output in found for row in tables.read(store, output, schema).to_pylist()]


def documents(store, source):
    """Return the texts of a source by id."""
    schema = tables.columns(tables.DOCUMENTS, "id", "text")
    found = {}
    for part in judged_parts(store, source):
        rows = tables.read(store, part.documents, schema).to_pylist()
        found.update((row["id"], row["text"]) for row in rows)
    return found


def expected_words(texts, size):
    """Return the numbers of the words that are cut of each text. `texts` are in the order of the documents."""
    first, cut = {}, defaultdict(set)
    for number, text in enumerate(texts):
        words = text.split()
        for at in range(len(words) - size + 1):
            window = tuple(words[at : at + size])
            other, place = first.setdefault(window, (number, at))
            if (other, place) != (number, at) and (other != number or place + size <= at):
                cut[number].update(range(at, at + size))
    return dict(cut)


def expected_lines(texts, fewest):
    """Return the numbers of the lines that are cut of each text."""
    documents, first, cut = defaultdict(set), {}, defaultdict(set)
    keys = [[" ".join(line.casefold().split()) for line in text.split("\n")] for text in texts]
    for number, lines in enumerate(keys):
        for at, line in enumerate(lines):
            documents[line].add(number)
            first.setdefault(line, (number, at))
    for number, lines in enumerate(keys):
        for at, line in enumerate(lines):
            if line and len(documents[line]) >= fewest and first[line] != (number, at):
                cut[number].add(at)
    return dict(cut)


def in_order(texts):
    """Return texts as `prefer = ["longest"]` orders them."""
    return sorted(texts, key=lambda text: (-len(text.encode()), text_hash(text)[:8]))


def covered_words(text, spans):
    """Return the numbers of the words that spans cover. No span may divide a word."""
    found, at = set(), 0
    places = []
    for number, word in enumerate(text.split()):
        at = text.index(word, at)
        places.append((number, at, at + len(word)))
        at += len(word)
    for start, end in spans:
        assert start in {place[1] for place in places}
        assert end in {place[2] for place in places}
        found.update(number for number, low, high in places if low >= start and high <= end)
    return found


class InlinePool:
    """Makes parts in this process, one after another, so that a test may replace a function of the work."""

    workers = 1

    def __init__(self):
        self._waiting = deque()

    def submit(self, task):
        self._waiting.append(task)

    def next_outcome(self):
        task = self._waiting.popleft()
        with PartServer(task.assignment(), most_bytes=1 << 30) as server:
            mark = ItemTracker(SharedInt.create(NO_ITEM))
            try:
                found = task.work(PartStore(server.respond), task.step, task.part, mark)
            except ThresherError as error:
                return task, TaskFailure(error=error, detail="")
            rows = {output.name: output.rows for output in found.outputs}
            server.seal(SealPart(counts=dict(found.counts), rows=rows, work_cpu_s=0, cpu_s=0))
        return task, TaskSuccess(work_cpu_s=0, cpu_s=0, wall_s=0, bytes_read=0, bytes_written=0, rss=0)
