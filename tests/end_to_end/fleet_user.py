"""Fleets as a user starts them, with heartbeats and leases that are over sooner than usual."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from contextlib import suppress
from itertools import pairwise

import psutil

from tests.end_to_end.conftest import ROOT
from thresher.core.errors import Unavailable
from thresher.pipeline.crawls.operator_commands import query_frontier
from thresher.pipeline.fleet.fleet_status import body
from thresher.pipeline.open_project import OpenProject

QUICK = "FleetTimes(tick_s=0.3, heartbeat_s=0.5, member_ttl_s=6.0, lease_ttl_s=4.0)"
START = f"""
import json, signal, sys
from pathlib import Path
from thresher.pipeline.fleet.controller import FleetTimes
from thresher.pipeline.fleet.fleet_command import FleetOptions, start_fleet
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.recipe import export_crawl
from thresher.pipeline.terminal.output import run_command
if __name__ == "__main__":
    options = FleetOptions(export=export_crawl, times={QUICK}, **json.loads(sys.argv[1]))
    say = lambda line: print(line, file=sys.stderr, flush=True)
    run_command(lambda: start_fleet(OpenProject.at(Path(".")), "main", options, say))
"""


def start_fleet(user, **options):
    """A controller in the foreground of a process of its own."""
    with (user.directory / "killed.log").open("a") as log:
        return subprocess.Popen(
            [sys.executable, "-c", START, json.dumps(options)],
            env={**user.environment, "PYTHONPATH": str(ROOT)},
            cwd=user.directory,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def fleet_status(user):
    """What `thresher fleet status --json` would say now; {} if there is no fleet."""
    state = query_frontier(OpenProject.at(user.directory), "main", lambda frontier: frontier.fleet.state())
    return {} if state is None else json.loads(json.dumps(body(state)))


def running(user, kind):
    return [
        each
        for each in fleet_status(user).get("members", [])
        if each["kind"] == kind and each["state"] not in {"lost", "starting"}
    ]


def wait_for(condition, timeout=180):
    """Poll until the condition holds, and return what it returned. Ask again if a busy machine does not answer."""
    deadline = time.monotonic() + timeout
    while True:
        with suppress(Unavailable):
            if found := condition():
                return found
        assert time.monotonic() < deadline, "the condition never came true"
        time.sleep(0.2)


def stop(process, timeout=120):
    process.send_signal(signal.SIGTERM)
    return process.wait(timeout)


def log(user):
    return (user.directory / "killed.log").read_text()


def workers(process, word):
    """The processes below a controller whose command line has a word."""
    return [
        each
        for each in psutil.Process(process.pid).children()
        if any(word in part for part in each.cmdline())
    ]


def archived(user):
    """How often each URL is in the archive."""
    from warcio.archiveiterator import ArchiveIterator

    found = Counter()
    for path in (user.directory / "data" / "warc").rglob("*.warc.gz"):
        with path.open("rb") as stream:
            found.update(
                record.rec_headers.get_header("WARC-Target-URI")
                for record in ArchiveIterator(stream)
                if record.rec_type in {"response", "revisit"}
            )
    return found


def least_gap_s(requests):
    """The shortest time between two requests of one host."""
    times = defaultdict(list)
    for each in requests:
        times[each.host].append(each.at)
    return min(after - before for each in times.values() for before, after in pairwise(sorted(each)))
