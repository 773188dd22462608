"""What each command costs when there is next to nothing to do: its start.

usage: python bench/starts.py [--repeat N]

Makes a project with one ingest of 20 texts in a directory of its own, runs every command there, and prints one JSON
line a command: the least CPU seconds of N runs, child processes included (`getrusage`). The first run of a step makes
its part, and the runs that count find it made; `export --out new/...` writes a new directory each time. The package
tokenizers must be installed.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
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
            runs = [cpu_of(words.format(number=next(numbers)), Path(directory)) for _ in range(repeat + 1)]
            line = {"bench": "starts", "command": words, "cpu_s": min(cpu for cpu, _ in runs[1:])}
            print(json.dumps({**line, "exit": runs[-1][1]}), flush=True)


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


def cpu_of(words: str, directory: Path) -> tuple[float, int]:
    """Return the CPU seconds of a command with its children, and its exit code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = subprocess.run(
        [sys.executable, "-m", "pipeline", *words.split()],
        cwd=directory,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(directory)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    ).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2), code


if __name__ == "__main__":
    main()
