"""`ObjectStore`: an object store in memory that all processes use; `ProcessStore` is the client of one process.

1. A put object is visible at once to every process, with all of its bytes, and stays whichever process dies.
2. Before and after each call that changes something, other processes may run. The caller may be killed after the change
   and before it learns of it.
3. While the store is away, a call raises `Unavailable`; chance decides whether a put has arrived.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader, BytesIO
from pathlib import Path
from zlib import crc32

from tests.simulator.process import Process, Trap, run_traps
from tests.simulator.world import World
from thresher.core import CorruptData, Unavailable
from thresher.core.call_times import CallTimes
from thresher.storage.store import ByteRange, Staged, read_one_by_one


class ObjectStore:
    """Bytes by name, and when they were put."""

    def __init__(self, world: World, staging: Path) -> None:
        self.world, self.staging = world, staging
        self.objects: dict[str, tuple[bytes, float]] = {}
        self.away_until = 0.0
        self.staged = 0
        self.traps: list[Trap] = []
        """What befalls who writes."""

    @property
    def is_away(self) -> bool:
        return self.world.now < self.away_until

    def written(self, process: Process) -> None:
        """Spring the traps that are due."""
        run_traps(self.traps, process)

    def names(self, prefix: str = "") -> list[str]:
        return sorted(name for name in self.objects if name.startswith(prefix))


class ProcessStore:
    """The `Store` of a process, or of the checks after the run, which belong to none."""

    def __init__(self, objects: ObjectStore, process: Process | None = None, within: str = "") -> None:
        self._of, self._process, self._within = objects, process, within

    uri = "memory:"

    def put(self, name: str, data: bytes) -> bool:
        return self._change(name, lambda key: self._put(key, data))

    @contextmanager
    def stage(self, name: str) -> Iterator[Staged]:
        self._of.staged += 1
        path = self._of.staging / f"{self._of.staged}"
        path.touch()
        try:
            yield Staged(self, name, path)
        finally:
            path.unlink(missing_ok=True)

    def put_file(self, path: Path, name: str) -> bool:
        return self.put(name, path.read_bytes())

    def delete(self, name: str) -> None:
        self._change(name, lambda key: self._of.objects.pop(key, None))

    def read(self, name: str) -> bytes:
        self._touch()
        found = self._of.objects.get(self._within + name)
        if found is None:
            raise CorruptData(f"{name} is missing")
        return found[0]

    def open(self, name: str) -> BufferedReader:
        return BufferedReader(BytesIO(self.read(name)))

    def read_ranges(self, ranges: Iterable[ByteRange]) -> Iterator[bytes]:
        return read_one_by_one(self, ranges)

    def exists(self, name: str) -> bool:
        self._touch()
        return self._within + name in self._of.objects

    def size(self, name: str) -> int:
        return len(self.read(name))

    def stamp(self, name: str) -> str:
        return f"{crc32(self.read(name))}"

    def age_ms(self, name: str) -> int:
        self.read(name)
        return round((self._of.world.now - self._of.objects[self._within + name][1]) * 1000)

    def list(self, prefix: str = "") -> Iterator[str]:
        self._touch()
        cut = len(self._within)
        return iter([name[cut:] for name in self._of.names(self._within + prefix)])

    def list_stamps(self, prefix: str = "") -> Iterator[tuple[str, str]]:
        return ((name, self.stamp(name)) for name in self.list(prefix))

    def newest(self, directory: str, ending: str, most: int) -> Sequence[str]:
        names = [name for name in self.list(f"{directory}/") if name.endswith(ending)]
        names.sort(key=lambda name: (-self._of.objects[self._within + name][1], name))
        return names[:most]

    def substore(self, directory: str) -> "ProcessStore":
        return ProcessStore(self._of, self._process, f"{self._within}{directory}/")

    def clear(self) -> None:
        for name in list(self.list()):
            self.delete(name)

    def unavailable_since_ms(self) -> None:
        return

    def call_times(self) -> CallTimes:
        return CallTimes()

    def sweep(self) -> int:
        return 0

    def _put(self, key: str, data: bytes) -> bool:
        if key in self._of.objects:
            return False
        self._of.objects[key] = bytes(data), self._of.world.now
        return True

    def _change(self, name: str, change: Callable[[str], object]) -> bool:
        self._stop()
        if self._of.is_away and self._of.world.random.random() < 0.5:
            raise Unavailable("the storage answers 503")
        done = change(self._within + name)
        if self._process is not None:
            self._of.world.note(
                self._process.name, f"{name} changed: {done is not None and done is not False}"
            )
            self._of.written(self._process)
        self._stop()
        if self._of.is_away:
            raise Unavailable("the storage answers 503")
        return bool(done)

    def _touch(self) -> None:
        self._stop()
        if self._process is not None and self._of.is_away:
            raise Unavailable("the storage answers 503")

    def _stop(self) -> None:
        if self._process is not None:
            self._process.stop()

    def __reduce__(self):
        raise TypeError("the memory of one process")
