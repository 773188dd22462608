"""What each command costs when there is next to nothing to do: its start.

usage: python bench/pipeline/starts.py [--repeat N]

Makes a project with one ingest of 20 texts in a directory of its own, runs every command there, and prints one JSON
line a command: the least and the median CPU seconds of N runs and the most memory of one process, child processes
included (`wait4`). The first run of a step makes its part, and the runs that count find it made; `export --out new/...`
writes a new directory each time. The lines of `floor` are an interpreter that only imports a library: no command that
needs the library can cost less. The package tokenizers must be installed. Optional packages cost more: redis imports
OpenTelemetry, and PyArrow pandas, if they are there.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FLOORS = (
    "pass",
    "import typer, pydantic",
    "import numpy",
    "import pyarrow.parquet",
    "import redis",
    "import sqlmodel",
)
SEED = "http://127.0.0.1:9/"
COMMANDS = (
    "--version",
    "--help",
    "export --help",
    "ingest texts texts.jsonl",
    "process",
    "judge --name long --set gopher_quality.fewest_words=60",
    "dedup",
    "export --out out --tokenizer tokenizer.json",
    "export --out new/{number} --tokenizer tokenizer.json",
    "report",
    "report --rules",
    "show https://example.org/1",
    "verify",
    "verify out",
    f"seed {SEED} --crawl web --scope host",
    "crawl web --max-requests 1",
    "status",
    "log web",
    "frontier hosts web",
    "catalog rebuild",
    "export-wacz texts --out texts.wacz",
)


def main() -> None:
    """Make the project, and print a line a command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    with tempfile.TemporaryDirectory() as directory:
        make_project(Path(directory))
        numbers = count()
        for words in COMMANDS:
            runs = [
                cost_of(["-m", "thresher", *words.format(number=next(numbers)).split()], Path(directory))
                for _ in range(repeat + 1)
            ]
            print_line("command", words, runs[1:])
        for code in FLOORS:
            print_line("floor", code, [cost_of(["-c", code], Path(directory)) for _ in range(repeat)])


def print_line(kind: str, name: str, runs: list[tuple[float, int, int]]) -> None:
    """Print the costs of some runs, which `cost_of` returned."""
    cpu = [each for each, _, _ in runs]
    line = {"bench": "starts", kind: name, "cpu_s": min(cpu), "median_cpu_s": statistics.median(cpu)}
    print(json.dumps({**line, "rss_mb": max(rss for _, rss, _ in runs), "exit": runs[-1][2]}), flush=True)


def make_project(directory: Path) -> None:
    """Write the configuration, the texts and a tokenizer of bytes."""
    from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: PLC0415 - only `export` needs it

    (directory / "thresher.toml").write_text(
        '[project]\ncontact = "mailto:bench@example.org"\n[crawler]\nmin_delay = 0.0\n'
        'allow_networks = ["127.0.0.0/8"]\n[filters]\npreset = "gopher"\nlanguages = []\n'
    )
    rows = (
        {
            "url": f"https://example.org/{number}",
            "text": " ".join(
                f"The house of the {number * at} men is by the river, and they have it." for at in range(9)
            ),
        }
        for number in range(20)
    )
    (directory / "texts.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: number for number, letter in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.save(str(directory / "tokenizer.json"))


def cost_of(words: list[str], directory: Path) -> tuple[float, int, int]:
    """Return the CPU seconds of a process with its children, the MB of its largest one, and its exit code."""
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=directory,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(directory)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return round(usage.ru_utime + usage.ru_stime, 2), usage.ru_maxrss >> 10, process.returncode


if __name__ == "__main__":
    main()
