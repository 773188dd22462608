"""`Visit`: one lease in the hands of a guest's spider, from request to settlement. Pure.

| what happened                                                      | the lease ends                                     |
|--------------------------------------------------------------------|----------------------------------------------------|
| an answer came                                                     | as any page's, with the spider's requests for links |
| the same, and a callback or errback raised                         | as before, reason `callback_error`                 |
| the same, and a middleware raised `IgnoreRequest` at the response  | as before, reason `ignored`                        |
| a middleware answered itself: nothing was asked                    | FETCHED `middleware`, nothing is archived          |
| a middleware raised `IgnoreRequest`: nothing was asked             | REFUSED `ignored`                                  |
| a middleware raised anything else: nothing was asked               | FAILED `middleware_error`                          |
| a middleware gave another request                                  | that is a discovery; REDIRECTED `middleware` if nothing was asked |
| a middleware gave a request for the same URL                       | RETRY `middleware`                                 |

1. What the frontier tries again (RETRY, but for the last time), redirects, and pages that are as they were (304) are not
   shown to the spider; a redirect's target inherits its errand. Only a spider that asks for a redirect gets it, and then
   it is not followed.
2. Requests are left out like links: out of scope, too deep, a trap, no URL that we fetch, or found on a page that says
   nofollow.
"""

from collections.abc import Container
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from scrapy import Request, Spider
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from core import Capture, InputError, Url
from crawler import note
from crawler.answer import answer
from crawler.guest.errand import errand, read
from crawler.options import PageOptions
from crawler.outcome import REDIRECTS, Judgement, of_failure, of_response
from crawler.page import HOPS, forbids_following, settled
from crawler.rendered import Rendered
from crawler.screen import Screen
from crawler.screen import finished as answered
from crawler.settle import Finished
from crawler.wire import Failure, Wait
from frontier import Discovery, Lease, NotAUrl, Outcome, Settlement, canonical
from frontier.trap import pitfall

SLOT = "frontier"
"""One download slot for all hosts: the frontier keeps them apart."""
LAST_ATTEMPT = 2
"""The frontier counts from 0, and gives up at the third."""
MIDDLEWARE = "middleware"
IGNORED = "ignored"


@dataclass(slots=True, kw_only=True)
class Visit:
    """What is known of one lease while its spider is at it."""

    lease: Lease
    asked: bool = False
    """Whether it has come to our handler."""
    found: Capture | Failure | Wait | None = None
    """What our handler came back with."""
    rendered: Rendered | None = None
    """What a browser made of the page, where one did."""
    begun: bool = False
    """Whether the engine took the request."""
    failed: bool = False
    """Whether a callback or an errback raised."""
    broken: bool = False
    """Whether a fault of ours or of the program is the end of it: the lease is not settled."""
    discoveries: dict[str, Discovery] = field(default_factory=dict)
    """By canonical URL."""


def request_of(lease: Lease, spider: Spider) -> Request:
    """Return the request that a spider once yielded; `InputError` where the spider has no such callback."""
    said = read(note.decode(lease.note).errand)
    return Request(
        lease.url.wire,
        callback=_method(lease, spider, said.callback),
        errback=_method(lease, spider, said.errback),
        headers=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in said.headers],
        cb_kwargs=dict(said.cb_kwargs),
        meta={**said.meta, "depth": lease.depth, "download_slot": SLOT, "verbatim_url": True},
        priority=lease.priority,
        dont_filter=True,  # whatever might be filtered was, before it was leased
    )


def left_out(lease: Lease, request: Request, options: PageOptions) -> str:
    """Why a request found under a lease is none for the frontier; empty where it is one."""
    if lease.max_depth is not None and lease.depth >= lease.max_depth:
        return "too_deep"
    try:
        url = canonical(request.url)
    except NotAUrl:
        return "no_url"
    if _is_trap(url, options):
        return "trap"
    return "" if lease.scope.admits(url) else "out_of_scope"


def discovery(lease: Lease, request: Request, spider: Spider, *, hops: int = 0) -> Discovery:
    """Return what a request found under a lease is to the frontier; `InputError` where it cannot be carried.

    With `hops` it stands in the place of the lease's own URL.
    """
    return Discovery(
        url=canonical(request.url),
        scope=lease.scope,
        depth=lease.depth if hops else lease.depth + 1,
        max_depth=lease.max_depth,
        hops=hops,
        priority=request.priority,
        interval_s=lease.interval_s,
        note=note.encode(note.Note(errand=errand(request, spider))),
    )


def is_for_spider(visit: Visit, result: object, request: Request, spider: Spider) -> bool:
    """Whether the spider is to see what came of a visit."""
    if isinstance(result, Request) or isinstance(visit.found, Wait) or visit.broken:
        return False
    judgement = _judgement(visit)
    if judgement is None:
        return True
    if judgement.outcome is Outcome.RETRY:
        return visit.lease.attempt >= LAST_ATTEMPT
    if judgement.outcome is Outcome.UNCHANGED:
        return False
    return judgement.outcome is not Outcome.REDIRECTED or _wants_redirect(visit.found, request, spider)


def ended(
    visit: Visit,
    result: Response | Request | BaseException | None,
    request: Request,
    spider: Spider,
    *,
    record_id: UUID,
    screen: Screen | None,
    known: Container[str],
    options: PageOptions,
) -> Finished | None:
    """Return how the lease ends; None for one that is given back. Raises `InputError` as `discovery` does.

    `result` is what came back through the middlewares: an answer, another request, or what was raised.
    """
    lease = visit.lease
    if isinstance(visit.found, Wait) or visit.broken:
        return None
    again = isinstance(result, Request) and _in_place(visit, result, spider, options)
    told = tuple(found for url, found in visit.discoveries.items() if url not in known)
    match visit.found:
        case None:
            ends = settled(lease, _unasked(visit, result, again=again), told)
            return Finished(lease=lease, answer=replace(ends, asked=False))
        case Failure(reason=reason):
            return Finished(lease=lease, answer=settled(lease, of_failure(reason), told))
        case Capture() as capture:
            # Its links are the spider's to choose: none is looked for, nor what a list would lead to.
            blind = replace(lease, max_depth=lease.depth, listed=False)
            made = answered(
                blind, capture, record_id, screen=screen, known=(), options=options, rendered=visit.rendered
            )
    assert isinstance(made.answer, Settlement)
    if told and "nofollow" in options.obey and forbids_following(answer(capture, record_id), lease.url.wire):
        told = ()
    followed: tuple[Discovery, ...] = ()
    if not _wants_redirect(capture, request, spider):
        followed = tuple(_inherited(found, lease) for found in made.answer.discoveries)
    settlement = replace(
        made.answer,
        lease=lease,
        discoveries=(*followed, *told),
        note=note.encode(replace(note.decode(made.answer.note), errand=note.decode(lease.note).errand)),
    )
    return replace(made, lease=lease, answer=_reasoned(settlement, visit, result, again=again))


def _unasked(visit: Visit, result: object, *, again: bool) -> Judgement:
    if isinstance(result, Response):
        reason = "callback_error" if visit.failed else MIDDLEWARE
        return Judgement(outcome=Outcome.FETCHED, reason=reason)
    if isinstance(result, Request):
        return Judgement(outcome=Outcome.RETRY if again else Outcome.REDIRECTED, reason=MIDDLEWARE)
    if isinstance(result, IgnoreRequest):
        return Judgement(outcome=Outcome.REFUSED, reason=IGNORED)
    return Judgement(outcome=Outcome.FAILED, reason="middleware_error")


def _reasoned(page: Settlement, visit: Visit, result: object, *, again: bool) -> Settlement:
    """The settlement of a page that was asked for, with what the spider's side adds to it."""
    if page.outcome is Outcome.RETRY:
        return page
    if again:
        return replace(page, outcome=Outcome.RETRY, reason=MIDDLEWARE, sketch=None)
    if visit.failed:
        return replace(page, reason="callback_error")
    if isinstance(result, BaseException):
        return replace(page, reason=IGNORED if isinstance(result, IgnoreRequest) else "middleware_error")
    return page


def _in_place(visit: Visit, other: Request, spider: Spider, options: PageOptions) -> bool:
    """Take up a request that a middleware gave for the visit's own; whether it is for the same URL."""
    lease = visit.lease
    try:
        url = canonical(other.url)
    except NotAUrl:
        return False
    if url.text == lease.url.text:
        return True
    if lease.hops < HOPS and lease.scope.admits(url) and not _is_trap(url, options):
        visit.discoveries[url.text] = discovery(lease, other, spider, hops=lease.hops + 1)
    return False


def _inherited(found: Discovery, lease: Lease) -> Discovery:
    """The target of a redirect, for which the same is to be done."""
    said = replace(note.decode(found.note), errand=note.decode(lease.note).errand)
    return replace(found, max_depth=lease.max_depth, listed=lease.listed, note=note.encode(said))


def _is_trap(url: Url, options: PageOptions) -> bool:
    return pitfall(url) is not None and options.traps.of(url.host)


def _judgement(visit: Visit) -> Judgement | None:
    match visit.found:
        case Failure(reason=reason):
            return of_failure(reason)
        case Capture(status=status, truncated=truncated):
            return of_response(
                status, truncated=truncated, retry_after=None, now_ms=0, attempt=visit.lease.attempt
            )
    return None


def _wants_redirect(found: object, request: Request, spider: Spider) -> bool:
    """Whether it is a redirect that the spider has said to take itself, as Scrapy has it."""
    if not isinstance(found, Capture) or found.status not in REDIRECTS:
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
