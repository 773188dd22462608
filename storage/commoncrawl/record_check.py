"""Check that bytes from Common Crawl are the record that an index row describes. Pure."""

import io

from thresher.core import InputError
from thresher.storage.commoncrawl.index.row import CrawlIndexRow
from thresher.storage.warc.exchange_records import sha1, target_uri
from thresher.storage.warc.members import GZIP, HEAD_END, Member
from thresher.storage.warc.payload import decode_transfer
from thresher.storage.warc.records import DAMAGED, PAYLOAD_LIMIT, ArchivedRecord, read_records
from thresher.storage.warc.revisit import REVISIT

SHORT = "short"
"""Reason code: there are fewer bytes than the index states."""
BROKEN = "broken"
"""Reason code: the bytes are not one whole record."""
ANOTHER = "another_record"
"""Reason code: the record has another type or another URL."""
WRONG_DIGEST = "wrong_digest"
"""Reason code: the payload is not the one that was indexed."""
ACCEPTED_TYPES = frozenset({"response", REVISIT})


def read_member(data: bytes, row: CrawlIndexRow) -> ArchivedRecord | str:
    """Return the record in `data`; return a reason code if it is not the record of `row`."""
    if len(data) != row.length:
        return SHORT
    shown: list[Member] = []
    try:
        found = list(read_records(io.BytesIO(data), name=row.filename, on_member=shown.append))
    except InputError:
        return BROKEN
    is_one = data.startswith(GZIP) and len(found) == 1 and found[0].length == len(data)
    if not is_one or shown[0].problem or not shown[0].is_whole or found[0].type == DAMAGED:
        return BROKEN
    (record,) = found
    if record.type not in ACCEPTED_TYPES or not _is_same(record.url, row.url):
        return ANOTHER
    has_payload = record.type != REVISIT and row.digest
    return WRONG_DIGEST if has_payload and row.digest not in _digests(shown[0].data) else record


def _is_same(one: str, other: str) -> bool:
    return one == other or target_uri(one) == target_uri(other)


def _digests(data: bytes) -> set[str]:
    """Return the SHA-1 of the stored entity and, if it has a transfer coding, of the decoded entity.

    Writers of WARC files differ in which of the two is the payload.
    """
    head = HEAD_END.search(data)
    assert head is not None  # `read_records` has parsed the record before
    length = next(
        int(value)
        for name, _, value in (line.partition(b":") for line in data[: head.start()].split(b"\n"))
        if name.strip().lower() == b"content-length"
    )
    block = data[head.end() :][:length]
    end = HEAD_END.search(block)
    entity = block[end.end() :] if end else block
    fields = block[: end.start()].decode("latin-1").lower().split("\n") if end else []
    coding = ",".join(line.partition(":")[2] for line in fields if line.startswith("transfer-encoding:"))
    found = {sha1(entity)}
    if coding:
        found.add(sha1(decode_transfer(entity, coding, PAYLOAD_LIMIT)[0]))
    return {digest.removeprefix("sha1:") for digest in found}
