"""Two processed sources, and exports of them. Tests import the fixtures by name."""

import io
import json

import msgspec
import pyarrow.parquet as pq
import pytest
import zstandard

from thresher.pipeline.configuration import DedupConfig, FiltersConfig
from thresher.pipeline.engine import run_step
from thresher.pipeline.funnel import make_funnel
from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.steps import dedup, export, export_directory, export_plan, process
from thresher.pipeline.steps.options.export_options import ExportOptions
from thresher.pipeline.terminal.progress import LineProgress
from thresher.shards import Dataset
from thresher.shards.mix import Mix
from thresher.shards.tokenizer import load_tokenizer_file
from thresher.storage.directory_store import DirectoryStore

FILTERS = FiltersConfig(preset="none", languages=())
FUNNEL = make_funnel(["news", "books"], {}, [])
PARTS = {"news": (30, 25, 1), "books": (20, 15)}


@pytest.fixture(scope="module")
def processed(tmp_path_factory, pool):
    """Two sources of several parts, with exact duplicates in and between them."""
    directory = tmp_path_factory.mktemp("processed")
    store = DirectoryStore(directory / "data")
    for source, parts in PARTS.items():
        for part, count in enumerate(parts):
            rows = [
                {
                    "url": f"https://{'ab'[n % 2]}.example.org/{source}/{part}/{n}",
                    "text": f"{source} {part} {n}: " + f"words of {n} and {part} " * (5 + n),
                }
                for n in range(count)
            ]
            rows += [{"text": "The same text in every part, which only one may keep. " * 5}]
            path = directory / f"{source}-{part}.jsonl"
            path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
            ingest(store, source, locate_inputs([path]))
        run_step.run_step(
            store,
            process.step(FILTERS),
            process.parts(store, source, FILTERS),
            process.work,
            pool=pool,
            progress=LineProgress(),
        )
    removed, _ = dedup.run(store, list(PARTS), DedupConfig(near="off"), pool=pool, progress=LineProgress())
    return store, removed


KEPT = sum(map(sum, PARTS.values())) + 1


@pytest.fixture
def exported(processed, pool, tmp_path):
    """Export with some options into a directory, and return it. `tokenizer` is that of bytes unless given, or `none`."""

    def run(name="out", tokenizer=None, **options):
        store, removed = processed
        vocabulary = None if tokenizer == "none" else tokenizer or load_tokenizer_file(None)
        plan = export_plan.make_plan(store, list(PARTS), vocabulary, removed, ExportOptions(**options))
        out = export.open_directory(plan, str(tmp_path / name))
        with export_directory.write_lock(out):
            shards = export.make_shards(plan, out, pool=pool, progress=LineProgress())
            export.finish(plan, out, shards, FUNNEL)
        run.made = shards.summary.made  # type: ignore[attr-defined]
        return tmp_path / name

    run.directory = tmp_path  # type: ignore[attr-defined]
    return run


def contents(directory):
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


def parquet_rows(out, pattern="data/*.parquet"):
    return [row for path in sorted(out.glob(pattern)) for row in pq.read_table(path).to_pylist()]


def json_rows(out):
    return [
        json.loads(line)
        for path in sorted(out.glob("jsonl/*"))
        for line in io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(path.open("rb")))
    ]


def mix_of(*sources, by="tokens", size=None):
    return msgspec.convert({"source": list(sources), "by": by, **({"size": size} if size else {})}, Mix)


def dataset_of(out):
    return Dataset.from_json((out / "manifest.json").read_bytes(), "here")


NEWS = {"name": "press", "where": {"source": "news"}}
BOOKS = {"name": "library", "where": {"source": "books"}}
