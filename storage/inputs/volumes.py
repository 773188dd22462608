"""Write volumes: the WARC files of one input, each sealed when it is full.

1. The volumes are `<stem>-00000.warc.gz` and so on. Each holds a warcinfo record and then one gzip member per record,
   in the order of the input. Index and Manifest lie beside it, as for any archive file.
2. The recipe of a Manifest holds the input of the volume (`origin`), the range of its records (`records`: the number of
   the first, and the number after the last), and whether more follow (`rest`). A killed command, run again, continues
   after the last sealed volume.
3. The same input gives the same bytes: they depend on no clock and on no machine's name.
4. The columns of a table lie in a table of the volume (`storage.columns`), one of its outputs.
5. Records that are passed over are counted by reason, under `passed_over.REASON`.
6. An input that is refused leaves nothing behind.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from thresher.core import InputError
from thresher.storage.archive.open_files import STEP_NAME
from thresher.storage.archive.provenance import warcinfo_member
from thresher.storage.archive.reseal import ArchiveContents, read_contents, seal_contents
from thresher.storage.columns.kept_rows import KeptRows
from thresher.storage.columns.kept_table import put_kept
from thresher.storage.inputs.entry import InputRecord, Item, UnusableRecord
from thresher.storage.inputs.origin import (
    PASSED_OVER,
    Origin,
    passed_over,
    require_good,
    require_same_reading,
    write_record,
)
from thresher.storage.manifest import JSON, Manifest, load_manifest, manifest_name, put_output
from thresher.storage.store import Store

MAX_RECORDS, MAX_BYTES = 100_000, 256 << 20
Rest = Literal["more", "none"]
RANGE = re.compile(r"(\d{12})-(\d{12})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeSize:
    """Limits of a volume: it is full when it reaches either. A single record may be larger than `bytes`."""

    records: int = MAX_RECORDS
    bytes: int = MAX_BYTES


DEFAULT_SIZE = VolumeSize()


def ingest_volumes(
    store: Store,
    source: str,
    origin: Origin,
    read: Callable[[int], Iterator[Item]],
    size: VolumeSize = DEFAULT_SIZE,
) -> Iterator[Manifest]:
    """Seal and yield every volume of an input that is not sealed yet. `read(first)` yields its items from number
    `first` on.

    Raise `InputError` and leave nothing behind if the input has no usable record, if a table has more bad rows than
    good ones, or if the volumes of another input have the same names.
    """
    volumes = list(sealed_volumes(store, source, origin))
    if volumes and volumes[-1].recipe["rest"] == "none":
        return
    try:
        first = _end(volumes[-1]) if volumes else 0
        items = _Lookahead(read(first))
        while True:
            volume = _Volume(source, origin, len(volumes), first, volumes)
            volumes.append(_seal(store, volume, items, size))
            yield volumes[-1]
            if items.next is None:
                return
            first = _end(volumes[-1])
    except InputError:
        for manifest in reversed(volumes):
            delete_archive_file(store, manifest)
        raise


def sealed_volumes(store: Store, source: str, origin: Origin) -> Iterator[Manifest]:
    """Yield the sealed volumes of an input, in their order. Raise `InputError` if they belong to another input."""
    number = 0
    while store.exists(name := manifest_name(STEP_NAME, f"{source}/{_stem(origin, number)}")):
        manifest = load_manifest(store, name)
        if manifest.recipe.get("origin") != origin.identity:
            raise InputError(
                f"ingest {origin.name}: {source} holds another file of that name; rename one of them"
            )
        require_same_reading(
            origin, source, {field: manifest.recipe.get(field) for field in origin.reading_options}
        )
        yield manifest
        number += 1


def delete_archive_file(store: Store, manifest: Manifest) -> None:
    """Delete an archive file. Delete its Manifest first: what remains if the command is killed then does not count."""
    store.delete(manifest_name(STEP_NAME, manifest.part))
    for output in reversed(manifest.outputs):
        store.delete(output.name)


class _Lookahead:
    """Items of which the next is known, because a volume records whether anything follows it."""

    def __init__(self, items: Iterator[Item]) -> None:
        self._items = items
        self.next = next(items, None)

    def take(self) -> Item:
        item, self.next = self.next, next(self._items, None)
        assert item is not None
        return item


class _Volume:
    """A volume that is being written."""

    def __init__(self, source: str, origin: Origin, number: int, first: int, before: list[Manifest]) -> None:
        self.part = f"{source}/{_stem(origin, number)}"
        self.name = f"warc/{self.part}.warc.gz"
        self.origin, self.first, self.end = origin, first, first
        self.rest: Rest = "none"
        self.passed_over: Counter[str] = Counter()
        self.contents: ArchiveContents | None = None
        self._before = before

    def write(self, path: Path, items: _Lookahead, size: VolumeSize, store: Store) -> None:
        """Write the file, and put the table of its columns."""
        records, bad, rows = 0, "", KeptRows()
        with path.open("wb") as file:
            date_ms = items.next.date_ms if isinstance(items.next, InputRecord) else 0
            file.write(self._opening(date_ms))
            while items.next is not None and (
                not records or (records < size.records and file.tell() < size.bytes and not rows.is_full)
            ):
                item = items.take()
                self.end = item.place + 1
                written = write_record(self.origin, item)
                if isinstance(written, UnusableRecord):
                    self.passed_over[f"{PASSED_OVER}{written.reason}"] += 1
                    bad = bad or written.detail
                else:
                    if isinstance(item, InputRecord):
                        rows.add(file.tell(), item.columns)
                    file.write(written)
                    records += 1
            self.rest = "none" if items.next is None else "more"
            file.seek(0)
            file.write(self._opening(date_ms))
        self._refuse_bad(records, bad)
        with path.open("rb") as file:
            contents = read_contents(file, self.name)
        self.contents = contents._replace(columns=put_kept(store, self.part, rows.finish()))

    @property
    def recipe(self) -> dict[str, JSON]:
        return {
            "ingested": self.origin.name,
            "origin": self.origin.identity,
            **self.origin.reading_options,
            "records": f"{self.first:012d}-{self.end:012d}",
            "rest": self.rest,
        }

    def _opening(self, date_ms: int) -> bytes:
        source, _, name = self.name.removeprefix("warc/").partition("/")
        return warcinfo_member(name, source=source, date_ms=date_ms, recipe=self.recipe)

    def _refuse_bad(self, records: int, bad: str) -> None:
        before = Counter[str]()
        for manifest in self._before:
            before.update(manifest.counts)
        passed = self.passed_over.total() + sum(passed_over(before).values())
        good = records + sum(map(_good, self._before))
        require_good(self.origin, good=good, passed=passed, first_bad=bad)


def _seal(store: Store, volume: _Volume, items: _Lookahead, size: VolumeSize) -> Manifest:
    warc = put_output(store, volume.name, 0, partial(volume.write, items=items, size=size, store=store))
    assert volume.contents is not None
    return seal_contents(store, volume.part, warc, volume.contents, volume.recipe, volume.passed_over)


def _stem(origin: Origin, number: int) -> str:
    return f"{origin.stem}-{number:05d}"


def _end(manifest: Manifest) -> int:
    found = RANGE.fullmatch(str(manifest.recipe["records"]))
    assert found is not None
    return int(found[2])


def _good(manifest: Manifest) -> int:
    return sum(count for kind, count in manifest.counts.items() if not kind.startswith(PASSED_OVER)) - 1
