"""Pages per CPU second of the whole crawl path, from frontier to sealed WARC.

usage: python bench/crawl.py [--seed URL ...] [--pages N] [--workers N] [--peer COMMAND]

Without --seed it serves the demo's web. With --seed the sites must be up, for example by
`python bench/sites.py --dir DIR cppreference-doc-en-html python3.11-doc postgresql-doc-15`.
CPU is user + system time of the command and its worker processes; that of the embedded Redis server is
given apart (the server is not waited for by the command, so its time is read from /proc).
--peer runs another crawler's command on the same pages in the same run; it must print one JSON line with
`cpu_ms_page`. Prints one JSON line.
"""

import argparse
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from demo.web import Web

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
    parser.add_argument("--keep", help="project directory to use and leave behind")
    parser.add_argument("--peer")
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
        if args.peer:
            peer = json.loads(subprocess.check_output(shlex.split(args.peer), text=True).splitlines()[-1])
            result["peer"] = peer
            result["peer_over_ours"] = round(peer["cpu_ms_page"] / result["cpu_ms_page"], 2)
    print(json.dumps(result))


def crawl(directory: Path, args: argparse.Namespace) -> dict[str, object]:
    """One crawl from an empty frontier."""
    thresher = [sys.executable, "-m", "pipeline"]
    env = {**os.environ, "THRESHER_PROJECT": str(directory)}
    subprocess.run(
        [*thresher, "seed", str(directory / "seeds.txt"), "--scope", args.scope], env=env, check=True
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = time.perf_counter()
    command = [*thresher, "crawl", "--workers", str(args.workers), "--max-pages", str(args.pages), "--json"]
    stats = json.loads(subprocess.check_output(command, env=env, text=True))
    wall = time.perf_counter() - wall
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    archived = json.loads(subprocess.check_output([*thresher, "status", "--json"], env=env, text=True))
    pages = archived["sources"][0]["archived"]
    stored = sum(path.stat().st_size for path in (directory / "data" / "warc").rglob("*.warc.gz"))
    return {
        "bench": "crawl",
        "pages": pages,
        "workers": args.workers,
        "outcomes": stats["outcomes"],
        "wall_s": round(wall, 2),
        "cpu_s": round(cpu, 2),
        "cpu_ms_page": round(1000 * cpu / pages, 3),
        "pages_s_core": round(pages / cpu, 1),
        "pages_s_wall": round(pages / wall, 1),
        "warc_mb": round(stored / 1e6, 1),
        "peak_rss_mb": round(after.ru_maxrss / 1024, 1),
    }


if __name__ == "__main__":
    main()
