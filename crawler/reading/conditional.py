"""Conditional requests: what a request says about the last capture, and what the response says about it. Pure.

1. A page that was captured before is requested with the validators of that capture: `If-None-Match` with the ETag, and
   `If-Modified-Since` with Last-Modified (RFC 9110, sections 13.1.2 and 13.1.3), both as they were received. A value
   that no header can have (a bare CR in it) is neither kept nor sent.
2. A 304 is a revisit (`server-not-modified`) of the capture that the request state names. The record of this capture is
   durable, because states are written of sealed archives and of settled captures. A 304 to an unconditional request is
   no revisit.
3. A response with the same payload as the last capture is a revisit too (`identical-payload-digest`); SHA-256 decides.
   Other people's archives do not have this digest; then the page is archived again.
"""

from dataclasses import replace

from thresher.core import Url
from thresher.crawler.reading.page_response import PageResponse
from thresher.frontier.request_state import RequestState
from thresher.storage.warc.cdxj import field_value
from thresher.storage.warc.revisit import Profile, Revisit

NOT_MODIFIED = 304


def conditional_headers(state: RequestState) -> list[tuple[str, str]]:
    """Return the headers that request a page only if it has changed; none if it was never captured."""
    if not state.has_capture:
        return []
    validators = (
        ("If-None-Match", field_value(state.etag)),
        ("If-Modified-Since", field_value(state.last_modified)),
    )
    return [(name, value) for name, value in validators if value]


def revisit_of(state: RequestState, response: PageResponse, url: Url) -> Revisit | None:
    """Return the earlier capture that a response of `url` repeats; None if the page has changed."""
    profile = unchanged_profile(state, response)
    if profile is None:
        return None
    return Revisit(
        profile=profile,
        refers_to=state.record_id,
        uri=state.uri or url.wire,
        date_ms=state.date_ms,
        digest=state.digest,
        sha256=state.sha256,
    )


def unchanged_profile(state: RequestState, response: PageResponse) -> Profile | None:
    """Return how a response says that the page is unchanged; None if it does not say so."""
    if not state.has_capture:
        return None
    if response.status == NOT_MODIFIED:
        return "server-not-modified" if conditional_headers(state) else None
    is_whole = response.status == 200 and response.truncated is None
    return "identical-payload-digest" if is_whole and response.sha256 == state.sha256 != "" else None


def next_visit_state(before: RequestState, answer: PageResponse) -> RequestState:
    """Return the request state of the next visit to a page that has just been answered."""
    if unchanged_profile(before, answer):
        etag, last_modified = field_value(answer.header("etag")), field_value(answer.header("last-modified"))
        return replace(before, etag=etag or before.etag, last_modified=last_modified or before.last_modified)
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
