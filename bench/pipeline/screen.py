"""What screening costs and saves in `process`.

    python bench/pipeline/screen.py --warc FILE [--known 1000000] [--preset fineweb] [--languages en]

Every second part of the file is processed and deduplicated, with `--known` made-up documents beside it. Then the whole
file is processed as another source, without and with screening, in turns, in this process: CPU ms a record of the parts
that are known and of those that are new, the share that was screened, and what of it extraction takes. Beside that, the
bytes of the filter, the rate of new documents that it is made for, and the rate that is found on made-up keys. Prints
one JSON line.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.dedup.increments import _Maker
from bench.pipeline.process import cpu_time, documents_alone, empty_part, make_part
from thresher.filters.dedup.bloom_filter import BloomFilter
from thresher.pipeline.configuration import DedupConfig, FiltersConfig
from thresher.pipeline.engine.local.worker_pool import local_worker_pool
from thresher.pipeline.engine.run_step import run_step
from thresher.pipeline.engine.step import Part
from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.steps import dedup, process
from thresher.pipeline.steps.records.screened_parts import with_screen
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.directory_store import DirectoryStore

ASKED = 100_000
"""Made-up documents that the rate of the filter is measured with."""


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--warc", type=Path, required=True)
    parser.add_argument("--known", type=int, default=0)
    parser.add_argument("--preset", default="fineweb")
    parser.add_argument("--languages", default="en")
    parser.add_argument("--records", type=int, default=250, help="records a part")
    options = parser.parse_args()
    process.RECORDS_PER_PART = options.records
    filters = FiltersConfig(preset=options.preset, languages=tuple(options.languages.split(",")))
    step, config = process.step(filters), DedupConfig()
    with tempfile.TemporaryDirectory() as directory, local_worker_pool(1) as pool:
        store = DirectoryStore(Path(directory) / "data")
        for source in ("old", "new"):
            ingest(store, source, locate_inputs([options.warc]))
        known = list(process.parts(store, "old", filters))[::2]
        run_step(store, step, known, process.work, pool=pool, progress=LineProgress())
        _Maker(store, 1).put(options.known)
        sources = ["old", *(["made"] if options.known else [])]
        dedup.run(store, sources, config, pool=pool, progress=LineProgress())
        task = dedup.choose_screen(store, config, [], pool=pool, progress=LineProgress(), screen=True)
        assert task is not None
        plain = list(process.parts(store, "new", filters))
        screened = list(with_screen(store, plain, task))
        make_part(store, step, empty_part(plain[0]))  # loads what a process loads once

        def run(parts: list[Part]) -> Callable[[], None]:
            return lambda: counts.extend(make_part(store, step, part).counts for part in parts)

        figures: dict[str, object] = {}
        for group, at in (("known", 0), ("new", 1)):
            for name, parts in (("without", plain[at::2]), ("screened", screened[at::2])):
                best = float("inf")
                for _ in range(2):
                    counts: list[object] = []
                    best = min(best, cpu_time(run(parts)))
                totals = _totals(counts)
                records = sum(totals.values())
                left_out = sum(n for stage, n in totals.items() if stage.startswith("screen/"))
                figures[f"{group}_{name}"] = {
                    "records": records,
                    "screened": left_out,
                    "ms_a_record": round(1e3 * best / records, 3),
                }
        made = BloomFilter.from_bytes(store.read(task.filter.name))
        keys = np.random.default_rng(9).integers(0, 2**64, (ASKED, task.settings.bands + 1), dtype=np.uint64)
        vain = made.has(keys.reshape(-1)).reshape(keys.shape).any(axis=1).mean()
        extraction = cpu_time(lambda: documents_alone(options.warc, filters.languages))
        total = sum(figures[f"{group}_without"]["records"] for group in ("known", "new"))  # type: ignore[index]
        print(
            json.dumps(
                {
                    "bench": "screen",
                    **figures,
                    "extraction_ms_a_record": round(1e3 * extraction / total, 3),
                    "filter_bytes": made.size,
                    "wanted_rate": config.screen_rate,
                    "found_rate": round(float(vain), 5),
                }
            )
        )


def _totals(counts: list[object]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for part in counts:
        for key, value in part.items():  # type: ignore[attr-defined]
            stage, _, unit = key.rpartition(".")
            if unit == "documents":
                totals[stage] = totals.get(stage, 0) + value
    return totals


if __name__ == "__main__":
    main()
