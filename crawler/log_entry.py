"""The crawl log's line for the end of a lease (`storage.crawllog.log_line`), and the discovery that such a line
restores. Pure.

A line has all that the frontier knew of a URL: after the settlement, nothing else has it.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeAlias
from uuid import UUID

from thresher.core import Capture, CorruptData, InputError, RecordRef
from thresher.crawler.robots.robots_txt import DEADLY, UNREADABLE, RobotsRetry, RobotsRuling
from thresher.frontier import Discovery, FrontierSettlement, Kind, Lease, Outcome, Scope, Settlement
from thresher.frontier.request_state import decode_state, encode_state
from thresher.frontier.urls.canonical import url_from_canonical
from thresher.storage.crawllog.log_line import RETRY, LogLine
from thresher.storage.warc.records import ArchivedRecord

LeaseDecision: TypeAlias = Settlement | RobotsRuling | RobotsRetry
"""How a lease ended: the settlement of a page, or the result of fetching a robots.txt."""
_STORED_ELSEWHERE = frozenset({"url", "referrer", "scope", "state"})
"""Fields of a discovery that have a key of their own in the line, or that JSON cannot hold as they are."""
_IDENTITY, _STATE = "identity", "note"
"""Keys of a request: the canonical text of the URL if it differs from the requested form, and the request state."""
_FIELDS = tuple((each.name, each.default) for each in fields(Discovery) if each.name not in _STORED_ELSEWHERE)
"""All other fields, with their defaults; a line leaves out a field that has its default."""


def exchange_line(
    lease: Lease,
    decision: LeaseDecision,
    records: Sequence[tuple[Capture, UUID]],
    ref: RecordRef | None,
    now_ms: int,
    error: str = "",
) -> LogLine:
    """Return the line of a lease that ended now. `ref` is the place of the last of its records."""
    captures = [capture for capture, _ in records]
    return _line(
        lease,
        decision,
        time_ms=now_ms,
        status=captures[-1].status if captures else None,
        bytes=sum(len(capture.response) for capture in captures),
        ms=sum(capture.elapsed_ms for capture in captures) if captures else None,
        record="" if ref is None else records[-1][1].urn,
        file="" if ref is None else ref.file,
        offset=0 if ref is None else ref.offset,
        error=error,
    )


def record_line(lease: Lease, decision: LeaseDecision, record: ArchivedRecord, error: str = "") -> LogLine:
    """Return the line of a lease whose worker died before it settled the lease. `record` is its last record."""
    return _line(
        lease,
        decision,
        time_ms=record.date_ms,
        status=record.status,
        record=record.record_id,
        file=record.ref.file,
        offset=record.ref.offset,
        error=error,
    )


def conclusion_line(page: FrontierSettlement) -> LogLine:
    """Return the line of a page that the frontier settled by itself."""
    return LogLine(
        time_ms=page.at_ms,
        url=page.discovery.url.wire,
        kind="page",
        outcome=page.outcome,
        reason=page.reason,
        referrer=page.discovery.referrer,
        bytes=0,
        attempt=page.attempt,
        request=_request(page.discovery),
    )


def discovery_from_line(line: LogLine) -> Discovery:
    """Return the discovery that a line restores. Raise `CorruptData` if the line has none."""
    try:
        request = dict(line.request)
        url = url_from_canonical(request.pop(_IDENTITY, line.url), line.url)
        scope, state = Scope.parse(request.pop("scope")), request.pop(_STATE, "")
        return Discovery(
            url=url,
            scope=scope,
            referrer=line.referrer,
            state=decode_state(base64.b64decode(state, validate=True)),
            **request,
        )
    except (InputError, LookupError, ValueError, TypeError, AttributeError) as error:
        raise CorruptData(
            f"the crawl's log: the line of {line.url} has no request that can be repeated: {error}"
        ) from error


def lease_of_discovery(found: Discovery, attempt: int, token: int) -> Lease:
    """Return a lease of a page as its worker had it, after `attempt` attempts. `token` is 0 if it is not known."""
    return Lease.from_discovery(
        found,
        kind=Kind.PAGE,
        token=token,
        worker="",
        deadline_ms=0,
        attempt=attempt,
        robots_version=0,
    )


def _line(lease: Lease, decision: LeaseDecision, **exchange: Any) -> LogLine:
    outcome, reason = _outcome(lease, decision)
    return LogLine(
        url=lease.url.wire,
        kind=lease.kind,
        outcome=outcome,
        reason=reason,
        referrer=lease.referrer,
        attempt=lease.attempt,
        token=lease.token if outcome == Outcome.REDIRECTED else 0,
        request=_request(lease) if isinstance(decision, Settlement) else {},
        **exchange,
    )


def _outcome(lease: Lease, decision: LeaseDecision) -> tuple[str, str]:
    match decision:
        case Settlement(outcome=Outcome.RETRY, reason=reason):
            return Outcome.FAILED if lease.is_last_attempt else RETRY, reason
        case Settlement(outcome=outcome, reason=reason):
            return outcome, reason
        case RobotsRuling() if decision in {UNREADABLE, DEADLY}:
            return Outcome.FAILED, decision.body.decode()
        case RobotsRuling(fault=None, rule=rule):
            return Outcome.FETCHED, rule
        case RobotsRuling(fault=fault, reason=reason) | RobotsRetry(fault=fault, reason=reason):
            return RETRY, reason or str(fault or "")


def _request(found: Discovery | Lease) -> Mapping[str, Any]:
    """Return the fields from which `discovery_from_line` restores the discovery, or the discovery of the lease."""
    request = {name: value for name, default in _FIELDS if (value := getattr(found, name)) != default}
    request["scope"] = str(found.scope)
    if state := encode_state(found.state):
        request[_STATE] = base64.b64encode(state).decode()
    if found.url.wire != found.url.text:
        request[_IDENTITY] = found.url.text
    return request
