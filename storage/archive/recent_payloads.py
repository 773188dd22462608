"""What a new writer knows of the payloads that its crawl has archived before, and those of the project's other crawls,
read from the indexes.

1. The files that were sealed last are read first, at most `FILES` of them, until the memory is full: a start costs no
   more in a large archive than in a small one. What a dead worker left open is sealed before a new one starts
   (`storage.archive.recovery`).
2. Only an index that is whole is believed, because a revisit must never refer to a record that is not there.
3. Only files that a crawl has written count, because the payload digest of another program may cover something else.
4. Of other crawls only types that nobody reads as documents are known: the text of a page must lie in its own crawl.
   `FILES` files of theirs are read at most, those that are sealed: the newest file of each crawl, then the next ones.
   Of more crawls than that, those whose names come last are read, because names of weekly crawls have their dates.
"""

import re
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice, zip_longest
from uuid import UUID

from thresher.core import CorruptData
from thresher.storage.archive.open_files import (
    INDEX_SUFFIX,
    STEP_NAME,
    archive_outputs,
    is_crawled,
    writer_and_serial,
)
from thresher.storage.archive.written_payloads import WrittenPayload, WrittenPayloads
from thresher.storage.manifest import load_manifest, manifest_name
from thresher.storage.store import Store
from thresher.storage.warc import cdxj
from thresher.storage.warc.revisit import REVISIT_MIME

FILES = 64
"""Index files that are read at most; each costs one request in a bucket."""
DIGEST = "sha256:"
NO_DOCUMENTS = re.compile(
    r"(?:image|font|audio|video)/.*+|text/css|(?:text|application)/(?:x-)?(?:java|ecma)script"
)
"""Types of responses that nobody reads as documents."""
NO_DOCUMENT_LINE = re.compile(
    '"mime": "(?:(?:image|font|audio|video)/|text/css"|(?:text|application)/(?:x-)?(?:java|ecma)script")'
)
"""What a line of an index has for them."""


def load_recent_payloads(
    payloads: WrittenPayloads, store: Store, crawl: str, *, has_parts: bool = False
) -> None:
    """Load the responses of a crawl's newest sealed files into `payloads`, as many as fit. With `has_parts`, those that
    may be documents are left out: an index does not tell a frame from a page.
    """
    if not payloads.free:
        return
    for name in store.newest(f"warc/{crawl}", INDEX_SUFFIX, FILES):
        own = name.rpartition("/")[2].removesuffix(INDEX_SUFFIX)
        if writer_and_serial(crawl, own)[0]:
            with suppress(CorruptData):
                payloads.load(deque(_responses(store, name, has_parts=has_parts), payloads.free))
        if not payloads.free:
            return


def load_other_crawls(payloads: WrittenPayloads, store: Store, crawl: str) -> None:
    """Load what other crawls of the project have sealed and nobody reads as documents, as far as it fits."""
    seals = store.list(f"manifests/{STEP_NAME}/")
    sources = sorted({name.split("/")[2] for name in seals} - {crawl}, reverse=True)[:FILES]
    newest = (store.newest(f"warc/{source}", INDEX_SUFFIX, FILES // len(sources)) for source in sources)
    in_turn = (name for name in chain.from_iterable(zip_longest(*newest)) if name)
    for index in islice(in_turn, FILES):
        if not payloads.free:
            return
        with suppress(CorruptData):
            part = index.removeprefix("warc/").removesuffix(INDEX_SUFFIX)
            manifest = load_manifest(store, manifest_name(STEP_NAME, part))
            if is_crawled(manifest):
                file = archive_outputs(manifest.outputs)[0].name
                payloads.load(deque(_responses(store, index, has_parts=True, file=file), payloads.free))


def _responses(store: Store, name: str, *, has_parts: bool, file: str = "") -> Iterator[WrittenPayload]:
    pattern = NO_DOCUMENT_LINE if has_parts else cdxj.ANY
    with store.open(name) as lines:
        for row in cdxj.read(lines, name=name, pattern=pattern):
            if row.mime == REVISIT_MIME or not row.status or not row.sha256.startswith(DIGEST):
                continue
            if has_parts and may_be_document(row.mime):
                continue
            try:
                known = WrittenPayload(
                    row.sha256, row.content_encoding, UUID(row.record_id), row.url, row.date_ms, file
                )
            except ValueError:  # the id is no UUID
                continue
            yield known


def may_be_document(mime: str) -> bool:
    """Return whether a response of this type may be read as a document. A page must be no revisit of a part, because
    parts are not read: such a part is no original.
    """
    return NO_DOCUMENTS.fullmatch(mime) is None
