"""Export many small documents: memory, files, and what a document costs.

usage: python bench/shards/export.py [--tokenizer FILE] [--documents N] [--words W] [--workers N] [--group SIZE]
           [--fan-in N] [--format NAME ...] [--prose DIR] [--mix tokens|documents] [--part-rows N] [--slow] [--peer]

The documents are made here: about W words each, drawn from a list by a seeded generator, in parts of 50,000
(`--part-rows`). Their tables are sealed as `process` and `dedup` seal them; one document of a thousand is removed as a
duplicate. With `--prose` the documents are those of the .jsonl.zst and .tar.zst files of a directory, cut at 4,000
characters. `--mix` exports a mix of the first 10,001 documents, twice at most, and the others, by tokens or documents.
`--slow` encodes with the `tokenizers` library. Without a tokenizer the shards hold texts. `--peer` then gives the same
documents to datatrove (`bench/peers`), whose lines follow: it encodes them, or writes them in each format. Prints one
JSON line: documents and tokens a second of CPU time of all processes, start included; the largest resident memory of
the command and of a worker; the number of working files and of shards.
"""

import argparse
import io
import json
import os
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import zstandard

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.peers import environments
from thresher.core import Verdict
from thresher.core.settings import parse_size
from thresher.pipeline.configuration import DedupConfig
from thresher.pipeline.engine.local.worker_pool import local_worker_pool
from thresher.pipeline.funnel import make_funnel
from thresher.pipeline.steps import dedup, export, export_plan, sharding
from thresher.pipeline.steps.options.export_options import ExportOptions
from thresher.pipeline.terminal.progress import LineProgress
from thresher.shards.mix import Mix
from thresher.shards.tokenizer import chosen_tokenizer
from thresher.storage import tables
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import Input, Manifest, fingerprint, put_output, seal
from thresher.storage.store import Store

PART_ROWS = 50_000
PROSE_CHARACTERS = 4_000
SOURCE = "made"


def main() -> None:
    """Make the documents, export them, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokenizer", type=Path)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--words", type=int, default=25)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--group", default="128MiB")
    parser.add_argument("--fan-in", type=int, default=sharding.FAN_IN)
    parser.add_argument("--format", action="append", dest="formats")
    parser.add_argument("--shard-size", default="1GB")
    parser.add_argument("--prose", type=Path)
    parser.add_argument("--mix", choices=["tokens", "documents"])
    parser.add_argument("--part-rows", type=int, default=PART_ROWS)
    parser.add_argument("--dir", type=Path, help="work here instead of in a temporary directory")
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--peer", action="store_true")
    args = parser.parse_args()
    if args.slow:
        vars(sharding)["is_fast_equal"] = lambda _: False
    export_plan.GROUP_TEXT_BYTES, sharding.FAN_IN = parse_size(args.group), args.fan_in
    with tempfile.TemporaryDirectory(dir=args.dir) as directory:
        root = Path(directory)
        store = DirectoryStore(root / "data")
        texts = prose(args.prose) if args.prose else made_texts(args.documents, args.words, args.part_rows)
        removed = put_documents(store, texts)
        tokenizer = chosen_tokenizer(args.tokenizer)
        options = ExportOptions(
            formats=tuple(args.formats or ["tokens"]),
            shard_bytes=parse_size(args.shard_size),
            mix=None if args.mix is None else mix_of_halves(args.mix),
        )
        before, started = cpu_seconds(), time.monotonic()
        plan = export_plan.make_plan(store, [SOURCE], tokenizer, removed, options)
        planned = time.monotonic() - started
        out = export.open_directory(plan, str(root / "out"))
        with local_worker_pool(args.workers) as pool:
            shards = export.make_shards(plan, out, pool=pool, progress=LineProgress())
        working = [path for path in (root / "out" / ".work").rglob("*") if path.is_file()]
        working_bytes = sum(path.stat().st_size for path in working)
        dataset = export.finish(plan, out, shards, make_funnel([SOURCE], {}, []))
        wall, cpu = time.monotonic() - started, cpu_seconds() - before
        line = {
            "bench": "export",
            "documents": dataset.documents,
            "tokens": dataset.tokens,
            "text_mb": plan.text_bytes / 1e6,
            "groups": len(plan.groups),
            "fan_in": args.fan_in,
            "parts": sum(len(group.parts) for group in plan.groups),
            "shards": len(dataset.shards),
            "working_files": len(working),
            "working_mb": working_bytes / 1e6,
            "wall_s": wall,
            "plan_s": planned,
            "cpu_s": cpu,
            "documents_s_core": dataset.documents / cpu,
            "mtokens_s_core": (dataset.tokens or 0) / cpu / 1e6,
            "cpu_ms_document": cpu / dataset.documents * 1000,
            "shard_mb": sum(file.bytes for shard in dataset.shards for file in shard.files) / 1e6,
            "text_mb_s_core": plan.text_bytes / cpu / 1e6,
            "rss_command_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "rss_worker_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
            "load": os.getloadavg()[0],
        }
    print(
        json.dumps(
            {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in line.items()}
        )
    )
    if args.peer:
        texts = prose(args.prose) if args.prose else made_texts(args.documents, args.words, args.part_rows)
        print(datatrove(args.tokenizer, texts, options.formats))


def datatrove(tokenizer: Path | None, parts: Iterator[list[str]], formats: Sequence[str]) -> str:
    """Return the lines that the peer prints: one, or one for each format of texts."""
    command = environments.command("shards/export_datatrove.py", "datatrove")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "texts.jsonl"
        with path.open("w") as file:
            for number, text in enumerate(text for texts in parts for text in texts):
                file.write(json.dumps({"id": str(number), "text": text}) + "\n")
        chosen = [["--tokenizer", str(tokenizer)]] if tokenizer else [["--write", name] for name in formats]
        runs = [
            subprocess.run(
                [*command, "--texts", str(path), *words], check=True, capture_output=True, text=True
            )
            for words in chosen
        ]
    return "\n".join(done.stdout.splitlines()[-1] for done in runs)


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and its ended children."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def mix_of_halves(unit: str) -> Mix:
    """Return a mix of the earlier and the later documents, half of each."""
    return msgspec.convert(
        {
            "by": unit,
            "source": [
                {"name": "early", "share": 1, "where": {"record_offset": {"max": 10_000}}, "repeat": 2},
                {"name": "late", "share": 1},
            ],
        },
        Mix,
    )


def made_texts(count: int, words: int, part_rows: int) -> Iterator[list[str]]:
    """Yield texts, a part at a time."""
    random = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlucmfwypvbgkqjxz"))
    known = ["".join(random.choice(letters, size=random.integers(2, 9))) for _ in range(20_000)]
    for first in range(0, count, part_rows):
        rows = min(part_rows, count - first)
        chosen = (random.pareto(1.2, size=(rows, words)) * 20).astype(np.int64) % len(known)
        yield [
            f"{first + row}: " + " ".join([known[at] for at in line])
            for row, line in enumerate(chosen.tolist())
        ]


def prose(directory: Path) -> Iterator[list[str]]:
    """Yield texts of real prose, a file at a time."""
    for path in sorted(directory.glob("*.zst")):
        with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
            if path.name.endswith(".tar.zst"):
                with tarfile.open(fileobj=stream, mode="r|") as tar:
                    whole = [tar.extractfile(member).read().decode() for member in tar if member.isfile()]  # type: ignore[union-attr]
            else:
                rows = map(json.loads, io.TextIOWrapper(stream, encoding="utf-8"))
                whole = [row["text"] for row in rows if "text" in row]
        yield [
            text[start : start + PROSE_CHARACTERS]
            for text in whole
            for start in range(0, len(text), PROSE_CHARACTERS)
        ]


def put_documents(store: Store, parts: Iterator[list[str]]) -> Manifest:
    """Seal the tables of `process` and `dedup`, and return the run of `dedup`."""
    gone: list[str] = []
    spans: list[Input] = []
    first = 0
    for number, texts in enumerate(parts):
        ids = [f"{first + row:032x}" for row in range(len(texts))]
        gone += [one for row, one in enumerate(ids) if row % 1000 == 999]
        made = {
            "documents": document_table(ids, texts, first),
            "verdicts": tables.verdict_rows(
                [Verdict(id=one, keep=True, rule="", reason="", measurements={}) for one in ids]
            ),
            "measurements": tables.measurement_rows([], (), ()),
            "signatures": tables.signature_rows(
                ids=ids,
                text_hashes=[bytes(16)] * len(ids),
                urls=[""] * len(ids),
                text_bytes=[len(text.encode()) for text in texts],
                payload_bytes=[0] * len(ids),
                fetched_at_ms=[0] * len(ids),
                minhashes=np.zeros((len(ids), tables.PERMUTATIONS), dtype=np.uint32),
            ),
        }
        outputs = tuple(
            put_output(
                store,
                f"{kind}/{SOURCE}/part-{number:06d}.parquet",
                len(ids),
                lambda path, table=table: tables.write(path, table),  # type: ignore[misc]
            )
            for kind, table in made.items()
        )
        inputs = (Input(name=f"warc/{SOURCE}/{number:06d}.warc.gz", sha256=f"{number:064x}"),)
        seal_part(store, "process@1", f"{SOURCE}/part-{number:06d}", inputs, outputs)
        spans += [
            Input(name=output.name, sha256=output.sha256)
            for output in outputs
            if output.name.startswith("signatures/")
        ]
        first += len(texts)
    removal = {"witness": "0" * 32, "kind": "exact", "similarity": 1.0, "cluster_size": 2}
    rows = pa.Table.from_pylist([{"id": one, **removal} for one in gone], schema=tables.REMOVALS)
    removed = put_output(
        store, "dedup/run/removed-00000.parquet", rows.num_rows, lambda path: tables.write(path, rows)
    )
    return seal_part(store, str(dedup.step(DedupConfig())), "run/removed-00000", tuple(spans), (removed,))


def document_table(ids: list[str], texts: list[str], first: int) -> pa.Table:
    """Return rows of the table of documents."""
    rows = len(ids)
    columns = {
        "id": ids,
        "url": [f"https://example.org/{first + row}" for row in range(rows)],
        "text": texts,
        "source": [SOURCE] * rows,
        "record_file": [f"warc/{SOURCE}/part-000000.warc.gz"] * rows,
        "record_offset": range(first, first + rows),
    }
    return pa.table(
        [
            pa.array(columns.get(field.name, [0 if field.type == pa.int64() else ""] * rows), field.type)
            for field in tables.DOCUMENTS
        ],
        schema=tables.DOCUMENTS,
    )


def seal_part(store: Store, step: str, part: str, inputs: tuple[Input, ...], outputs: tuple) -> Manifest:
    """Seal a part, and return its seal."""
    manifest = Manifest(
        step=step,
        part=part,
        fingerprint=fingerprint(step, {}, inputs),
        recipe={},
        inputs=inputs,
        outputs=outputs,
        counts={},
    )
    seal(store, manifest)
    return manifest


if __name__ == "__main__":
    main()
