"""What a training process pays for a loader: CPU from the start of Python to the first batch of a local export.

usage: python bench/shards/loader_import.py [--repeat N]

Makes an export of 900 short documents in a directory of its own, and starts N processes that import the loader, open
the export and take the first batch. One JSON line: the least and the median CPU seconds of a process, and of its parts
(Python alone, the import, opening, the first batch); beside them, the CPU seconds of a process that imports only NumPy,
and how many modules were imported.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.shards.loader.made_export import documents_of, make_export

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import json, sys, time
marks = [time.process_time()]
from thresher import Loader
Loader
marks.append(time.process_time())
loader = Loader(sys.argv[1], length=64, batch_size=4, cache=sys.argv[2])
marks.append(time.process_time())
next(iter(loader))
marks.append(time.process_time())
heavy = sorted(sys.modules.keys() & {"aiohttp", "boto3", "pyarrow", "pydantic", "redis", "tokenizers", "typer"})
print(json.dumps({"marks": marks, "modules": len(sys.modules), "heavy": heavy}))
"""
NUMPY = "import numpy, time; print(time.process_time())"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=10)
    repeat = parser.parse_args().repeat
    with tempfile.TemporaryDirectory() as place:
        out, cache = Path(place, "out"), Path(place, "cache")
        make_export(out, {"web": documents_of("web", 900)})
        runs = [json.loads(printed(PROGRAM, str(out), str(cache))) for _ in range(repeat + 1)][1:]
    numpy_s = [float(printed(NUMPY)) for _ in range(repeat)]
    marks = [run["marks"] for run in runs]
    parts = ("python_s", "import_s", "open_s", "first_batch_s")
    line = {
        "bench": "loader_import",
        "cpu_s": round(min(each[-1] for each in marks), 3),
        "median_cpu_s": round(statistics.median(each[-1] for each in marks), 3),
        **{
            name: round(statistics.median(each[at] - (each[at - 1] if at else 0) for each in marks), 3)
            for at, name in enumerate(parts)
        },
        "numpy_alone_s": round(statistics.median(numpy_s), 3),
        "modules": runs[0]["modules"],
        "heavy": runs[0]["heavy"],
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(line))


def printed(program, *arguments):
    """What a program prints in a process of its own, outside of the checkout's folder."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tempfile.gettempdir(),
        env=environment,
    ).stdout


if __name__ == "__main__":
    main()
