"""One pipeline four times: on one machine and on a Ray cluster, each undisturbed and with things dying under it.

usage: python bench/chaos.py --dir DIR --tokenizer FILE --warc FILE [FILE ...] [--kills N] [--seed N]
       [--between LEAST MOST] [--storage URI] [--s3-restart CMD] [--redis-restart CMD] [--redis ADDRESS]

Every run is a new project: the archives are ingested, then process, dedup and export are typed as a user types
them, and typed again where they were killed. The Ray cluster is three nodes that this script starts. What dies, by
SIGKILL and in an order that follows from the seed: cells (the processes that make parts), actors, a node (another one
joins), the driver; where a command to restart them is given, the S3 server and Redis (`{}` in --storage is the name
of the run). Between two deaths lie --between seconds; nothing is killed any more after --kills.

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

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import psutil

from pipeline.commands.results import INCOMPLETE
from storage.location import open_store
from storage.manifest import load_manifest
from storage.store import Store
from tests.pipeline.raycluster import Nodes, cluster

NODES = 3
WORKERS = "3"
KINDS = ("documents", "verdicts", "signatures", "dedup", "manifests")
POLL_S = 0.05
REFUSED = 2
"""Exit code of a command that found its storage gone."""


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
    """Commands that were typed again."""
    deaths: int = 0
    """Workers that the engine saw die, in commands that lived to tell."""
    sealed: dict[str, str] = field(default_factory=dict)
    """Manifests that were there at some death, with their stamps."""
    wall_s: float = 0.0
    bytes: dict[str, str] = field(default_factory=dict)

    @property
    def store(self) -> Store:
        """Its storage."""
        return open_store(self.storage, self.directory)

    @property
    def remade_parts(self) -> int:
        """Parts that were sealed at some death and were made again nevertheless."""
        return sum(self.store.stamp(name) != stamp for name, stamp in self.sealed.items())


def main() -> None:
    """Run four times, compare, tell."""
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
    """Ingest, then everything else with things dying."""
    run.directory.mkdir(parents=True)
    (run.directory / "thresher.toml").write_text(
        f'[project]\nengine = "{run.engine}"\nstorage = "{run.storage}"\nredis = "{args.redis}"\n'
        '[filters]\npreset = "none"\nlanguages = []\n'  # the more is kept, the more there is to compare
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
    """One command, typed again until it has done what it says."""
    command = [sys.executable, "-m", "pipeline", *words, "--json"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    while True:
        run.commands += 1
        with (
            (run.directory / "log").open("a") as log,
            (run.directory / "said").open("w") as said,
            psutil.Popen(command, cwd=run.directory, env=environment, stdout=said, stderr=log) as process,
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
    run.deaths += json.loads((run.directory / "said").read_text()).get("deaths", 0)


class FaultSchedule:
    """Who dies when, by a seed: every kind in turn, in an order of its own each time."""

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
        """Kill what is due."""
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
        # Not before it does something: a command killed while it starts says nothing about what it makes.
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
    """The hands on the cluster that this process started."""
    return [
        process
        for process in psutil.Process().children(recursive=True)
        if process.status() != psutil.STATUS_ZOMBIE and process.name().startswith("ray::Hand")
    ]


def is_part_process(process: psutil.Process) -> bool:
    """Whether it makes parts."""
    return any("spawn_main" in word for word in process.cmdline())


def sealed(run: Run) -> Mapping[str, str]:
    """Manifests that are there now, with their stamps."""
    try:
        return {name: run.store.stamp(name) for name in run.store.list("manifests/")}
    except Exception as error:  # noqa: BLE001 - the server may be the one that was killed
        sys.stderr.write(f"{run.name}: {error}\n")
        return {}


def digests(run: Run) -> Iterator[tuple[str, str]]:
    """Name and SHA-256 of all that was made."""
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
    """One line for programs, a table for people."""
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
        "\n| run | wall, s | killed | attempts that died, as the engine saw | commands typed again | sealed parts made again | same bytes |"
    )
    print("|---|---|---|---|---|---|---|")
    for run in runs:
        killed = ", ".join(f"{count} {kind}" for kind, count in sorted(run.killed.items())) or "nothing"
        same = "yes" if run.bytes == first.bytes else "NO"
        print(
            f"| {run.name} | {run.wall_s:.0f} | {killed} | {run.deaths} | {run.repeated_commands} | {run.remade_parts} of {len(run.sealed)} "
            f"| {same} |"
        )
    sys.exit(0 if body["same_bytes"] else 1)


if __name__ == "__main__":
    main()
