"""Write volumes: the WARC files of one input, each sealed when it is full.

1. The volumes are `<stem>-00000.warc.gz` and so on. Each holds a warcinfo record and then one member per record, in
   the order of the input. A larger volume of a table is `.warc.zst`, with a dictionary (`made_records.packing_of`).
   Index and Manifest lie beside it, as for any archive file.
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
from pathlib import Path
from typing import Literal, NamedTuple

from thresher.core import InputError, RecordRef
from thresher.storage.archive.open_files import STEP_NAME
from thresher.storage.archive.provenance import warcinfo_member
from thresher.storage.archive.reseal import ArchiveContents, read_contents, seal_contents
from thresher.storage.columns.kept_rows import KeptRows
from thresher.storage.columns.kept_table import put_kept
from thresher.storage.inputs.entry import InputRecord, Item, UnusableRecord
from thresher.storage.inputs.made_records import (
    DEFAULT_SIZE,
    GZIP_PACKING,
    MadeRecords,
    VolumeSize,
    packing_of,
)
from thresher.storage.inputs.origin import (
    PASSED_OVER,
    Origin,
    passed_over,
    require_good,
    require_same_reading,
    warc_type,
)
from thresher.storage.manifest import JSON, Manifest, load_manifest, manifest_name, put_output
from thresher.storage.store import Store
from thresher.storage.warc.cdxj import format_ingested
from thresher.storage.warc.compression import SUFFIXES
from thresher.storage.warc.exchange_records import IngestedRecord
from thresher.storage.warc.index_lines import IndexLines
from thresher.storage.warc.records import mime_of

Rest = Literal["more", "none"]
RANGE = re.compile(r"(\d{12})-(\d{12})", re.ASCII)


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
        items = MadeRecords(origin, read(end_of(volumes[-1]) if volumes else 0), size)
        while True:
            volume = _Volume(source, origin, len(volumes), items)
            volume.first = end_of(volumes[-1]) if volumes else 0
            volumes.append(_seal(store, volume, volumes))
            yield volumes[-1]
            if not items.is_more:
                return
    except InputError:
        for manifest in reversed(volumes):
            delete_archive_file(store, manifest)
        raise


def sealed_volumes(store: Store, source: str, origin: Origin) -> Iterator[Manifest]:
    """Yield the sealed volumes of an input, in their order. Raise `InputError` if they belong to another input."""
    number = 0
    while store.exists(name := manifest_name(STEP_NAME, f"{source}/{_stem(origin, number)}")):
        manifest = load_manifest(store, name)
        require_volume_of(origin, source, manifest)
        yield manifest
        number += 1


def require_volume_of(origin: Origin, source: str, manifest: Manifest) -> None:
    """Raise `InputError` if a volume is that of another input, or of the same input read with other options."""
    if manifest.recipe.get("origin") != origin.identity:
        raise InputError(
            f"ingest {origin.name}: {source} holds another file of that name; rename one of them"
        )
    require_same_reading(
        origin, source, {field: manifest.recipe.get(field) for field in origin.reading_options}
    )


class Span(NamedTuple):
    """The records of an input that a volume holds."""

    first: int
    end: int
    """Number after the last."""
    rest: Rest


def seal_span(
    store: Store, source: str, origin: Origin, number: int, span: Span, items: Iterator[Item]
) -> tuple[Manifest, str]:
    """Seal volume `number` of an input with all of `items`. Return its Manifest, and place and problem of its first bad
    record.
    """
    volume = _Volume(source, origin, number, MadeRecords(origin, items, DEFAULT_SIZE), span)
    return _seal(store, volume, None), volume.first_bad


def volume_part(source: str, origin: Origin, number: int) -> str:
    """Return the name of the part that volume `number` of an input is."""
    return f"{source}/{_stem(origin, number)}"


def delete_archive_file(store: Store, manifest: Manifest) -> None:
    """Delete an archive file. Delete its Manifest first: what remains if the command is killed then does not count."""
    store.delete(manifest_name(STEP_NAME, manifest.part))
    for output in reversed(manifest.outputs):
        store.delete(output.name)


class _Volume:
    """A volume that is being written."""

    def __init__(
        self, source: str, origin: Origin, number: int, items: MadeRecords, span: Span | None = None
    ) -> None:
        """`span` says which records it holds; without it, it holds as many as go in."""
        self.part = volume_part(source, origin, number)
        self.origin = origin
        self.first = self.end = span.first if span else 0
        self.rest: Rest = "none"
        self.first_bad = ""
        self.good = 0
        self.passed_over: Counter[str] = Counter()
        self.contents: ArchiveContents | None = None
        self._items, self._span = items, span
        self._packing = packing_of(items.sample()) if origin.rows else GZIP_PACKING
        self.name = f"warc/{self.part}{SUFFIXES[self._packing.compression]}"

    def write(self, path: Path, store: Store) -> None:
        """Write the file, and put the table of its columns."""
        items, size, pack = self._items, self._items.size, self._packing.pack
        found = ArchiveContents(counts=Counter(warcinfo=1), lines=IndexLines(), problems=Counter())
        is_indexed, rows = True, KeptRows()
        with path.open("wb") as file:
            date_ms = items.next_date_ms
            file.write(self._packing.front)
            offset = len(self._packing.front) + file.write(self._opening(date_ms))
            while items.is_more and (
                self._span is not None
                or not self.good
                or (self.good < size.records and offset < size.bytes and not rows.is_full)
            ):
                item, made = items.take()
                self.end = item.place + 1
                if isinstance(made, UnusableRecord):
                    self.passed_over[f"{PASSED_OVER}{made.reason}"] += 1
                    self.first_bad = self.first_bad or made.detail
                    continue
                member = pack(made.data) if isinstance(made, IngestedRecord) else made
                if (
                    isinstance(made, IngestedRecord)
                    and isinstance(item, InputRecord)
                    and warc_type(item) == "resource"
                ):
                    found.counts["resource"] += 1
                    ref = RecordRef(file=self.name, offset=offset, length=len(member), digest=made.digest)
                    line = format_ingested(
                        ref,
                        url=made.uri,
                        date_ms=item.date_ms,
                        mime=mime_of(item.mime),
                        record_id=made.record_id,
                    )
                    found.lines.append(line)
                else:
                    is_indexed = False
                if isinstance(item, InputRecord):
                    rows.add(offset, item.columns)
                file.write(member)
                offset += len(member)
                self.good += 1
            self.rest = "more" if items.is_more else "none"
            if self._span is not None:
                self.end, self.rest = self._span.end, self._span.rest
            file.seek(len(self._packing.front))
            file.write(self._opening(date_ms))
        if not is_indexed:
            with path.open("rb") as file:
                found = read_contents(file, self.name)
        self.contents = found._replace(columns=put_kept(store, self.part, rows.finish()))

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
        return warcinfo_member(
            name,
            source=source,
            date_ms=date_ms,
            recipe=self.recipe,
            compression=self._packing.compression,
        )


def _seal(store: Store, volume: _Volume, before: list[Manifest] | None) -> Manifest:
    """Seal a volume. If the volumes `before` it are given, raise `InputError` if the input is refused by now."""

    def write(path: Path) -> None:
        volume.write(path, store)
        if before is not None:
            passed = volume.passed_over.total() + sum(
                sum(passed_over(each.counts).values()) for each in before
            )
            good = volume.good + sum(map(good_records, before))
            require_good(volume.origin, good=good, passed=passed, first_bad=volume.first_bad)

    warc = put_output(store, volume.name, 0, write)
    assert volume.contents is not None
    return seal_contents(store, volume.part, warc, volume.contents, volume.recipe, volume.passed_over)


def _stem(origin: Origin, number: int) -> str:
    return f"{origin.stem}-{number:05d}"


def end_of(manifest: Manifest) -> int:
    """Return the number after the last record of a volume."""
    found = RANGE.fullmatch(str(manifest.recipe["records"]))
    assert found is not None
    return int(found[2])


def good_records(manifest: Manifest) -> int:
    """Return how many records of the input a volume holds."""
    return sum(count for kind, count in manifest.counts.items() if not kind.startswith(PASSED_OVER)) - 1
