"""Cut repeated passages and lines out of prose with planted repeats: what is found, and what it costs.

    python bench/dedup/cuts.py --prose DIR [--documents 10000] [--planted 0.1] [--memory 512MiB] [--workers 1]
                         [--peer pydivsufsort] [--peer datatrove]

Documents are pieces of 5,000 characters of the files of DIR, in random order. A share of them gets a passage of 50 to
200 words of another one, and a share a line of one of ten texts at its end. Prints one JSON line: CPU seconds of the
cut step, workers and their parent together, without the start of Python; the peak resident memory of a worker; how
many planted words and lines were cut (recall); how many cuts are not equal to the text of their witness, or shorter
than 50 words (wrong). Prose repeats itself too, so there are more cuts than were planted. Each peer then finds repeats
in the same texts, and its line follows.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.dedup.increments import figure, own_cpu
from bench.peers import environments
from bench.shards.export import SOURCE, prose, put_documents
from thresher.core.settings import parse_size
from thresher.pipeline.configuration import DedupConfig
from thresher.pipeline.engine.local.worker_pool import local_worker_pool
from thresher.pipeline.steps.cuts import cut_run
from thresher.pipeline.steps.verdicts.verdict_sets import judged_parts
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage import tables
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.store import Store

WORDS, FEWEST = 50, 7
"""Words of a passage (Lee et al. 2021), and documents of a line (Llama 3)."""
LINES = 10
PART_ROWS = 1000
REMOVED = 999
"""`put_documents` removes the last of 1,000 documents; nothing is planted there."""
PEERS = {"datatrove": "datatrove-dedup", "pydivsufsort": "suffix-array"}


class Planted(NamedTuple):
    """A passage that two documents have."""

    source: int
    copy: int
    text: str


def main() -> None:
    """Plant repeats, cut them, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--prose", type=Path, required=True, help="directory of .jsonl.zst and .tar.zst files"
    )
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--planted", type=float, default=0.1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--memory", default="512MiB", help="dedup.memory")
    parser.add_argument("--peer", action="append", choices=sorted(PEERS), default=[])
    options = parser.parse_args()
    texts, planted, lines = plant(
        chain.from_iterable(prose(options.prose)), options.documents, options.planted
    )
    config = replace(
        DedupConfig(), substring_words=WORDS, line_documents=FEWEST, memory=parse_size(options.memory)
    )
    with tempfile.TemporaryDirectory() as directory:
        store = DirectoryStore(Path(directory) / "data")
        removed = put_documents(store, (texts[at : at + PART_ROWS] for at in range(0, len(texts), PART_ROWS)))
        with local_worker_pool(options.workers) as pool:
            cpu, wall = own_cpu(), time.monotonic()
            made, ran = cut_run.run(store, [SOURCE], config, removed, pool=pool, progress=LineProgress())
            cost = figure(ran, own_cpu() - cpu, time.monotonic() - wall)
        size = sum(len(text.encode()) for text in texts)
        found = judged(store, made.part, texts, planted, lines)
        per_mb = round(1000 * cost["cpu_s"] / (size / 1e6), 1)
        print(
            json.dumps(
                {"documents": len(texts), "mb": round(size / 1e6, 1), **cost, "ms_per_mb": per_mb, **found}
            )
        )
        for peer in options.peer:
            file = Path(directory) / "texts.jsonl"
            file.write_text(
                "".join(json.dumps({"id": str(at), "text": text}) + "\n" for at, text in enumerate(texts))
            )
            command = environments.command("dedup/cut_peers.py", PEERS[peer])
            subprocess.run([*command, peer, "--texts", str(file)], check=True)


def plant(
    found: Iterable[str], documents: int, share: float
) -> tuple[list[str], list[Planted], dict[str, list[int]]]:
    """Return texts, the passages that were planted, and the documents of each planted line."""
    rng = random.Random(19)
    pool = sorted({text for text in found if len(text.split()) > 4 * WORDS})
    texts = rng.sample(pool, min(documents, len(pool)))
    free = [at for at in range(len(texts)) if at % PART_ROWS != REMOVED]
    planted = []
    for copy in rng.sample(free, int(share * len(free))):
        source = rng.choice(free)
        words = texts[source].split()
        size = rng.randint(WORDS, min(200, len(words)))
        start = rng.randrange(len(words) - size + 1)
        passage = " ".join(words[start : start + size])
        if source == copy:
            continue
        own = texts[copy].split(" ")
        at = rng.randrange(len(own) + 1)
        texts[copy] = " ".join([*own[:at], passage, *own[at:]])
        planted.append(Planted(source, copy, passage))
    lines: dict[str, list[int]] = {}
    for number in range(LINES):
        line = f"Page {number} of the archive | Home | Contact | Imprint of number {number}"
        lines[line] = sorted(rng.sample(free, min(len(free), FEWEST + number * 20)))
        for document in lines[line]:
            texts[document] += f"\n{line}"
    # A later passage may have divided an earlier one.
    planted = [
        each for each in planted if all(places_of(texts[at], each.text) for at in (each.source, each.copy))
    ]
    return texts, planted, lines


def judged(
    store: Store, run: str, texts: list[str], planted: list[Planted], lines: dict[str, list[int]]
) -> dict[str, float]:
    """Return how much of what was planted was cut, and how many cuts are wrong."""
    spans: dict[int, list[tuple[int, int]]] = {}
    cuts = wrong = characters = 0
    for part in judged_parts(store, SOURCE):
        path = store.root / f"cuts/{run}/{part.name}.parquet"  # type: ignore[attr-defined]
        import pyarrow.parquet as pq  # noqa: PLC0415 - used here only

        for row in pq.read_table(path, schema=tables.CUTS).to_pylist():
            document, witness = int(row["id"], 16), int(row["witness"], 16)
            own = texts[document][row["start"] : row["end"]].split()
            other = texts[witness][row["witness_start"] : row["witness_end"]].split()
            is_long = row["kind"] != "substring" or len(own) >= WORDS
            wrong += not (is_long and " ".join(own).casefold() == " ".join(other).casefold())
            cuts += 1
            characters += row["characters"]
            spans.setdefault(document, []).append((row["start"], row["end"]))
    words = found = 0
    for each in planted:
        total = len(each.text.split())
        words += total
        found += max(cut_words(texts[at], each.text, spans.get(at, [])) for at in (each.source, each.copy))
    copies = sum(len(documents) - 1 for documents in lines.values())
    cut = sum(
        any(
            start <= texts[at].index(line) and end >= texts[at].index(line) + len(line)
            for start, end in spans.get(at, [])
        )
        for line, documents in lines.items()
        for at in documents
    )
    return {
        "cuts": cuts,
        "characters": characters,
        "planted_words": words,
        "recall": round(found / words, 4) if words else 1.0,
        "planted_lines": copies,
        "line_recall": round(cut / copies, 4),
        "wrong": wrong,
    }


def cut_words(text: str, passage: str, spans: list[tuple[int, int]]) -> int:
    """Return how many words of a passage are cut out of a text."""
    return sum(
        any(low <= start and end <= high for low, high in spans) for start, end in places_of(text, passage)
    )


def places_of(text: str, passage: str) -> list[tuple[int, int]]:
    """Return the places of the words of a passage in a text; none if it is not there. White space may differ."""
    found = re.search(r"\s+".join(map(re.escape, passage.split())), text)
    if found is None:
        return []
    return [
        (found.start() + word.start(), found.start() + word.end()) for word in re.finditer(r"\S+", found[0])
    ]


if __name__ == "__main__":
    main()
