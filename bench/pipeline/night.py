"""Run a whole fleet for a while, kill one of its components again and again, and check that everything arrives once.

usage: python bench/pipeline/night.py --dir DIR [--pages N] [--hosts N] [--delay SECONDS] [--kill-every SECONDS]
       [--scale-every SECONDS] [--duration SECONDS] [--seed N]

The fleet: a controller, 4 crawlers and 2 processors on a Ray cluster of four local nodes, Valkey with an append-only
file, SeaweedFS as the S3 store, PostgreSQL as the catalog, and a web of N pages on hosts of loopback. Every
--kill-every seconds SIGKILL goes to one component, all kinds in turn in an order of the seed: the controller (started
again at once, as a service manager does), a Ray node (another joins), a worker process, the store, Valkey, PostgreSQL.
Every --scale-every seconds `thresher fleet scale` sets other numbers. After --duration seconds the controller is asked
to stop, if the crawl is not complete by then.

The pages resemble each other, so the search for traps is off.

Checks, and prints one JSON line: every page is in the archive once and is processed, the frontier counts as many,
no host was asked sooner than its delay allows (as the web server saw it), a console that runs all the time is truthful
(`bench.pipeline.watched_console`), and `thresher verify` finds nothing.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))


from bench.pipeline.night_web import Web  # noqa: E402
from bench.pipeline.watched_console import WatchedConsole  # noqa: E402
from tests.pipeline.raycluster import Nodes, cluster  # noqa: E402
from tests.storage import postgres, s3server  # noqa: E402
from thresher.frontier.link.embedded import _binary  # noqa: E402
from thresher.storage.location import open_store  # noqa: E402
from thresher.storage.warc.cdxj import read as read_cdxj  # noqa: E402

NODES, CPUS = 4, 3
COMMAND_S = 120
OUTAGE_S = 2
"""Seconds for which a server that is killed stays away, so that its clients notice."""
TICK_S = 0.2
"""Seconds between two looks at the clock and at the controller."""
TOML = """
[project]
contact = "mailto:night@example.org"
storage = "s3://{bucket}/night"
cache = "0"
redis = "redis://127.0.0.1:{redis}/0"
catalog = "{catalog}"
[crawler]
min_delay = {delay}
min_ip_delay = 0.0
timeout = 20
traps = false
allow_networks = ["127.0.0.0/8"]
[filters]
preset = "none"
languages = []
[fleet]
crawlers = 4
processors = 2
"""


class Valkey:
    """A Valkey server with an append-only file that is synced every second, as docs/guides/redis.md asks."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True)
        self._directory = directory
        (self.port,) = s3server.free_ports(1)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server."""
        options = {
            "port": self.port,
            "bind": "127.0.0.1",
            "dir": self._directory,
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        words = [str(part) for name, value in options.items() for part in (f"--{name}", value)]
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen([str(_binary()), *words], stdout=log, stderr=log)

    def kill(self) -> None:
        """SIGKILL."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()


@dataclass(kw_only=True)
class Night:
    """Everything that runs, and what happened to it."""

    directory: Path
    web: Web
    nodes: Nodes
    valkey: Valkey
    store: s3server.Server
    catalog: postgres.Server
    console: WatchedConsole
    random: Random
    controller: subprocess.Popen[bytes] | None = None
    killed: Counter[str] = field(default_factory=Counter)
    controller_exits: Counter[str] = field(default_factory=Counter)
    scaled: list[dict[str, int]] = field(default_factory=list)
    commands_refused: int = 0
    deck: list[str] = field(default_factory=list)

    def start_controller(self) -> None:
        """Start the controller as a service manager does."""
        with (self.directory / "controller.log").open("ab") as log:
            self.controller = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "thresher",
                    "fleet",
                    "start",
                    "main",
                    "--ray",
                    self.nodes.address,
                    "--until-drained",
                ],
                cwd=self.directory,
                stdout=log,
                stderr=log,
            )

    def run(self, *words: str, timeout_s: float = COMMAND_S) -> dict[str, Any] | None:
        """Return what a command says; None if it failed, because a server was gone."""
        try:
            done = subprocess.run(
                [sys.executable, "-m", "thresher", *words, "--json"],
                cwd=self.directory,
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
            )
            body: dict[str, Any] = json.loads(done.stdout)
        except (subprocess.TimeoutExpired, ValueError):
            return None
        return None if done.returncode not in {0, 1, 3} or "error" in body else body

    def kill_one(self) -> None:
        """Kill the next kind of component."""
        kinds: dict[str, Callable[[], bool]] = {
            "controller": self._kill_controller,
            "node": self._kill_node,
            "worker": self._kill_worker,
            "store": self._kill_store,
            "redis": self._kill_redis,
            "catalog": self._kill_catalog,
        }
        if not self.deck:
            self.deck = self.random.sample(sorted(kinds), len(kinds))
        kind = self.deck.pop()
        with suppress(psutil.NoSuchProcess):
            self.killed[kind] += kinds[kind]()
        self.say(f"killed {kind}")

    def scale(self) -> None:
        """Set other numbers."""
        crawlers, processors = self.random.randint(2, 6), self.random.randint(1, 3)
        answer = self.run(
            "fleet", "scale", "main", "--crawlers", str(crawlers), "--processors", str(processors)
        )
        if answer is None:
            self.commands_refused += 1
        else:
            self.scaled.append(answer)
            self.say(f"scaled to {crawlers} crawlers, {processors} processors")

    def say(self, line: str) -> None:
        """Show a line with what was asked so far."""
        sys.stderr.write(f"{time.strftime('%H:%M:%S')} {line}; {len(self.web.log):,} requests\n")
        sys.stderr.flush()

    def _kill_controller(self) -> bool:
        if self.controller is None or self.controller.poll() is not None:
            return False
        self.controller.kill()
        return True

    def _kill_node(self) -> bool:
        self.nodes.kill()
        self.nodes.add()
        return True

    def _kill_worker(self) -> bool:
        found = [
            each
            for each in psutil.Process().children(recursive=True)
            if each.status() != psutil.STATUS_ZOMBIE and _is_worker(each)
        ]
        if found:
            self.random.choice(sorted(found, key=lambda each: each.pid)).kill()
        return bool(found)

    def _kill_store(self) -> bool:
        self.store.kill()
        time.sleep(OUTAGE_S)
        self.store.start()
        return True

    def _kill_redis(self) -> bool:
        self.valkey.kill()
        time.sleep(OUTAGE_S)
        self.valkey.start()
        return True

    def _kill_catalog(self) -> bool:
        self.catalog.kill()
        time.sleep(OUTAGE_S)
        self.catalog.start()
        return True


def _is_worker(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return process.name().startswith("ray::MemberActor") or any(
            "spawn_main" in word for word in process.cmdline()
        )
    return False


def main() -> None:
    """Run the night."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--pages", type=int, default=50_000)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--delay", type=float, default=0.5)
    parser.add_argument("--kill-every", type=float, default=20)
    parser.add_argument("--scale-every", type=float, default=60)
    parser.add_argument("--duration", type=float, default=6 * 3600)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    shutil.rmtree(args.dir, ignore_errors=True)
    args.dir.mkdir(parents=True)
    directory = args.dir.resolve()
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ.update(
        {**s3server.KEYS, "AWS_REGION": "us-east-1", "AWS_CONFIG_FILE": os.devnull, "PYTHONPATH": str(ROOT)}
    )
    web = Web(args.pages, args.hosts)
    catalog = postgres.Server()
    with ExitStack() as stack:
        stack.callback(catalog.remove)
        catalog.start()
        store = stack.enter_context(s3server.running_server(directory / "s3"))
        os.environ["AWS_ENDPOINT_URL_S3"] = store.endpoint
        valkey = Valkey(directory / "valkey")
        stack.callback(valkey.kill)
        valkey.start()
        stack.enter_context(web.serve())
        (directory / "thresher.toml").write_text(
            TOML.format(
                bucket=s3server.BUCKET, redis=valkey.port, catalog=catalog.database(), delay=args.delay
            )
        )
        (directory / "seeds.txt").write_text("\n".join(web.seeds))
        nodes = stack.enter_context(cluster(NODES, CPUS))
        (port,) = s3server.free_ports(1)
        night = Night(
            directory=directory,
            web=web,
            nodes=nodes,
            valkey=valkey,
            store=store,
            catalog=catalog,
            console=WatchedConsole(directory=directory, port=port, log=web.log),
            random=Random(args.seed),
        )
        assert night.run("seed", "seeds.txt", "--scope", "host"), "the seeds are not added"
        night.console.start()
        stack.callback(night.console.stop)
        wall_s = watch(night, args)
        body = check(night, args, wall_s)
    print(json.dumps(body))
    sys.exit(0 if body["ok"] else 1)


def watch(night: Night, args: argparse.Namespace) -> float:
    """Run the fleet until the crawl is complete; kill and scale meanwhile. Return the seconds that it took."""
    begun = time.monotonic()
    next_kill, next_scale = begun + args.kill_every, begun + args.scale_every
    restart_at = begun
    scaling: threading.Thread | None = None
    while True:
        now = time.monotonic()
        if night.controller is not None and (code := night.controller.poll()) is not None:
            night.controller_exits[str(code)] += 1
            night.controller = None
            if code == 0:
                return now - begun
            restart_at = now + 1
        if night.controller is None and now >= restart_at:
            night.start_controller()
        if now - begun > args.duration and night.controller is not None:
            night.say("the time is over")
            night.controller.terminate()
            with suppress(subprocess.TimeoutExpired):
                night.controller.wait(300)
            return now - begun
        if now >= next_kill:
            night.kill_one()
            next_kill = time.monotonic() + args.kill_every
        if now >= next_scale and (scaling is None or not scaling.is_alive()):
            scaling = threading.Thread(target=night.scale, daemon=True)
            scaling.start()
            next_scale = now + args.scale_every
        time.sleep(TICK_S)


def check(night: Night, args: argparse.Namespace, wall_s: float) -> dict[str, Any]:
    """Return the figures, and whether all is well."""
    store = open_store(f"s3://{s3server.BUCKET}/night", night.directory)
    found: Counter[str] = Counter()
    for name in store.list("warc/main/"):
        if name.endswith(".cdxj.gz"):
            with store.open(name) as file:
                found.update(
                    row.url for row in read_cdxj(file, name=name) if not row.url.endswith("/robots.txt")
                )
    expected = night.web.expected()
    status = night.run("status", timeout_s=600) or {}
    (source,) = status.get("sources") or [{}]
    outcomes = source.get("frontier", {}).get("outcomes", {})
    verified = subprocess.run(
        [sys.executable, "-m", "thresher", "verify", "--json"],
        cwd=night.directory,
        capture_output=True,
        text=True,
        check=False,
    )
    view = night.console.settled_view(lambda view: view.get("outcomes") == outcomes, timeout_s=60)
    is_console_alive = night.console.stop()
    asked = Counter((host, path) for host, path, _ in night.web.log if path != "/robots.txt")
    least_gap_s = night.web.least_gap_s()
    body = {
        "bench": "night",
        "pages": len(expected),
        "hosts": args.hosts,
        "wall_s": round(wall_s),
        "pages_per_s": round(len(expected) / wall_s, 1),
        "killed": dict(night.killed),
        "controller_exits": dict(night.controller_exits),
        "scaled": len(night.scaled),
        "scale_commands_refused": night.commands_refused,
        "archived_once": sum(found[url] == 1 for url in expected),
        "archived_more_than_once": sum(found[url] > 1 for url in expected),
        "missing": len(expected - found.keys()),
        "unexpected": len(found.keys() - expected),
        "outcomes": {name: count for name, count in outcomes.items() if count},
        "archived": source.get("archived"),
        "processed": source.get("processed"),
        "requested_more_than_once": sum(number > 1 for number in asked.values()),
        "delay_s": args.delay,
        "least_gap_s": round(least_gap_s, 3),
        "verify": verified.returncode,
        "console": {
            "answers": dict(night.console.answers),
            "ahead": night.console.ahead,
            "lag": night.console.lag,
            "longest_silence_s": round(night.console.longest_silence_s, 1),
            "slowest_answer_s": round(night.console.slowest_answer_s, 2),
            "is_alive": is_console_alive,
            "agrees_at_the_end": view.get("outcomes") == outcomes,
        },
        "load": round(os.getloadavg()[1], 1),
    }
    body["ok"] = (
        body["archived_once"] == len(expected)
        and body["unexpected"] == 0
        and outcomes.get("fetched") == len(expected)
        and body["archived"] == body["processed"]
        and least_gap_s >= args.delay
        and verified.returncode == 0
        and is_console_alive
        and night.console.ahead == 0
        and view.get("outcomes") == outcomes
    )
    if verified.returncode:
        sys.stderr.write(verified.stdout[-2000:] + verified.stderr[-2000:])
    return body


if __name__ == "__main__":
    main()
