"""Documents per second where parts are made in worker processes, as `thresher process` makes them: what confinement costs is the
difference between two checkouts.

usage: python bench/confinement.py --input FILE [--workers N] [--rounds N] [--against DIRECTORY]

The file is anything that `thresher ingest` takes, of some thousand pages. CPU is user + system time of the command and of every process
that it waited for. With --against, another checkout makes the same parts in turn, round by round, so that both meet the same machine;
the medians of both are printed, and the ratio. Prints one JSON line.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
# Behind PYTHONPATH, which names the checkout that is measured; and without this folder, whose names are those of packages.
sys.path[:] = [*(entry for entry in sys.path if Path(entry) != Path(__file__).parent), str(HERE)]

from pipeline import engine, process  # noqa: E402
from pipeline.config import FiltersConfig  # noqa: E402
from pipeline.crew import local_crew  # noqa: E402
from pipeline.given import given  # noqa: E402
from pipeline.ingest import ingest  # noqa: E402
from pipeline.progress import LineProgress  # noqa: E402
from storage.files import Files  # noqa: E402
from storage.manifest import manifests  # noqa: E402

ONE = "--one"


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--against", type=Path)
    parser.add_argument(ONE, type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one is not None:
        print(json.dumps(one(args.one, args.input, args.workers)))
        return
    checkouts = {"this": HERE, **({"against": args.against.resolve()} if args.against else {})}
    found: dict[str, list[dict[str, float]]] = {name: [] for name in checkouts}
    with tempfile.TemporaryDirectory() as directory:
        for number in range(args.rounds):
            for name, checkout in checkouts.items():
                found[name].append(apart(checkout, Path(directory, f"{name}-{number}"), args))
    medians = {
        name: {key: round(statistics.median(each[key] for each in rounds), 2) for key in rounds[0]}
        for name, rounds in found.items()
    }
    result = {"bench": "confinement", "workers": args.workers, "rounds": args.rounds, **medians}
    if args.against:
        result["ratio"] = {
            key: round(medians["this"][key] / medians["against"][key], 3) for key in ("docs_s", "docs_s_core")
        }
    print(json.dumps(result))


def apart(checkout: Path, place: Path, args: argparse.Namespace) -> dict[str, float]:
    """One round of one checkout, in a process of its own."""
    words = [
        *(sys.executable, __file__, ONE, str(place), "--input", str(args.input)),
        *("--workers", str(args.workers)),
    ]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    done = subprocess.run(words, env=environment, cwd=checkout, capture_output=True, text=True, check=True)
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def one(place: Path, given_file: Path, workers: int) -> dict[str, float]:
    """Make the parts."""
    files, filters = Files(place), FiltersConfig()
    ingest(files, "bench", given([given_file]))
    parts = list(process.parts(files, "bench", filters))
    wall, cpu = time.perf_counter(), cpu_seconds()
    with local_crew(workers) as crew:
        ran = engine.run(
            files, process.step(filters), parts, process.work, crew=crew, progress=LineProgress()
        )
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    records = sum(
        count
        for manifest in manifests(files, "process", "bench")
        for name, count in manifest.counts.items()
        if name.endswith(".documents")
    )
    assert ran.made == len(parts)
    return {
        "records": records,
        "docs_s": records / wall,
        "docs_s_core": records / cpu,
        "cpu_s": cpu,
        "driver_cpu_s": own_cpu_seconds(),
    }


def cpu_seconds() -> float:
    """Of this process and those that it waited for."""
    return own_cpu_seconds() + _seconds(resource.RUSAGE_CHILDREN)


def own_cpu_seconds() -> float:
    """Of this process."""
    return _seconds(resource.RUSAGE_SELF)


def _seconds(whose: int) -> float:
    usage = resource.getrusage(whose)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
