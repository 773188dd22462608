"""Compare the catalog with reading the Manifests themselves, in a directory and in an S3 server, in one run.

usage: python bench/storage/catalog.py [--parts N]

The storage holds one source with N sealed parts of `archive` and N of `process`, 2 N Manifests. The server is SeaweedFS
on loopback, which this program starts and kills. Figures are [CPU, wall] seconds of this process (user + system):

- first_refresh: a new SQLite catalog copies everything; refresh: nothing has changed since.
- totals: the catalog adds up the counts of one step; manifests: `storage.manifest.manifests` reads the Manifests of
  that step for it.
- names: list the names of that step alone, which is what `require_processed` needs.

Prints one JSON line.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.storage.s3server import BUCKET, KEYS, running_server
from thresher.storage.catalog import Catalog
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import Manifest, Output, fingerprint, manifest_name, manifests
from thresher.storage.s3.s3_store import S3Store
from thresher.storage.store import Store

SOURCE = "main"
SHA256 = "0" * 64


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", type=int, default=1000)
    args = parser.parse_args()
    os.environ.update(KEYS)
    with tempfile.TemporaryDirectory() as directory, running_server(Path(directory) / "s3") as server:
        root = Path(directory)
        bucket = S3Store(BUCKET, "bench", endpoint=server.endpoint)
        result: dict[str, Any] = {"bench": "catalog", "parts": args.parts}
        for name, store in (("file", DirectoryStore(root / "data")), ("s3", bucket)):
            result[name] = measure(store, root, name, args.parts)
        bucket.close()
    print(json.dumps(result))


def measure(store: Store, root: Path, name: str, parts: int) -> dict[str, list[float]]:
    """Seal the parts, and time each question."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda each: put_manifest(store, *each), [(s, n) for s in STEPS for n in range(parts)]))
    catalog = Catalog(f"sqlite:{name}.db", root)

    def read_manifests() -> Counter[str]:
        sums: Counter[str] = Counter()
        for manifest in manifests(store, "process", SOURCE):
            sums.update(manifest.counts)
        return sums

    found = {
        "first_refresh": timed(lambda: catalog.refresh(store)),
        "refresh": timed(lambda: catalog.refresh(store)),
        "totals": timed(lambda: catalog.totals("process", SOURCE)),
        "manifests": timed(read_manifests),
        "names": timed(lambda: list(store.list(f"manifests/process/{SOURCE}/"))),
    }
    assert catalog.totals("process", SOURCE) == read_manifests()
    return found


STEPS = ("archive", "process")


def put_manifest(store: Store, step: str, number: int) -> None:
    """Put a Manifest of a part with one output."""
    part = f"{SOURCE}/part-{number:06d}"
    name = f"warc/{part}.warc.gz" if step == "archive" else f"documents/{part}.parquet"
    manifest = Manifest(
        step=f"{step}@1",
        part=part,
        fingerprint=fingerprint(f"{step}@1", {"number": number}, ()),
        recipe={"number": number},
        inputs=(),
        outputs=(Output(name=name, bytes=1000, sha256=SHA256, rows=10),),
        counts={"response": 10} if step == "archive" else {"keep.documents": 6, "c4.documents": 4},
    )
    assert store.put(manifest_name(step, part), manifest.to_bytes())


def timed(work: Callable[[], object]) -> list[float]:
    """Return the CPU and wall seconds of a call."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return [round(time.process_time() - cpu, 3), round(time.perf_counter() - wall, 3)]


if __name__ == "__main__":
    main()
