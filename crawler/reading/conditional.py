"""What is asked of a server that has answered before, and what its answer is beside the one that we have. Pure.

1. A page that came once is asked for with what its server said of it then: `If-None-Match` with the ETag, and
   `If-Modified-Since` with Last-Modified (RFC 9110, sections 13.1.2 and 13.1.3), both as they were received. One that
   is no value of a header (a bare CR in it) is not kept, and not sent where it was kept.
2. A 304 is a revisit (`server-not-modified`) of the capture that the note names, whose record is durable: notes are
   written of sealed archives and of settled captures. A 304 that nobody asked for is no revisit, and says nothing.
3. An answer with the payload that the page had then is a revisit as well (`identical-payload-digest`): SHA-256
   decides. Archives of others do not say it; then the page is written again.
"""

from dataclasses import replace

from core import Capture
from crawler.reading.page_response import PageResponse
from frontier.request_state import RequestState
from storage.warc.cdxj import field_value
from storage.warc.exchange_records import payload_sha256
from storage.warc.revisit import Profile, Revisit

NOT_MODIFIED = 304


def conditional_headers(note: RequestState) -> list[tuple[str, str]]:
    """Headers that ask for a page only where it has changed; none where nothing is known of it."""
    if not note.date_ms:
        return []
    known = (
        ("If-None-Match", field_value(note.etag)),
        ("If-Modified-Since", field_value(note.last_modified)),
    )
    return [(name, value) for name, value in known if value]


def revisit_of(note: RequestState, capture: Capture) -> Revisit | None:
    """What the capture came to again, where it did."""
    if not note.date_ms:
        return None
    profile = unchanged_profile(
        note, capture.status, payload_sha256(capture), is_complete=capture.truncated is None
    )
    if profile is None:
        return None
    return Revisit(
        profile=profile,
        refers_to=note.record_id,
        uri=note.uri or capture.url.wire,
        date_ms=note.date_ms,
        digest=note.digest,
        sha256=note.sha256,
    )


def unchanged_profile(note: RequestState, status: int, sha256: str, *, is_complete: bool) -> Profile | None:
    """In which way an answer says that the page is as it was; None where it does not."""
    if not note.date_ms:
        return None
    if status == NOT_MODIFIED:
        return "server-not-modified" if conditional_headers(note) else None
    return (
        "identical-payload-digest" if status == 200 and is_complete and sha256 == note.sha256 != "" else None
    )


def next_visit_state(before: RequestState, answer: PageResponse) -> RequestState:
    """What the next visit is to know, of a page that has just been answered."""
    if unchanged_profile(before, answer.status, answer.sha256, is_complete=answer.truncated is None):
        kept = replace(before, etag=field_value(answer.header("etag")) or before.etag)
        return replace(
            kept, last_modified=field_value(answer.header("last-modified")) or before.last_modified
        )
    if answer.status != 200 or answer.truncated is not None:
        return replace(
            before, etag="", last_modified="", digest="", sha256="", record_id="", uri="", date_ms=0
        )
    return replace(
        before,
        etag=field_value(answer.header("etag")),
        last_modified=field_value(answer.header("last-modified")),
        digest=answer.digest,
        sha256=answer.sha256,
        record_id=answer.record_id,
        uri="",
        date_ms=answer.started_ms,
    )
