"""Stall the last stage under a running crawl, and check that the crawl waits and that nothing is lost.

usage: python bench/crawler/stall.py --seed URL [--seed URL ...] [--stall SECONDS] [--backlog SIZE]

The sites must be up (`python bench/crawler/sites.py`). The script crawls them with `process --follow` in parallel,
stops the follower and its workers (SIGSTOP) once it has started, resumes them after --stall seconds, and waits for both
to end. It prints one JSON line: the pages requested and the bytes stored in the second half of the stall, the memory of
the crawl at its start and end, and what became of every record.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.processes.waiting import is_reached

ROOT = Path(__file__).resolve().parents[2]
TOML = """
[project]
contact = "mailto:bench@example.org"
[crawler]
min_delay = 0
max_backlog = "{backlog}"
allow_networks = ["127.0.0.0/8"]
[filters]
preset = "none"
languages = []
"""


def main() -> None:
    """Crawl, stall, resume, compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", action="append", required=True)
    parser.add_argument("--stall", type=float, default=60)
    parser.add_argument("--backlog", default="4MiB")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "thresher.toml").write_text(TOML.format(backlog=args.backlog))
        (directory / "seeds.txt").write_text("\n".join(args.seed))
        run_command(directory, "seed", "seeds.txt", "--scope", "host").wait()
        follower = run_command(directory, "process", "main", "--follow")
        crawl = run_command(directory, "crawl", "main")
        begun = time.monotonic()
        wait_until(crawl, lambda: source(directory)["processed"] > 0)
        stopped = process_tree(follower)
        for each in reversed(stopped):
            each.suspend()
        wait_until(crawl, lambda: source(directory)["waits"].startswith("crawl for process"))
        # The stall lasts as long as the user says; its second half is measured.
        time.sleep(args.stall / 2)
        middle = sample(directory, crawl)
        time.sleep(args.stall / 2)
        end = sample(directory, crawl)
        for each in stopped:
            each.send_signal(signal.SIGCONT)
        codes = [crawl.wait(), follower.wait()]
        found = source(directory)
        wall = time.monotonic() - begun
    print(
        json.dumps(
            {
                "bench": "stall",
                "stall_s": args.stall,
                "backlog": args.backlog,
                "fetched_in_second_half": end["fetched"] - middle["fetched"],
                "stored_in_second_half": end["stored"] - middle["stored"],
                "stored_mb_at_stall": round(end["stored"] / 1e6, 1),
                "crawl_mb": [middle["rss_mb"], end["rss_mb"]],
                "exit_codes": codes,
                "fetched": found["frontier"]["outcomes"]["fetched"],
                "archived": found["archived"],
                "processed": found["processed"],
                "drained": found["frontier"]["drained"],
                "wall_s": round(wall, 1),
            }
        )
    )


def run_command(directory: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start a command as a user types it."""
    with (directory / "log").open("a") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "thresher", *words],
            cwd=directory,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=log,
            stderr=log,
        )


def source(directory: Path) -> dict:
    """Return the status of the crawl."""
    said = subprocess.run(
        [sys.executable, "-m", "thresher", "status", "--json"],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    return json.loads(said.stdout)["sources"][0]


def sample(directory: Path, crawl: subprocess.Popen[bytes]) -> dict[str, int]:
    """Return how far the crawl is, and how much memory it uses."""
    return {
        "fetched": source(directory)["frontier"]["outcomes"]["fetched"],
        "stored": sum(path.stat().st_size for path in (directory / "data").rglob("*") if path.is_file()),
        "rss_mb": round(sum(each.memory_info().rss for each in process_tree(crawl)) / 1e6),
    }


def process_tree(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Return the processes of a command and its workers, without the frontier's server that the command may have
    started.
    """
    parent = psutil.Process(process.pid)
    return [parent, *(each for each in parent.children(recursive=True) if "python" in each.name())]


def wait_until(crawl: subprocess.Popen[bytes], condition: Callable[[], bool]) -> None:
    """Wait until `condition` returns true. Raise `SystemExit` if the crawl ends first."""
    if not is_reached(crawl, condition, poll_s=0.5):
        sys.exit("the crawl has ended and did not wait: give more seeds, or a smaller --backlog")


if __name__ == "__main__":
    main()
