"""Find duplicates among made-up signatures: one batch, then one more increment.

    python bench/dedup/increments.py --documents 1000000 --increment 0.1
    python bench/dedup/increments.py --documents 100000 --prose DIR [--words 100] [--peer datatrove] [--peer datasketch]

Prints one JSON line: CPU seconds of the batch and of the increment, workers and their parent together, without the
start of Python, and their ratio; the peak resident memory of a worker; bytes of the index a document. A tenth of the
documents are copies, a tenth near copies of 95 %, and a twentieth other versions of a page. Their signatures are made
up, so this measures the decisions, not the signing.

With `--prose` the documents are texts of `--words` words: pieces of 20 words of the files of DIR in random order.
Every tenth is a copy of the one before it with one word changed. `sign_s` is the CPU of their signatures. Each peer
then finds the near duplicates of the same texts, from the texts on, and its line follows.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import xxhash

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.peers import environments
from bench.shards.export import prose
from thresher.core.settings import parse_size
from thresher.filters.dedup.dedup_versions import signature_version
from thresher.filters.dedup.signature import PERMUTATIONS, sign
from thresher.pipeline.configuration import DedupConfig
from thresher.pipeline.engine.local.worker_pool import local_worker_pool
from thresher.pipeline.engine.run_step import StepSummary
from thresher.pipeline.steps import dedup
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage import tables
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import Input, Manifest, fingerprint, put_output, seal
from thresher.storage.store import Store

PEERS = {"datasketch": "signatures", "datatrove": "datatrove-dedup"}
PIECE = 20
"""Words of a piece of prose."""
TABLE_ROWS = 1000
"""As many as the process step puts into a part."""


def main() -> None:
    """Make the signatures, find the duplicates, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--increment", type=float, default=0.1, help="share of the documents that come later")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--memory", default="512MiB", help="dedup.memory")
    parser.add_argument("--directory", type=Path, help="where the signatures go; kept and used again")
    parser.add_argument("--prose", type=Path, help="directory of .jsonl.zst and .tar.zst files")
    parser.add_argument("--words", type=int, default=100)
    parser.add_argument("--peer", action="append", choices=sorted(PEERS), default=[])
    options = parser.parse_args()
    if options.peer and not options.prose:
        parser.error("--peer needs --prose")
    config = replace(DedupConfig(), memory=parse_size(options.memory))
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        store = DirectoryStore(Path(directory) / "data")
        texts = Path(directory) / "texts.jsonl" if options.peer else None
        made = _ProseMaker(store, options.prose, options.words, texts) if options.prose else _Maker(store, 1)
        later = int(options.documents * options.increment)
        made.put(options.documents - later)
        with local_worker_pool(options.workers) as pool:
            figures = []
            for count in (0, later):
                if count:
                    made.put(count)
                cpu, wall = own_cpu(), time.monotonic()
                manifest, ran = dedup.run(store, ["made"], config, pool=pool, progress=LineProgress())
                figures.append(figure(ran, own_cpu() - cpu, time.monotonic() - wall))
        size = sum(store.size(name) for name in store.list("dedup-index/"))
        print(
            json.dumps(
                {
                    "documents": options.documents,
                    "sign_s": round(made.sign_s, 2),
                    "removed": manifest.outputs[0].rows,
                    "batch": figures[0],
                    "increment": figures[1],
                    "increment_share": options.increment,
                    "increment_to_batch": round(figures[1]["cpu_s"] / figures[0]["cpu_s"], 3),
                    "index_bytes_per_document": round(size / options.documents),
                }
            ),
            flush=True,
        )
        for peer in options.peer:
            command = environments.command("dedup/dedup_peers.py", PEERS[peer])
            subprocess.run([*command, peer, "--texts", str(texts)], check=True)


def figure(ran: StepSummary, own: float, wall: float) -> dict[str, float]:
    """Return what a run took."""
    return {
        "cpu_s": round(ran.cpu_s + own, 2),
        "wall_s": round(wall, 2),
        "parts": ran.made,
        "worker_mb": round(ran.peak_rss / 1e6),
    }


def own_cpu() -> float:
    """Return the CPU seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class _Maker:
    """Seals tables of signatures as the process step does."""

    sign_s = 0.0
    """CPU seconds that went into signatures of texts."""

    def __init__(self, store: Store, seed: int) -> None:
        self._store, self._rng, self._tables = store, np.random.default_rng(seed), 0
        self._known = np.zeros((0, PERMUTATIONS), np.uint32)

    def put(self, count: int) -> None:
        """Put so many documents."""
        for start in range(0, count, TABLE_ROWS):
            self._put(min(TABLE_ROWS, count - start))

    def _put(self, count: int) -> None:
        rng = self._rng
        minhashes = rng.integers(0, 2**32, (count, PERMUTATIONS), dtype=np.uint32)
        texts = rng.bytes(16 * count)
        hashes = [texts[at : at + 16] for at in range(0, len(texts), 16)]
        urls = [f"http://host/{self._tables}/{n}" for n in range(count)]
        kinds = rng.random(count)
        for n in np.flatnonzero(kinds < 0.25) if len(self._known) else ():
            older = int(rng.integers(len(self._known)))
            if kinds[n] < 0.1:
                hashes[n] = older.to_bytes(16, "big")
            elif kinds[n] < 0.2:
                keep = rng.random(PERMUTATIONS) < 0.95
                minhashes[n, keep] = self._known[older, keep]
            else:
                urls[n] = f"http://host/0/{older % TABLE_ROWS}"
        self._known = np.concatenate((self._known, minhashes[:100]))[-100_000:]
        ids = rng.bytes(16 * count).hex()
        table = tables.signature_rows(
            ids=[ids[at : at + 32] for at in range(0, len(ids), 32)],
            urls=urls,
            text_hashes=hashes,
            text_bytes=rng.integers(100, 10_000, count).tolist(),
            payload_bytes=[20_000] * count,
            fetched_at_ms=rng.integers(1, 10**12, count).tolist(),
            minhashes=minhashes,
        )
        self._seal(table)

    def _seal(self, table: pa.Table) -> None:
        count, name = table.num_rows, f"made/part-{self._tables:08d}"
        self._tables += 1
        output = put_output(
            self._store, f"signatures/{name}.parquet", count, lambda path: tables.write(path, table)
        )
        inputs = (Input(name=f"warc/{name}", sha256="0" * 64),)
        recipe = {"signature": signature_version(PERMUTATIONS)}
        seal(
            self._store,
            Manifest(
                step="process@5",
                part=name,
                fingerprint=fingerprint("process@5", recipe, inputs),
                recipe=recipe,
                inputs=inputs,
                outputs=(output,),
                counts={},
            ),
        )


class _ProseMaker(_Maker):
    """Signs texts that are made of real prose."""

    def __init__(self, store: Store, prose_directory: Path, words: int, texts: Path | None) -> None:
        super().__init__(store, seed=2)
        every = " ".join(chain.from_iterable(prose(prose_directory))).split()
        self._pieces = [" ".join(every[at : at + PIECE]) for at in range(0, len(every) - PIECE, PIECE)]
        self._pieces_a_text, self._texts, self._last, self._made = words // PIECE, texts, "", 0

    def _put(self, count: int) -> None:
        texts = [self._text() for _ in range(count)]
        start = time.process_time()
        signed = [sign(text) for text in texts]
        self.sign_s += time.process_time() - start
        ids = [f"{self._made - count + n:032x}" for n in range(count)]
        table = tables.signature_rows(
            ids=[xxhash.xxh3_128_hexdigest(id_.encode()) for id_ in ids],
            urls=[f"http://host/{id_}" for id_ in ids],
            text_hashes=[text_hash for text_hash, _ in signed],
            text_bytes=[len(text.encode()) for text in texts],
            payload_bytes=[20_000] * count,
            fetched_at_ms=[1] * count,
            minhashes=np.array([minhash for _, minhash in signed], np.uint32),
        )
        self._seal(table)
        if self._texts is not None:
            with self._texts.open("a", encoding="utf-8") as file:
                file.writelines(
                    json.dumps({"id": id_, "text": text}) + "\n" for id_, text in zip(ids, texts, strict=True)
                )

    def _text(self) -> str:
        self._made += 1
        if self._made % 10 == 0:
            words = self._last.split()
            words[len(words) // 2] = "changed"
            return " ".join(words)
        chosen = self._rng.integers(len(self._pieces), size=self._pieces_a_text).tolist()
        self._last = " ".join(self._pieces[at] for at in chosen)
        return self._last


if __name__ == "__main__":
    main()
