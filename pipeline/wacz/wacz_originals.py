"""The records of other crawls to which a crawl's revisits refer: a WACZ has them too, so that it is whole.

1. Only revisits that a crawl of the project wrote are followed. Otherwise an ingested archive could name a record of
   any crawl, and have it handed on.
2. The records that lie in one archive file go into a file of their own, behind the first record of that file, which
   says who wrote them.
3. Each record is checked against its line in the index. Memory holds the index of one archive file.
"""

from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

from thresher.core import CorruptData
from thresher.pipeline.wacz.wacz_index import is_shown, merged_lines, read_rows
from thresher.storage.archive.open_files import STEP_NAME, WARC, archive_outputs, is_crawled
from thresher.storage.manifest import load_manifest, manifest_name
from thresher.storage.store import Store
from thresher.storage.warc.cdxj import CdxjRow
from thresher.storage.warc.compression import gzip_member, stem
from thresher.storage.warc.members import members
from thresher.storage.warc.records import read_records
from thresher.storage.warc.revisit import REVISIT_MIME

MAX_RECORD_BYTES = 1 << 30
"""Maximum size of a record that is recompressed, because memory holds it."""
GZIP_SUFFIX = ".warc.gz"


def write_references(path: Path, rows: Iterable[CdxjRow]) -> bool:
    """Write the file and the id of each record of another crawl that the rows refer to, sorted, a line each. Return
    whether there is one; if not, nothing is written.
    """
    lines = {
        f"{row.original_file} {row.original_id}\n" for row in rows if row.original_file and is_shown(row)
    }
    if lines:
        path.write_text("".join(sorted(lines)), encoding="ascii")
    return bool(lines)


def references(paths: list[Path], directory: Path) -> Iterator[tuple[str, set[str]]]:
    """Yield each archive file that `write_references` named, in order, and the ids of its records."""
    with ExitStack() as life:
        lines = (line.split() for line in merged_lines(paths, directory, life))
        for file, same in groupby(lines, key=lambda fields: fields[0]):
            yield file, {record_id for _, record_id in same}


def originals_name(file: str) -> str:
    """Return the name in a WACZ of the file with the records that lie in an archive file."""
    return f"{stem(file).rpartition('/')[2]}.originals{GZIP_SUFFIX}"


def copy_originals(
    store: Store, file: str, ids: Collection[str], out: Path
) -> tuple[list[CdxjRow], dict[int, tuple[int, int]]]:
    """Copy the records of these ids into `out`, one gzip member each. Return the rows of those that are archived, and
    the new offset and length of each by its old offset.

    Raise `CorruptData` if a record is not what the index says.
    """
    try:
        manifest = load_manifest(store, manifest_name(STEP_NAME, stem(file).removeprefix(f"{WARC}/")))
    except CorruptData:
        return [], {}
    warc, index = archive_outputs(manifest.outputs)
    if not is_crawled(manifest) or not store.exists(file):
        return [], {}
    rows = [row for row in read_rows(store, index) if row.record_id in ids and row.mime != REVISIT_MIME]
    moved: dict[int, tuple[int, int]] = {}
    with store.open(warc.name) as source, out.open("wb") as made:
        made.write(_packed(source, warc.name, 0))
        for row in sorted(rows, key=lambda row: row.offset):
            member = _member(source, row)
            moved[row.offset] = (made.tell(), len(member))
            made.write(member)
    return rows, moved


def _member(source: BinaryIO, row: CdxjRow) -> bytes:
    """Return a record as a gzip member."""
    if row.filename.endswith(GZIP_SUFFIX):
        source.seek(row.offset)
        member = source.read(row.length)
    else:
        member = _packed(source, row.filename, row.offset)
    record = next(read_records(BytesIO(member), name=row.filename), None)
    if record is None or (record.record_id, record.ref.digest) != (row.record_id, row.digest):
        raise CorruptData(
            f"{row.filename} at {row.offset}: this is not the record that its index names; `thresher verify` names what"
            " is damaged"
        )
    return member


def _packed(source: BinaryIO, name: str, offset: int) -> bytes:
    first = next(members(source, offset, None, MAX_RECORD_BYTES, name=name))
    return gzip_member(first.data)
