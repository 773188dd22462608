"""`Visit`: one lease with a user's spider, from request to settlement. Pure.

| what happened                                                     | how the lease ends                        |
|-------------------------------------------------------------------|-------------------------------------------|
| a response came                                                   | like any page, with the spider's links    |
| the same, and its reading raised                                  | FAILED `reading`, whatever the spider did |
| the same, and a callback or errback raised                        | the same, reason `callback_error`         |
| the same, and a middleware raised `IgnoreRequest` at the response | the same, reason `ignored`                |
| robots rules forbid it, or the frontier gave it up                | as they say                               |
| a middleware responded itself: nothing was requested              | FETCHED `middleware`, nothing is archived |
| a middleware raised `IgnoreRequest`: nothing was requested        | REFUSED `ignored`                         |
| a middleware raised anything else: nothing was requested          | FAILED `middleware_error`                 |
| a middleware gave another request                                 | the request is a discovery                |
| the same, and nothing was requested                               | REDIRECTED `middleware`                   |
| a middleware gave a request for the same URL                      | RETRY `middleware`                        |

1. The target of a redirect inherits the encoded request. Only a spider that asks for a redirect response receives it,
   and then the redirect is not followed.
2. Requests are rejected like links: out of scope, too deep, a trap, no URL that we fetch, or found on a page that says
   nofollow. Their errbacks are called.
"""

from collections.abc import Container
from dataclasses import dataclass, field, replace
from typing import Any

from scrapy import Request, Spider
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from thresher.core import Capture, Failure, InputError, Url
from thresher.crawler.lease_handler import FetchResult
from thresher.crawler.lease_result import LeaseResult, settlement_for
from thresher.crawler.reading.outcome import READING_FAILED, REDIRECT_STATUSES, Judgement
from thresher.crawler.reading.page_options import PageOptions
from thresher.crawler.reading.redirect_chain import MAX_REDIRECTS
from thresher.crawler.spiders.spider_request import decode_request, encode_redirected, encode_request
from thresher.crawler.wire import Postponement
from thresher.frontier import Discovery, InvalidUrl, Lease, Outcome, Settlement, canonicalize
from thresher.frontier.request_state import RequestState
from thresher.frontier.urls.trap import trap_reason

SLOT = "frontier"
"""One download slot for all hosts: the frontier keeps the delays of each."""
MIDDLEWARE = "middleware"
IGNORED = "ignored"


@dataclass(slots=True, kw_only=True)
class Visit:
    """What is known of one lease while its spider works on it."""

    lease: Lease
    refusal: Judgement | None = None
    """Why the page is not requested; None if it is."""
    is_requested: bool = False
    """Whether the request has reached our download handler."""
    fetch_result: FetchResult | None = None
    """What our download handler fetched."""
    exception: Exception | None = None
    """What our download handler raised, if there is no response."""
    result: LeaseResult | None = None
    """How the lease ends without the spider's part in it; None if nothing was fetched."""
    reserved_bytes: int = 0
    """Decoded bytes that its responses hold (`crawler.decode_budget`)."""
    is_enqueued: bool = False
    """Whether the engine took the request."""
    has_callback_error: bool = False
    """Whether a callback or an errback raised."""
    is_aborted: bool = False
    """Whether a fault of ours or of the program ended the visit: then the lease is not settled."""
    active_method: str = "a middleware"
    """Which method of the spider is at work on it."""
    discoveries: dict[str, Discovery] = field(default_factory=dict)
    """The discoveries, by canonical URL."""
    rejections: list[tuple[Request, str]] = field(default_factory=list)
    """Rejected requests that have an errback, and the reason of each."""

    @property
    def is_open(self) -> bool:
        """Whether its lease is not settled: it goes back, or a fault ends the crawl."""
        return self.is_aborted or (
            self.fetch_result is not None and isinstance(self.fetch_result.result, Postponement)
        )


def scrapy_request(lease: Lease, spider: Spider) -> Request:
    """Return the request that a spider once yielded. Raise `InputError` if the spider does not have its callback."""
    spider_request = decode_request(lease.state.spider_request)
    return Request(
        lease.url.wire,
        callback=_method(lease, spider, spider_request.callback),
        errback=_method(lease, spider, spider_request.errback),
        headers=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in spider_request.headers],
        cb_kwargs=dict(spider_request.cb_kwargs),
        meta={**spider_request.meta, "depth": lease.depth, "download_slot": SLOT, "verbatim_url": True},
        priority=lease.priority,
        dont_filter=True,  # requests are filtered before they are leased
    )


def rejection_reason(lease: Lease, request: Request, options: PageOptions) -> str:
    """Return why a request found under a lease does not go to the frontier; empty if it does."""
    if lease.max_depth is not None and lease.depth >= lease.max_depth:
        return "too_deep"
    return _url_rejection(lease, request, options)


def discovery_of(lease: Lease, request: Request, spider: Spider, *, hops: int = 0) -> Discovery:
    """Return the discovery of a request found under a lease. Raise `InputError` if the request cannot be carried.

    With `hops` the request replaces the lease's own URL.
    """
    return Discovery(
        url=canonicalize(request.url),
        scope=lease.scope,
        depth=lease.depth if hops else lease.depth + 1,
        max_depth=lease.max_depth,
        hops=hops,
        referrer=lease.url.wire,
        priority=request.priority,
        interval_s=lease.interval_s,
        state=RequestState(spider_request=encode_request(request, spider)),
        notify=request.errback is not None,
    )


def visit_result(
    visit: Visit,
    result: Response | Request | BaseException | None,
    request: Request,
    spider: Spider,
    *,
    known_urls: Container[str],
    options: PageOptions,
) -> LeaseResult | None:
    """Return how the lease ends; None if it is not settled. Raise `InputError` as `discovery_of` does.

    `result` is what came back through the middlewares: a response, another request, or an exception.
    """
    lease = visit.lease
    if visit.is_open:
        return None
    again = isinstance(result, Request) and _take_replacement(visit, result, spider, options)
    unknown = tuple(found for url, found in visit.discoveries.items() if url not in known_urls)
    if visit.result is None:
        judgement = visit.refusal or _judge_unrequested(visit, result, is_retry=again)
        return LeaseResult(
            lease=lease, decision=replace(settlement_for(lease, judgement, unknown), has_sent_request=False)
        )
    page = visit.result.decision
    assert isinstance(page, Settlement)
    followed: tuple[Discovery, ...] = ()
    if not wants_redirect(visit, request, spider):
        followed = tuple(_redirect_discovery(found, visit) for found in page.discoveries)
    settlement = replace(
        page,
        lease=lease,
        discoveries=(*followed, *unknown),
        next_state=replace(page.next_state, spider_request=lease.state.spider_request),
    )
    return replace(
        visit.result, lease=lease, decision=_with_spider_reason(settlement, visit, result, is_retry=again)
    )


def failed_result(visit: Visit, failure: Failure) -> LeaseResult:
    """Return how the lease ends if reading the response has raised: what is archived of it is kept."""
    before = visit.result or LeaseResult(
        lease=visit.lease, decision=settlement_for(visit.lease, READING_FAILED)
    )
    return replace(
        before,
        lease=visit.lease,
        dropped=None,
        decision=settlement_for(visit.lease, READING_FAILED),
        error=failure.traceback,
    )


def forbids_links(visit: Visit, options: PageOptions) -> bool:
    """Return whether the page asks crawlers not to follow its links, and the options obey that. A page that cannot be
    read asks for nothing.
    """
    return visit.result is not None and "nofollow" in options.obey and "nofollow" in visit.result.robots


def _judge_unrequested(visit: Visit, result: object, *, is_retry: bool) -> Judgement:
    if isinstance(result, Response):
        reason = "callback_error" if visit.has_callback_error else MIDDLEWARE
        return Judgement(outcome=Outcome.FETCHED, reason=reason)
    if isinstance(result, Request):
        return Judgement(outcome=Outcome.RETRY if is_retry else Outcome.REDIRECTED, reason=MIDDLEWARE)
    if isinstance(result, IgnoreRequest):
        return Judgement(outcome=Outcome.REFUSED, reason=IGNORED)
    return Judgement(outcome=Outcome.FAILED, reason="middleware_error")


def _with_spider_reason(page: Settlement, visit: Visit, result: object, *, is_retry: bool) -> Settlement:
    """Return the settlement of a page that was requested, with the spider's part in it."""
    fetched = visit.fetch_result
    if page.outcome is Outcome.RETRY or page.reason == READING_FAILED.reason:
        return page
    if is_retry:
        return replace(page, outcome=Outcome.RETRY, reason=MIDDLEWARE, sketch=None)
    if fetched is None or not isinstance(fetched.result, Capture):
        return page
    if visit.has_callback_error:
        return replace(page, reason="callback_error")
    if isinstance(result, BaseException) and result is not visit.exception:
        return replace(page, reason=IGNORED if isinstance(result, IgnoreRequest) else "middleware_error")
    return page


def _take_replacement(visit: Visit, other: Request, spider: Spider, options: PageOptions) -> bool:
    """Add a request that a middleware gave in place of the visit's own; return whether it is for the same URL."""
    lease = visit.lease
    if is_same_url(lease, other):
        return True
    if not redirect_rejection(lease, other, options):
        found = discovery_of(lease, other, spider, hops=lease.hops + 1)
        visit.discoveries[found.url.text] = found
    return False


def is_same_url(lease: Lease, other: Request) -> bool:
    """Return whether a request is for the URL of a lease."""
    try:
        return canonicalize(other.url).text == lease.url.text
    except InvalidUrl:
        return False


def _url_rejection(lease: Lease, request: Request, options: PageOptions) -> str:
    """Return why a URL does not go to the frontier, however it was found; empty if it does."""
    try:
        url = canonicalize(request.url)
    except InvalidUrl:
        return "no_url"
    if _is_trap(url, options):
        return "trap"
    return "" if lease.scope.admits(url) else "out_of_scope"


def redirect_rejection(lease: Lease, request: Request, options: PageOptions) -> str:
    """Return why the target of a redirect does not go to the frontier; empty if it does."""
    return _url_rejection(lease, request, options) or ("too_many_hops" if lease.hops >= MAX_REDIRECTS else "")


def _redirect_discovery(found: Discovery, visit: Visit) -> Discovery:
    """Return the discovery of a redirect's target, with the lease's encoded request."""
    lease, fetched = visit.lease, visit.fetch_result
    assert fetched is not None
    assert isinstance(fetched.result, Capture)
    carried = encode_redirected(lease.state.spider_request, lease.url.wire, fetched.result.status)
    return replace(
        found,
        max_depth=lease.max_depth,
        listed=lease.listed,
        state=replace(found.state, spider_request=carried),
        notify=lease.notify,
    )


def _is_trap(url: Url, options: PageOptions) -> bool:
    return trap_reason(url) is not None and options.traps.is_on(url.host)


def wants_redirect(visit: Visit, request: Request, spider: Spider) -> bool:
    """Return whether the response is a redirect that the spider handles itself, by Scrapy's settings."""
    found = None if visit.fetch_result is None else visit.fetch_result.result
    if not isinstance(found, Capture) or found.status not in REDIRECT_STATUSES:
        return False
    meta = request.meta
    return bool(
        meta.get("dont_redirect")
        or meta.get("handle_httpstatus_all")
        or found.status in meta.get("handle_httpstatus_list", ())
        or found.status in getattr(spider, "handle_httpstatus_list", ())
    )


def _method(lease: Lease, spider: Spider, name: str) -> Any:
    if not name:
        return None
    method = getattr(spider, name, None)
    if not callable(method):
        raise InputError(
            f"spider {spider.name}: {lease.url} waits for the callback {name!r}, which {type(spider).__name__} "
            "has not; give it one of that name"
        )
    return method
