"""The hostile web and the polite one: which rows hold, by name.

usage: python bench/crawler/hostile.py [--dir DIR] [--row WORD ...] [--polite] [--kill N] [--seed N]
       [--slow] [--peer]

Every row has a host of its own on loopback; one crawl, through the real command, visits all of them (`tests/hostile`).
The frontier's clock is moved ahead while nothing is in progress, except with --slow and --polite; --slow leaves out the
rows that would take an hour. The script prints one JSON line: the rows and archive checks that hold and that do not,
why, and how long it took.

--kill N     kills the crawl N times with SIGKILL, one worker or all its processes, in as many crawls as that takes, or
             as often as is possible in twenty minutes --peer       runs Scrapy and warcio over the same web
             (`bench/peers`); they are judged by the hosts' logs (the good pages were requested, nothing forbidden,
             nothing too often, no canary) and by the checks of their WARC files
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Container
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.peers import environments
from tests.hostile import kills, polite, rows
from tests.hostile.archive import CHECKS, HOSTILE_ONLY
from tests.hostile.crawl_run import run_crawl
from tests.hostile.observed import CrawlRun
from tests.hostile.project import Project
from tests.hostile.web import Web

PEER_LIMIT_S = 400
KILLING_S = 1_200
"""Seconds after which no crawl is killed any more; the output says how many kills were reached."""
OURS = {5, 9}
"""Rows that need a crawler whose clock can be moved."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dir", type=Path, default=None)
    parser.add_argument(
        "--row", action="append", default=[], help="only rows of this number, or with this in their name"
    )
    parser.add_argument("--polite", action="store_true")
    parser.add_argument("--slow", action="store_true", help="leave the frontier's clock alone")
    parser.add_argument("--kill", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--peer", action="store_true")
    args = parser.parse_args()
    directory = args.dir or Path(tempfile.mkdtemp(prefix="hostile-"))
    make = polite.rows if args.polite else rows.rows

    def chosen(there):
        return [
            row
            for row in make(there)
            if (not args.row or any(word == str(row.number) or word in row.name for word in args.row))
            and not (args.peer and row.number in OURS)
            and not (args.slow and row.long)
        ]

    if args.kill:
        print(json.dumps(run_kills(directory, args.kill, args.seed)))
        return
    begun = time.monotonic()
    with Web(chosen, directory / "tls").served() as web:
        if not web.rows:
            parser.error(f"no row is called {' or '.join(args.row)}")
        if args.peer:
            told = run_peer(web, directory)
        elif args.polite:
            run = run_crawl(
                web,
                directory / "project",
                min_delay=polite.MIN_DELAY,
                min_ip_delay=polite.MIN_IP_DELAY,
                timeout=10,
                hurry=False,
            )
            told = judge_run(run, HOSTILE_ONLY)
        else:
            told = judge_run(
                run_crawl(web, directory / "project", hurry=not args.slow, limit_s=3600 if args.slow else 300)
            )
    wall = round(time.monotonic() - begun, 1)
    print(
        json.dumps(
            {"bench": "hostile", "web": "polite" if args.polite else "hostile", "wall_s": wall, **told}
        )
    )


def judge_run(played: CrawlRun, but: Container[str] = frozenset()) -> dict:
    """Judge our own crawl by its rows and by the checks of its archive, and, like a peer, by the hosts' logs."""
    wrong = {row.name: found for row in played.web.rows if (found := played.seen(row).judge())}
    by_log = [
        row for row in played.web.rows if row.number not in OURS and not played.seen(row).judge_by_log()
    ]
    return {**count_rows(played, wrong, but), "variants_held_by_log": len(by_log)}


def count_rows(played: CrawlRun, wrong: dict[str, list[str]], but: Container[str] = frozenset()) -> dict:
    """Return how many rows and checks hold, and which do not."""
    judging = {name: check for name, check in CHECKS.items() if name not in but}
    numbers = sorted({row.number for row in played.web.rows})
    broken = {row.number for row in played.web.rows if row.name in wrong}
    checks: dict[str, str] = {}
    for name, check in judging.items():
        try:
            check(played)
        except Exception as error:  # noqa: BLE001 - another crawler's files may be anything
            checks[name] = f"{type(error).__name__}: {error}"[:200]
    return {
        "rows": len(numbers),
        "rows_held": len(numbers) - len(broken),
        "variants": len(played.web.rows),
        "variants_held": len(played.web.rows) - len(wrong),
        "archive": len(judging),
        "archive_held": len(judging) - len(checks),
        "failed": {name: why[0][:200] for name, why in wrong.items()},
        "archive_failed": checks,
    }


def run_kills(directory: Path, times: int, seed: int) -> dict:
    """Kill crawls `times` times, in as many crawls as that takes; judge each crawl."""
    total = {"kills": 0, "leased": 0, "again": 0, "archived_twice": 0, "pages": 0}
    faults: list[str] = []
    crawls = 0
    begun = time.monotonic()
    while total["kills"] < times and time.monotonic() < begun + KILLING_S:
        with Web(kills.rows, directory / f"tls-{crawls}").served() as web:
            found = kills.kill(
                web,
                directory / f"project-{crawls}",
                times=times - total["kills"],
                seed=seed + crawls,
                limit_s=begun + KILLING_S - time.monotonic(),
                say=lambda line: print(line, file=sys.stderr, flush=True),
            )
        crawls += 1
        faults += found.faults
        for name in total:
            total[name] += getattr(found, name)
        print(json.dumps({"crawl": crawls, **total, "faults": faults[:20]}), flush=True)
    return {
        "bench": "hostile-kill",
        "crawls": crawls,
        **total,
        "faults": faults,
        "wall_s": round(time.monotonic() - begun),
    }


def run_peer(web: Web, directory: Path) -> dict:
    """Judge another crawler by the hosts' logs and by its files."""
    project = Project(directory / "peer", web, toml="")
    seeds = project.directory / "seeds.txt"
    seeds.write_text("\n".join(web.url(row) + path for row in web.rows for path in row.seeds))
    begun = time.time()
    words = environments.command("crawler/hostile_scrapy.py", "scrapy")
    words += ["--seeds", str(seeds), "--out", str(project.directory / "data")]
    ended = True
    try:
        subprocess.run(words, check=False, timeout=PEER_LIMIT_S, env=project.environment)
    except subprocess.TimeoutExpired:
        ended = False
    try:
        records = project.records
    except (ValueError, KeyError):
        records = []
    played = CrawlRun(
        web=web,
        project=project,
        records=records,
        settled=[],
        leaps=[],
        stats={"reasons": {}, "drained": ended},
        begun=begun,
        ended=time.time(),
    )
    wrong = {row.name: found for row in web.rows if (found := played.seen(row).judge_by_log())}
    return {"peer": "scrapy", "ended": ended, **count_rows(played, wrong)}


if __name__ == "__main__":
    main()
