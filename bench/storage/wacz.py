"""CPU time of `thresher export-wacz` on one WARC file, without the texts of its pages and with them.

usage: python bench/storage/wacz.py WARC [--runs 5]

The file is ingested, exported, processed and exported again. CPU is user + system time of the export alone, the least
of the runs. `bench/pipeline/make_warc.py` makes a file of real pages. Prints one JSON line.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from thresher.pipeline.configuration import FiltersConfig
from thresher.pipeline.engine import run_step
from thresher.pipeline.engine.local.worker_pool import local_worker_pool
from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.steps import process
from thresher.pipeline.terminal.progress import LineProgress
from thresher.pipeline.wacz.wacz_export import export_wacz
from thresher.storage.directory_store import DirectoryStore


def cpu_s(store: DirectoryStore, out: Path, runs: int) -> float:
    """Return the least CPU seconds of an export."""
    found = []
    for _ in range(runs):
        before = time.process_time()
        export_wacz(store, "s", out, "", LineProgress())
        found.append(time.process_time() - before)
    return round(min(found), 3)


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("warc", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    with TemporaryDirectory() as name:
        directory = Path(name)
        store, out = DirectoryStore(directory / "data"), directory / "s.wacz"
        ingest(store, "s", locate_inputs([args.warc]))
        plain, plain_bytes = cpu_s(store, out, args.runs), out.stat().st_size
        filters = FiltersConfig(preset="none", languages=())
        with local_worker_pool(2) as pool:
            parts = process.parts(store, "s", filters)
            run_step.run_step(
                store, process.step(filters), parts, process.work, pool=pool, progress=LineProgress()
            )
        pages = export_wacz(store, "s", out, "", LineProgress()).pages
        with_texts = cpu_s(store, out, args.runs)
        body = {
            "pages": pages,
            "cpu_s": plain,
            "bytes": plain_bytes,
            "cpu_s_with_texts": with_texts,
            "bytes_with_texts": out.stat().st_size,
        }
        print(json.dumps(body))


if __name__ == "__main__":
    main()
