"""Pages per CPU second of the whole crawl path, from frontier to sealed WARC.

usage: python bench/crawler/crawl.py [--seed URL ...] [--pages N] [--workers N] [--peer NAME ...]

Without --seed it serves the demo's web. With --seed the sites must be up, for example by
`python bench/crawler/sites.py --dir DIR cppreference-doc-en-html python3.11-doc postgresql-doc-15`. CPU is user +
system time of the command and every process that it waited for, the embedded Redis server included. --peer runs another
crawler on the same pages behind it, each with an empty Redis server of its own: `optimum` or `scrapy-redis`
(`bench/peers`). Prints one JSON line.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.peers import environments
from demo.web import Web
from thresher.frontier.link.embedded import embedded_server

PEERS = {
    "optimum": ("crawler/crawl_optimum.py", "optimum"),
    "scrapy-redis": ("crawler/crawl_scrapy.py", "scrapy"),
}
"""Script and requirements of each peer, by name."""
TOML = """
[project]
contact = "mailto:bench@example.org"
[crawler]
min_delay = 0
allow_networks = ["127.0.0.0/8"]
"""


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", action="append", default=[])
    parser.add_argument("--pages", type=int, default=4000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--scope", default="host")
    parser.add_argument("--keep", help="use this project directory, and keep it")
    parser.add_argument("--peer", action="append", default=[], choices=PEERS)
    args = parser.parse_args()
    with ExitStack() as stack:
        seeds = args.seed
        if not seeds:
            seeds = stack.enter_context(Web().serve()).seeds
        directory = Path(args.keep or stack.enter_context(tempfile.TemporaryDirectory()))
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "thresher.toml").write_text(TOML)
        (directory / "seeds.txt").write_text("\n".join(seeds))
        result = crawl(directory, args)
        result["peers"] = [peer(name, seeds, args.pages, result["cpu_ms_page"]) for name in args.peer]
    print(json.dumps(result))


def crawl(directory: Path, args: argparse.Namespace) -> dict[str, Any]:
    """One crawl from an empty frontier. What a command costs before its first page is measured by a crawl of one
    page, and taken off."""
    thresher = [sys.executable, "-m", "thresher"]
    env = {**os.environ, "THRESHER_PROJECT": str(directory)}
    subprocess.run(
        [*thresher, "seed", str(directory / "seeds.txt"), "--scope", args.scope],
        env=env,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    command = [*thresher, "crawl", "--workers", str(args.workers), "--json", "--max-pages"]
    start = time_command([*command, "1"], env)
    whole = time_command([*command, str(args.pages)], env)
    archived = json.loads(subprocess.check_output([*thresher, "status", "--json"], env=env, text=True))
    pages = archived["sources"][0]["archived"] - start.pages
    stored = sum(path.stat().st_size for path in (directory / "data" / "warc").rglob("*.warc.gz"))
    cpu = whole.cpu_s - start.cpu_s
    return {
        "bench": "crawl",
        "pages": pages,
        "workers": args.workers,
        "outcomes": whole.outcomes,
        "cpu_ms_page": round(1000 * cpu / pages, 3),
        "pages_s_core": round(pages / cpu, 1),
        "start_cpu_s": round(start.cpu_s, 2),
        "cpu_s": round(whole.cpu_s, 2),
        "wall_s": round(whole.wall_s, 2),
        "pages_s_wall": round(pages / (whole.wall_s - start.wall_s), 1),
        "warc_mb": round(stored / 1e6, 1),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024, 1),
    }


def peer(name: str, seeds: list[str], pages: int, ours: float) -> dict[str, object]:
    """Measure the same crawl by another crawler. Its CPU is that of its own process alone."""
    with tempfile.TemporaryDirectory() as directory, embedded_server(Path(directory) / "redis") as address:
        command = [*environments.command(*PEERS[name]), "--redis", address, "--pages", str(pages)]
        said = subprocess.check_output([*command, "--warc", f"{directory}/peer.warc.gz", *seeds], text=True)
    found = json.loads(said.splitlines()[-1])
    return {**found, "over_ours": round(found["cpu_ms_page"] / ours, 2)}


class CommandCost(NamedTuple):
    """The costs of one command."""

    cpu_s: float
    wall_s: float
    pages: int
    outcomes: dict[str, int]


def time_command(command: list[str], env: dict[str, str]) -> CommandCost:
    """Run a crawl. Return the CPU seconds of it and of every process that it waited for."""
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    stats = json.loads(subprocess.check_output(command, env=env, text=True, stderr=subprocess.DEVNULL))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return CommandCost(cpu, time.perf_counter() - wall, stats["outcomes"]["fetched"], stats["outcomes"])


if __name__ == "__main__":
    main()
