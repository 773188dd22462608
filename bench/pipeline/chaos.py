"""Run one pipeline four times: on one machine and on a Ray cluster, each undisturbed and with processes killed.

usage: python bench/pipeline/chaos.py --dir DIR --tokenizer FILE --warc FILE [FILE ...] [--kills N] [--seed N]
       [--between LEAST MOST] [--storage URI] [--s3-restart CMD] [--redis-restart CMD] [--redis ADDRESS]

Every run is a new project: it ingests the archives, then runs process, dedup and export as a user types them, and
again if they were killed. This script starts a Ray cluster of three nodes. It sends SIGKILL, in an order that follows
from the seed, to worker processes that make parts (`cell`), actors, a node (another one joins) and the driver. If a
command to restart them is given, the S3 server and Redis die as well. `{}` in --storage is the name of the run.
Between two deaths lie --between seconds, and nothing is killed after --kills deaths.

Prints one JSON line and a table: what was killed, what was made again, and whether every byte of documents, verdicts,
signatures, removals, their Manifests and the shards is the same as in the first run.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import psutil

from tests.pipeline.raycluster import Nodes, cluster
from thresher.pipeline.commands.results import INCOMPLETE
from thresher.storage.location import open_store
from thresher.storage.manifest import load_manifest
from thresher.storage.store import Store

NODES = 3
WORKERS = "3"
KINDS = ("documents", "verdicts", "signatures", "dedup", "manifests")
POLL_S = 0.05
"""Seconds between two looks at a command and at the moments at which faults are due."""
REFUSED = 2
"""Exit code of a command that lost its storage."""


@dataclass(kw_only=True)
class Run:
    """One project, and what happened to it."""

    name: str
    engine: str
    directory: Path
    storage: str
    kills: int
    killed: Counter[str] = field(default_factory=Counter)
    commands: int = 0
    repeated_commands: int = 0
    """Commands that were started again."""
    deaths: int = 0
    """Dead workers that the engine counted, in commands that ended by themselves."""
    sealed: dict[str, str] = field(default_factory=dict)
    """Manifests that existed at a death, with their stamps."""
    wall_s: float = 0.0
    bytes: dict[str, str] = field(default_factory=dict)

    @property
    def store(self) -> Store:
        """The storage of the project."""
        return open_store(self.storage, self.directory)

    @property
    def remade_parts(self) -> int:
        """Parts that were sealed at a death and were made again nevertheless."""
        return sum(self.store.stamp(name) != stamp for name, stamp in self.sealed.items())


def main() -> None:
    """Run four times, compare, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--warc", type=Path, nargs="+", required=True)
    parser.add_argument("--kills", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--between", type=float, nargs=2, metavar="SECONDS", default=(0.5, 2.5))
    parser.add_argument("--storage", default="file:data")
    parser.add_argument("--redis", default="embedded")
    parser.add_argument("--s3-restart", metavar="CMD")
    parser.add_argument("--redis-restart", metavar="CMD")
    args = parser.parse_args()
    shutil.rmtree(args.dir, ignore_errors=True)
    runs = []
    with cluster(NODES) as nodes:
        for name, engine, kills in (
            ("local", "local", 0),
            ("ray", f"ray:{nodes.address}", 0),
            ("local, disturbed", "local", args.kills),
            ("ray, disturbed", f"ray:{nodes.address}", args.kills),
        ):
            word = name.replace(", ", "-")
            run = Run(
                name=name,
                engine=engine,
                directory=(args.dir / word).absolute(),
                storage=args.storage.replace("{}", word),
                kills=kills,
            )
            pipeline(run, args, nodes)
            runs.append(run)
            sys.stderr.write(f"{name}: {run.wall_s:.0f} s, killed {dict(run.killed)}\n")
    print_results(runs)


def pipeline(run: Run, args: argparse.Namespace, nodes: Nodes) -> None:
    """Ingest, then run everything else while processes are killed."""
    run.directory.mkdir(parents=True)
    (run.directory / "thresher.toml").write_text(
        f'[project]\nengine = "{run.engine}"\nstorage = "{run.storage}"\nredis = "{args.redis}"\n'
        '[filters]\npreset = "none"\nlanguages = []\n'  # more kept documents give more to compare
    )
    run_command(run, lambda _: None, "ingest", "real", *map(str, args.warc))
    deaths = FaultSchedule(run, args, nodes)
    begun = time.monotonic()
    run_command(run, deaths.tick, "process", "--workers", WORKERS)
    run_command(run, deaths.tick, "dedup")
    tokenizer = str(args.tokenizer.absolute())
    run_command(run, deaths.tick, "export", "--out", "out", "--tokenizer", tokenizer, "--workers", WORKERS)
    run.wall_s = time.monotonic() - begun
    run.bytes = dict(digests(run))


def run_command(run: Run, tick: Callable[[psutil.Popen], object], *words: str) -> None:
    """Run one command until it has succeeded."""
    command = [sys.executable, "-m", "thresher", *words, "--json"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    while True:
        run.commands += 1
        with (
            (run.directory / "log").open("a") as log,
            (run.directory / "output").open("w") as output,
            psutil.Popen(command, cwd=run.directory, env=environment, stdout=output, stderr=log) as process,
        ):
            while process.poll() is None:
                tick(process)
                time.sleep(POLL_S)
        if process.returncode in {0, INCOMPLETE}:
            break
        if process.returncode not in {-9, REFUSED} or not run.kills:
            raise SystemExit(
                f"{run.name}: {' '.join(words)} ended with {process.returncode}; look at {run.directory}/log"
            )
        run.repeated_commands += 1
    run.deaths += json.loads((run.directory / "output").read_text()).get("deaths", 0)


class FaultSchedule:
    """Decides by a seed what dies when: every kind in turn, in a new order each time."""

    def __init__(self, run: Run, args: argparse.Namespace, nodes: Nodes) -> None:
        self._run, self._nodes, self._between = run, nodes, args.between
        self._random = Random(args.seed)
        self._hooks = {"s3": args.s3_restart, "redis": args.redis_restart}
        self._kinds: dict[str, Callable[[psutil.Popen], bool]] = {
            "cell": self._kill_part_process,
            "driver": self._kill_driver,
        }
        if run.engine != "local":
            self._kinds |= {"actor": self._kill_actor, "node": self._kill_node}
        self._kinds |= {name: self._server(name) for name, hook in self._hooks.items() if hook}
        self._deck: list[str] = []
        self._next = time.monotonic() + self._random.uniform(*self._between)

    def tick(self, driver: psutil.Popen) -> None:
        """Kill one process if it is due."""
        if self._run.killed.total() >= self._run.kills or time.monotonic() < self._next:
            return
        if not self._deck:
            self._deck = self._random.sample(sorted(self._kinds), len(self._kinds))
        kind = self._deck[-1]
        self._run.sealed |= sealed(self._run)
        with suppress(psutil.NoSuchProcess):
            if self._kinds[kind](driver):
                self._deck.pop()
                self._run.killed[kind] += 1
                self._next = time.monotonic() + self._random.uniform(*self._between)

    def _kill_part_process(self, driver: psutil.Popen) -> bool:
        parents = [driver] if self._run.engine == "local" else actors()
        return self._kill(
            [child for parent in parents for child in parent.children() if is_part_process(child)]
        )

    def _kill_actor(self, _: psutil.Popen) -> bool:
        return self._kill(actors())

    def _kill_node(self, _: psutil.Popen) -> bool:
        if not actors():
            return False
        self._nodes.kill()
        self._nodes.add()
        return True

    def _kill_driver(self, driver: psutil.Popen) -> bool:
        # Only a driver at work: a command that is killed while it starts proves nothing about its results.
        working = (
            any(map(is_part_process, driver.children())) if self._run.engine == "local" else bool(actors())
        )
        return working and self._kill([driver])

    def _server(self, name: str) -> Callable[[psutil.Popen], bool]:
        def restart(_: psutil.Popen) -> bool:
            subprocess.run(self._hooks[name], shell=True, check=True)
            return True

        return restart

    def _kill(self, processes: list[psutil.Process]) -> bool:
        if not processes:
            return False
        self._random.choice(sorted(processes, key=lambda process: process.pid)).kill()
        return True


def actors() -> list[psutil.Process]:
    """Return the actors on the cluster that this process started."""
    return [
        process
        for process in psutil.Process().children(recursive=True)
        if process.status() != psutil.STATUS_ZOMBIE and process.name().startswith("ray::PartActor")
    ]


def is_part_process(process: psutil.Process) -> bool:
    """Return whether a process makes parts."""
    return any("spawn_main" in word for word in process.cmdline())


def sealed(run: Run) -> Mapping[str, str]:
    """Return the Manifests that exist now, with their stamps."""
    try:
        return {name: run.store.stamp(name) for name in run.store.list("manifests/")}
    except Exception as error:  # noqa: BLE001 - the storage server may have been killed
        sys.stderr.write(f"{run.name}: {error}\n")
        return {}


def digests(run: Run) -> Iterator[tuple[str, str]]:
    """Yield the name and SHA-256 of every output."""
    for kind in KINDS:
        for name in run.store.list(f"{kind}/"):
            yield name, hashlib.sha256(run.store.read(name)).hexdigest()
    for path in sorted((run.directory / "out").rglob("*")):
        if path.is_file():
            yield (
                f"out/{path.relative_to(run.directory / 'out')}",
                hashlib.sha256(path.read_bytes()).hexdigest(),
            )


def print_results(runs: list[Run]) -> None:
    """Print one line for programs, and a table for people."""
    first, *others = runs
    parts = [name for name in first.bytes if name.startswith("manifests/process/")]
    counts = [load_manifest(first.store, name).counts for name in parts]
    documents = sum(count for each in counts for key, count in each.items() if key.endswith(".documents"))
    body = {
        "bench": "chaos",
        "documents": documents,
        "parts": len(parts),
        "outputs": len(first.bytes),
        "same_bytes": all(run.bytes == first.bytes for run in others),
        "runs": [
            {
                "run": run.name,
                "wall_s": round(run.wall_s, 1),
                "killed": dict(run.killed),
                "commands": run.commands,
                "typed_again": run.repeated_commands,
                "deaths_seen": run.deaths,
                "sealed_at_deaths": len(run.sealed),
                "sealed_and_made_again": run.remade_parts,
                "differs": sorted(dict(run.bytes.items() ^ first.bytes.items()))[:5],
            }
            for run in runs
        ],
    }
    print(json.dumps(body))
    print(
        "\n| run | wall, s | killed | attempts that died, as the engine saw | commands typed again"
        " | sealed parts made again | same bytes |"
    )
    print("|---|---|---|---|---|---|---|")
    for run in runs:
        killed = ", ".join(f"{count} {kind}" for kind, count in sorted(run.killed.items())) or "nothing"
        same = "yes" if run.bytes == first.bytes else "NO"
        print(
            f"| {run.name} | {run.wall_s:.0f} | {killed} | {run.deaths} | {run.repeated_commands} "
            f"| {run.remade_parts} of {len(run.sealed)} | {same} |"
        )
    sys.exit(0 if body["same_bytes"] else 1)


if __name__ == "__main__":
    main()
