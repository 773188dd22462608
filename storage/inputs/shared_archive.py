"""Write shared archive files: many small inputs in one WARC file, with one index and one Manifest.

1. `shared-<hash>.warc.gz` holds a warcinfo record, a metadata record that lists the inputs (one JSON object a line),
   and then one gzip member per record, input by input.
2. The line of an input holds its name, its SHA-256, how it was read, and its number of records by type. Each record
   names its input too (`from` in WARC-JSON-Metadata).
3. The hash in the name is the hash of the list. The same inputs in the same order give the same bytes under the same
   name, and two commands that ingest different inputs into one source never write the same name.
4. The columns of all tables among the inputs lie in one table (`storage.columns`), with united types.
5. An input that is refused, or whose records turn out too large, leaves nothing in the file.
"""

import hashlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

from thresher.core import CorruptData
from thresher.storage.archive.open_files import STEP_NAME
from thresher.storage.archive.provenance import read_recipe, warcinfo_member
from thresher.storage.archive.reseal import ArchiveContents, read_contents, reseal, seal_contents
from thresher.storage.columns.kept_rows import KeptRows, KeptTables
from thresher.storage.columns.kept_table import put_kept
from thresher.storage.inputs.entry import InputRecord, Item, UnusableRecord
from thresher.storage.inputs.made_records import DEFAULT_SIZE, VolumeSize
from thresher.storage.inputs.origin import PASSED_OVER, Origin, require_good, warc_type, write_record
from thresher.storage.manifest import JSON, Manifest, manifest_name, put_output
from thresher.storage.spool import spool_file
from thresher.storage.store import Store
from thresher.storage.warc.compression import gzip_member, stem
from thresher.storage.warc.exchange_records import input_list_record
from thresher.storage.warc.records import read_records

SMALL = 1 << 20
"""Bytes of the largest input that shares an archive file. A larger input gets files of its own: their cost is small
compared with its size."""
MAX_INPUTS = 10_000
"""Inputs in one archive file at most; their list then has about 2 MB."""
LARGEST = 8 << 20
"""Compressed bytes of one input's records at most: a small file can unpack to any size."""
LIST = "inputs"
"""Field of a recipe that holds the digest of the list."""
NAME = re.compile(r"warc/[^/]+/shared-[0-9a-f]{16}\.warc\.gz")


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedInput:
    """One input in the list of a shared archive file."""

    name: str
    origin: str
    """`sha256:HEX`."""
    reader: str
    options: Mapping[str, JSON]
    counts: Mapping[str, int]
    """Number of its records by type, and of those that were passed over by reason (`passed_over.REASON`)."""

    @property
    def reading_options(self) -> dict[str, JSON]:
        """The reader and its options."""
        return {"reader": self.reader, "options": dict(self.options)}

    def line(self) -> str:
        """Return the line of the list for this input, without a line break."""
        body = {"name": self.name, "origin": self.origin, **self.reading_options, "counts": dict(self.counts)}
        return json.dumps(body, sort_keys=True)


class SharedArchive:
    """Collect small inputs in a temporary file until they are sealed as one archive file.

    Use it as a context manager: inputs that are not sealed when it ends are not stored. Raise `Unavailable` if the disk
    has no room for the temporary file.
    """

    __slots__ = ("_file", "_kept", "_records", "_size", "_source", "_stack", "listed")

    def __init__(self, source: str, size: VolumeSize = DEFAULT_SIZE) -> None:
        self._source, self._size = source, size
        self._stack = ExitStack()
        self._file = self._stack.enter_context(self._stack.enter_context(spool_file("shared")).open("w+b"))
        self._records = 0
        self._kept = KeptTables()
        """The columns of the inputs that have some, with offsets in the temporary file."""
        self.listed: list[SharedInput] = []
        """The inputs that are not sealed yet, in their order."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    @property
    def is_full(self) -> bool:
        """Whether the file must be sealed before another input is added."""
        return (
            len(self.listed) >= MAX_INPUTS
            or self._records >= self._size.records
            or self._file.tell() >= self._size.bytes
            or self._kept.is_full
        )

    def add(self, origin: Origin, items: Iterator[Item]) -> bool:
        """Add the records of an input and return True; return False and add nothing if its records are too large.

        Raise `InputError` and add nothing if the input is refused (`require_good`).
        """
        begin = self._file.tell()
        try:
            counts = self._append(origin, items, begin)
        except BaseException:
            self._truncate(begin)
            raise
        if counts is None:
            self._truncate(begin)
            return False
        self.listed.append(
            SharedInput(
                name=origin.name,
                origin=origin.identity,
                reader=origin.reader,
                options=origin.options,
                counts=counts,
            )
        )
        return True

    def seal(self, store: Store) -> Manifest:
        """Publish the collected inputs as an archive file with its index and its Manifest, and empty the list."""
        block = "".join(f"{listed.line()}\n" for listed in self.listed).encode()
        digest = hashlib.sha256(block).hexdigest()
        part = f"{self._source}/shared-{digest[:16]}"
        name = f"warc/{part}.warc.gz"
        recipe: dict[str, JSON] = {"ingested": f"{len(self.listed)} inputs", LIST: f"sha256:{digest}"}
        found: list[ArchiveContents] = []

        def write(path: Path) -> None:
            head = self._write(path, name, recipe, block)
            with path.open("rb") as file:
                contents = read_contents(file, name)
            found.append(contents._replace(columns=put_kept(store, part, self._kept.finish(head))))

        warc = put_output(store, name, 0, write)
        passed = Counter[str]()
        for listed in self.listed:
            passed.update(
                {kind: count for kind, count in listed.counts.items() if kind.startswith(PASSED_OVER)}
            )
        manifest = seal_contents(store, part, warc, found[0], recipe, passed)
        self.clear()
        return manifest

    def clear(self) -> None:
        """Drop the inputs that are not sealed yet."""
        self.listed, self._kept = [], KeptTables()
        self._records = 0
        self._truncate(0)

    def _append(self, origin: Origin, items: Iterator[Item], begin: int) -> Counter[str] | None:
        counts = Counter[str]()
        good, bad, first_bad, rows = 0, 0, "", KeptRows()
        for item in items:
            written = write_record(origin, item)
            if isinstance(written, UnusableRecord):
                counts[f"{PASSED_OVER}{written.reason}"] += 1
                bad, first_bad = bad + 1, first_bad or written.detail
                continue
            assert isinstance(item, InputRecord), "an archive keeps files of its own"
            rows.add(self._file.tell(), item.columns)
            self._file.write(written)
            good += 1
            if good > self._size.records or self._file.tell() - begin > LARGEST or rows.is_full:
                return None
            counts[warc_type(item)] += 1
        require_good(origin, good=good, passed=bad, first_bad=first_bad)
        self._records += good
        self._kept.add(rows.finish())
        return counts

    def _truncate(self, size: int) -> None:
        self._file.seek(size)
        self._file.truncate()

    def _write(self, path: Path, name: str, recipe: Mapping[str, JSON], block: bytes) -> int:
        """Write the file, and return the bytes before its first input."""
        file_name = name.rpartition("/")[2]
        with path.open("wb") as file:
            file.write(warcinfo_member(file_name, source=self._source, date_ms=0, recipe=recipe))
            file.write(gzip_member(input_list_record(file_name, block)))
            head = file.tell()
            self._file.seek(0)
            shutil.copyfileobj(self._file, file, 1 << 20)
        return head

    def __repr__(self) -> str:
        return f"<{len(self.listed)} small inputs of {self._source}>"


def is_shared(manifest: Manifest) -> bool:
    """Return whether the Manifest is that of a shared archive file."""
    return LIST in manifest.recipe


def inputs_of(store: Store, name: str) -> list[SharedInput]:
    """Return the inputs of a shared archive file, in their order. Raise `CorruptData` if its list cannot be read."""
    with store.open(name) as file:
        second = next(islice(read_records(file, name=name), 1, None), None)
    lines = second.payload.splitlines() if second is not None and second.type == "metadata" else [b"none"]
    try:
        return [SharedInput(**json.loads(line)) for line in lines]
    except (ValueError, TypeError) as error:
        raise CorruptData(
            f"{name} has no list of its inputs that can be read; `thresher verify` names what is damaged"
        ) from error


def seal_unsealed(store: Store, source: str) -> None:
    """Seal the shared files of `source` that a killed command has published but not sealed.

    Otherwise their inputs would be ingested a second time.
    """
    for name in list(store.list(f"warc/{source}/shared-")):
        if NAME.fullmatch(name) and not store.exists(
            manifest_name(STEP_NAME, stem(name).removeprefix("warc/"))
        ):
            with store.open(name) as file:
                recipe = read_recipe(file, source)
            if recipe is not None and LIST in recipe:
                reseal(store, name)
