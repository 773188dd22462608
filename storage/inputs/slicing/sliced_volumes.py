"""Write the volumes of a large table slice by slice, in any number of processes.

1. A volume is a slice of the table (`slices.Slice`). So the bytes of the volumes do not depend on who makes
   them, and in which order they are sealed.
2. The results are judged in the order of the slices: if the table is refused, all its volumes are deleted.
3. A volume that a killed command has sealed is not made again.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

from thresher.core import InputError
from thresher.storage.archive.open_files import STEP_NAME
from thresher.storage.inputs.decompression import unpacked_too_large
from thresher.storage.inputs.entry import InputRecord, Item
from thresher.storage.inputs.input_kinds import ITEM
from thresher.storage.inputs.origin import Origin, passed_over, require_good
from thresher.storage.inputs.slicing.slices import Slice, TableSlices
from thresher.storage.inputs.table_files.columns import Columns
from thresher.storage.inputs.volumes import (
    Span,
    delete_archive_file,
    end_of,
    good_records,
    require_volume_of,
    seal_span,
    sealed_volumes,
    volume_part,
)
from thresher.storage.manifest import Manifest, load_manifest, manifest_name, manifests
from thresher.storage.spool import spool_file
from thresher.storage.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceJob:
    """One volume to make. A job can be pickled."""

    store: Store
    source: str
    origin: Origin
    columns: Columns
    number: int
    """Number of the volume."""
    rows: Slice
    most: int
    """Unpacked bytes that the input may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeVolume:
    """A sealed volume."""

    manifest: Manifest
    is_new: bool = False
    """Whether it was not sealed before."""
    bytes: int = 0
    """Unpacked bytes of its rows, if it is new."""
    first_bad: str = ""
    """Place and problem of its first bad row."""


RunJobs: TypeAlias = "Callable[[Callable[[SliceJob], MadeVolume], Iterable[SliceJob]], Generator[MadeVolume]]"
"""Calls a function with every job, in any process, and yields the results in the order of the jobs."""


def make_volume(job: SliceJob) -> MadeVolume:
    """Seal the volume of a job, unless it is sealed. Raise `InputError` if the input is refused."""
    name = manifest_name(STEP_NAME, volume_part(job.source, job.origin, job.number))
    if job.store.exists(name):
        manifest = load_manifest(job.store, name)
        require_volume_of(job.origin, job.source, manifest)
        if manifest.recipe["records"] == f"{job.rows.first:012d}-{job.rows.end:012d}":
            return MadeVolume(manifest=manifest)
        delete_archive_file(job.store, manifest)
    size = 0

    def counted(items: Iterator[Item]) -> Iterator[Item]:
        nonlocal size
        for item in items:
            # One value of a dictionary or of a run may stand for any number of rows.
            size += ITEM + (len(item.payload) if isinstance(item, InputRecord) else 0)
            if size > job.most:
                raise unpacked_too_large(job.origin.name)
            yield item

    with job.rows.path.open("rb") as file:
        items = counted(job.rows.items(file, job.origin.name, job.columns))
        span = Span(job.rows.first, job.rows.end, "none" if job.rows.is_last else "more")
        manifest, bad = seal_span(job.store, job.source, job.origin, job.number, span, items)
    return MadeVolume(manifest=manifest, is_new=True, bytes=size, first_bad=bad)


def ingest_slices(  # noqa: PLR0913 - what `SliceJob` holds, and how jobs run
    store: Store,
    source: str,
    origin: Origin,
    columns: Columns,
    slices: TableSlices,
    *,
    most: int,
    run: RunJobs,
) -> Iterator[MadeVolume]:
    """Seal every volume of a table that is not sealed yet, and yield them.

    Raise `InputError` and leave nothing behind if the table is refused, or if the volumes of another input have the
    same names.
    """
    totals = _Totals(origin, most)
    sealed = list(sealed_volumes(store, source, origin))
    if sealed and sealed[-1].recipe["rest"] == "none":
        return
    for manifest in sealed:
        totals.add(MadeVolume(manifest=manifest))
    with _SliceFiles() as files:

        def jobs() -> Iterator[SliceJob]:
            first = end_of(sealed[-1]) if sealed else 0
            for number, rows in enumerate(slices(first, files.new), len(sealed)):
                files.begun.append(rows.path)
                yield SliceJob(
                    store=store,
                    source=source,
                    origin=origin,
                    columns=columns,
                    number=number,
                    rows=rows,
                    most=most,
                )

        try:
            with closing(run(make_volume, jobs())) as results:
                for made in results:
                    files.delete(files.begun.popleft())
                    totals.add(made)
                    totals.check()
                    yield made
                totals.check()
        except InputError:
            _delete_volumes(store, source, origin)
            raise


class _SliceFiles:
    """The files of slices that are not made yet. Use it as a context."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._files: dict[Path, ExitStack] = {}
        self.begun: deque[Path] = deque()

    def __enter__(self) -> Self:
        self._stack.enter_context(spool_file("slices"))  # says so if the disk has no room for a slice
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for path in list(self._files):
            self.delete(path)
        self._stack.__exit__(kind, error, trace)

    def new(self) -> Path:
        """Return the path of a new file."""
        stack = ExitStack()
        path = stack.enter_context(spool_file("slice"))
        self._files[path] = stack
        return path

    def delete(self, path: Path) -> None:
        """Delete a file that `new` returned; leave any other."""
        if stack := self._files.pop(path, None):
            stack.close()


class _Totals:
    """What is known of an input after some of its volumes."""

    def __init__(self, origin: Origin, most: int) -> None:
        self._origin, self._most = origin, most
        self._good = self._passed = self._bytes = 0
        self._first_bad = ""

    def add(self, made: MadeVolume) -> None:
        """Count one more volume."""
        self._good += good_records(made.manifest)
        self._passed += sum(passed_over(made.manifest.counts).values())
        self._bytes += made.bytes
        self._first_bad = self._first_bad or made.first_bad

    def check(self) -> None:
        """Raise `InputError` if the input is refused."""
        require_good(self._origin, good=self._good, passed=self._passed, first_bad=self._first_bad)
        if self._bytes > self._most:
            raise unpacked_too_large(self._origin.name)


def _delete_volumes(store: Store, source: str, origin: Origin) -> None:
    """Delete the volumes of an input, also behind one that was not sealed yet."""
    for manifest in reversed(list(manifests(store, STEP_NAME, source))):
        if manifest.recipe.get("origin") == origin.identity:
            delete_archive_file(store, manifest)
