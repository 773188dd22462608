"""Audit: read one sealed archive file and its index from end to end, and compare them with each other and their seal.

1. The number of records of each type must be the sealed one.
2. Each record of a file that was written here keeps the rules of `storage.warc.validator`, digests included. Files of
   other writers may break the rules: they did so when they were ingested, and it is no damage while the bytes are the
   same.
3. The index has exactly one line for each record that can be looked up. The line leads to the record, and has its
   length and digest.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from fastwarc.warc import ArchiveIterator

from thresher.core import CorruptData, InputError
from thresher.pipeline.integrity.revisit_references import RevisitReferences
from thresher.storage.archive.open_files import archive_outputs, is_crawled
from thresher.storage.inputs.origin import PASSED_OVER
from thresher.storage.manifest import Manifest, Output
from thresher.storage.store import Store
from thresher.storage.warc import cdxj
from thresher.storage.warc.exchange_records import sha1
from thresher.storage.warc.members import Member
from thresher.storage.warc.payload import decode_chunked
from thresher.storage.warc.records import DAMAGED, PAYLOAD_LIMIT, ArchivedRecord, read_records
from thresher.storage.warc.validator import HTTP_HEAD, check_record

MAX_FAULTS_NAMED = 20
"""Faults of one file that are named one by one. Further faults are only counted."""
IndexKey = tuple[int, int, str, str, str]
"""Values in which index and record must agree: length, offset, digest, SURT and time."""


def audit_archive(store: Store, manifest: Manifest, references: RevisitReferences) -> Iterator[str]:
    """Yield the faults of an archive part, one line each. Add its records and revisits to `references`."""
    warc, index = archive_outputs(manifest.outputs)
    faults = list(_records(store, warc, index, manifest, references))
    yield from faults[:MAX_FAULTS_NAMED]
    if len(faults) > MAX_FAULTS_NAMED:
        yield f"{warc.name}: {len(faults) - MAX_FAULTS_NAMED} more faults"


def _records(
    store: Store, warc: Output, index: Output, manifest: Manifest, references: RevisitReferences
) -> Iterator[str]:
    is_own = is_crawled(manifest)
    counts: Counter[str] = Counter()
    damaged: list[str] = []
    broken: list[str] = []
    rows: dict[int, IndexKey] = {}

    def check_member(member: Member) -> None:
        if is_own and not member.problem and (fault := _fault(store, warc.name, member)):
            broken.append(f"{warc.name} at {member.offset}: the record {fault}")

    try:
        with store.open(warc.name) as file:
            for record in read_records(file, name=warc.name, on_member=check_member):
                counts[record.type] += 1
                if record.type == DAMAGED:
                    damaged.append(f"{warc.name} at {record.offset}: {record.problem}")
                    continue
                _add_references(references, record, is_own=is_own)
                row = cdxj.row_of(record, record.ref)
                if row is not None:
                    rows[row.offset] = _key(row)
    except InputError as error:
        yield str(error)
        return
    if counts[DAMAGED] > manifest.counts.get(DAMAGED, 0):
        yield from damaged  # differences of counts and index follow from the damage
        return
    yield from broken
    sealed = Counter(
        {kind: count for kind, count in manifest.counts.items() if not kind.startswith(PASSED_OVER)}
    )
    if counts != sealed:
        yield f"{warc.name} holds {_format_counts(counts)}; {_format_counts(sealed)} were sealed"
    if store.exists(index.name):
        yield from _index(store, warc, index, rows)


def _fault(store: Store, name: str, member: Member) -> str | None:
    if not member.is_whole:
        return None if _verify_long_record(store, name, member) else "breaks the rule 'block digest'"
    try:
        head = check_record(member.data)
    except CorruptData as error:
        return str(error)
    if head[b"warc-type"] == b"response" and b"warc-truncated" not in head:
        entity = _chunked(member.data)
        if entity is not None and sha1(entity).encode() != head.get(b"warc-payload-digest"):
            return "breaks the rule 'payload digest'"
    return None


def _verify_long_record(store: Store, name: str, member: Member) -> bool:
    """Return whether the block digest is right for a record that is too long for memory."""
    with store.open(name) as file:
        file.seek(member.offset)
        record = next(iter(ArchiveIterator(file, parse_http=False)), None)
        return record is not None and bool(record.verify_block_digest(consume=True))


def _chunked(data: bytes) -> bytes | None:
    """Return the entity of a response that was sent in chunks only, or None for any other record."""
    block = data.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n\r\n")
    head = HTTP_HEAD.match(block)
    if head is None:
        return None
    names = [line.partition(b":") for line in head[0].lower().split(b"\r\n")]
    framing = [value.strip() for name, _, value in names if name in {b"transfer-encoding", b"content-length"}]
    if framing != [b"chunked"]:
        return None
    entity, problem = decode_chunked(block[head.end() :], PAYLOAD_LIMIT)
    return None if problem else entity


def _add_references(references: RevisitReferences, record: ArchivedRecord, *, is_own: bool) -> None:
    references.add_record(record.record_id)
    # Archives of other writers may refer to records that were not ingested.
    if is_own and record.revisit and record.revisit.refers_to:
        references.add_revisit(record.revisit.refers_to, record.ref.file, record.offset)


def _index(store: Store, warc: Output, index: Output, rows: Mapping[int, IndexKey]) -> Iterator[str]:
    lines = 0
    unseen = dict(rows)
    try:
        with store.open(index.name) as file:
            for row in cdxj.read(file, name=index.name):
                lines += 1
                if row.filename != warc.name or rows.get(row.offset) != _key(row):
                    yield (
                        f"{index.name}: its line for {row.url} leads to {row.filename} at {row.offset}, "
                        "where that record is not"
                    )
                unseen.pop(row.offset, None)
    except CorruptData as error:
        yield str(error)
        return
    if lines != index.rows:
        yield f"{index.name} has {lines} lines; {index.rows} were sealed"
    for offset in unseen:
        yield f"{index.name} has no line for the record of {warc.name} at {offset}"


def _key(row: cdxj.CdxjRow) -> IndexKey:
    return row.length, row.offset, row.digest, row.surt, row.timestamp


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) or "nothing"
