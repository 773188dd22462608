"""From the answer of a page to the settlement of its lease: outcome, and what was found. Pure.

The same function reads an answer that has just come and one that a dead worker left in the archive, so that a
page comes to the same either way.

1. Links are followed on HTML pages only, as deep as the lease says, within its scope, and not where the page
   (meta robots) or the server (X-Robots-Tag) says nofollow and that is obeyed.
2. A redirect's target is one discovery, of the same depth, within the scope, ten hops at most. What it leads to is
   fetched under its own lease, its own robots rules, its own delay. One that leads back is followed where something
   has changed since (`crawler.reading.redirect_chain`): a cookie, or how the URL is written.
3. A URL that a trap would make (`frontier.urls.trap`) is no discovery; like one out of scope it is left out and not
   counted. What was listed is no trap, nor where that redirects to.
4. An HTML page is sketched, so that the frontier can tell who says nothing new.
5. A page that is as it was when it came last (`crawler.reading.conditional`) leads to nothing that it did not lead to
   then.
6. What the next visit is to know of a page is noted, where there is to be one.
7. A sitemap (`listed`) is no page: it leads to what it lists, and what it redirects to is a sitemap. Its note goes
   on. So it is with a seed that is a list of seeds (`seedlist`).
8. What stands in the place of a page (`extract.soft_error`) says nothing new, whatever it says. A block is the host's
   way to say that it is busy: the page is asked for again, later.
9. Of a page that was rendered counts what its browser saw, even if the answer is as it was; where its scripts would
   have gone is a link of it.
"""

from collections.abc import Container
from dataclasses import dataclass, replace

from core import Url
from crawler.reading import redirect_chain
from crawler.reading.conditional import next_visit_state, unchanged_profile
from crawler.reading.link_targets import link_target, link_targets
from crawler.reading.outcome import BLOCK_PAGE, Judgement, decode_location, judge_response
from crawler.reading.page_options import DEFAULT_OPTIONS, PageOptions
from crawler.reading.page_response import HTTP_FORBIDDEN, PageResponse, is_html, may_have_page
from crawler.reading.seedlist import is_seed_list
from crawler.reading.sitemap import read_sitemap
from crawler.reading.sitemap_discoveries import (
    follows_links,
    is_all_out_of_scope,
    is_sitemap,
    may_read_sitemap,
    sitemap_discoveries,
)
from crawler.reading.sketch import EMPTY_SKETCH, sketch
from extract.charset import to_utf8
from extract.links import extract_links
from extract.rights import Rights, rights
from extract.soft_error import detect_soft_error
from frontier import Discovery, InvalidUrl, Lease, Outcome, Settlement, canonicalize
from frontier.request_state import RequestState
from frontier.urls.trap import trap_reason
from storage.warc.dropped import DroppedPage

MAX_REDIRECTS = 10
"""Redirects followed from one URL: half of what browsers follow (Fetch standard: 20)."""

NOTHING_SAID = Rights()
UNCHANGED = Judgement(outcome=Outcome.UNCHANGED, reason="")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReading:
    """What an answer comes to."""

    settlement: Settlement
    outlinks: tuple[str, ...] = ()
    """All that it leads to, in the form to be requested, whoever knows of it and whatever the scope."""
    rights: Rights = NOTHING_SAID
    """What it says of how it may be used."""
    has_read_markup: bool = False
    """Whether `rights` holds all that headers and markup say; if not, it holds what was read of them."""


def page_settlement(
    lease: Lease,
    found: PageResponse,
    known: Container[str] = frozenset(),
    options: PageOptions = DEFAULT_OPTIONS,
) -> Settlement:
    """Return how the lease ends. URLs whose text is in `known` are not worth telling the frontier again."""
    return read_page(lease, found, known, options).settlement


def read_page(
    lease: Lease,
    found: PageResponse,
    known: Container[str] = frozenset(),
    options: PageOptions = DEFAULT_OPTIONS,
) -> PageReading:
    """Return what an answer comes to: `settlement`, and what goes into the archive with it."""
    before = lease.state
    is_same = found.rendering is None and unchanged_profile(
        before, found.status, found.sha256, is_complete=found.truncated is None
    )
    if before.kind == "page" and is_same:
        reading = PageReading(settlement=settlement_for(lease, UNCHANGED))
    else:
        reading = _read(lease, found, known, options)
    if lease.interval_s and before.kind == "page":
        # The next visit is come to by no redirect.
        left = replace(next_visit_state(before, found), chain=b"", cookies=())
        return replace(reading, settlement=replace(reading.settlement, next_state=left))
    return reading


def _read(lease: Lease, found: PageResponse, known: Container[str], options: PageOptions) -> PageReading:
    judgement = judge_response(
        found.status,
        truncated=found.truncated,
        retry_after=found.header("retry-after"),
        now_ms=found.received_ms,
        attempt=lease.attempt,
    )
    if judgement.outcome is Outcome.REDIRECTED:
        return _read_redirect(lease, found, options)
    if found.rendering is not None and found.rendering.problem:
        judgement = replace(judgement, reason=found.rendering.problem)
    if is_sitemap(lease) or is_seed_list(lease, found):
        return PageReading(
            settlement=_of_sitemap(lease, found, judgement, known),
            rights=rights(found.headers, at_ms=found.received_ms),
        )
    again = judgement.outcome is Outcome.RETRY  # nothing is read of what is to come once more
    if again or not (may_have_page(found.status) and found.body and is_html(found)):
        return PageReading(
            settlement=settlement_for(lease, judgement),
            rights=rights(found.headers, at_ms=found.received_ms),
            has_read_markup=not again,
        )
    asked = rights(found.headers, at_ms=found.received_ms)
    (html, codec), said = to_utf8(found.body, found.header("content-type")), EMPTY_SKETCH
    match detect_soft_error(found.header, html):
        case "block_page":
            return PageReading(settlement=settlement_for(lease, BLOCK_PAGE), rights=asked)
        case _ if found.status == HTTP_FORBIDDEN:
            return PageReading(settlement=settlement_for(lease, judgement), rights=asked)
        case None:
            said = sketch(html, lease.url.text)
        case why:
            judgement = replace(judgement, reason=why)
    page = extract_links(html, lease.url.wire, codec)
    went = found.rendering.navigations if found.rendering else ()
    urls = link_targets((*page.hrefs, *went), page.base, options.traps)
    told = rights(found.headers, page.metas, at_ms=found.received_ms)
    followed: tuple[Discovery, ...] = ()
    if follows_links(lease) and not ("nofollow" in options.obey and "nofollow" in told.robots):
        new = (url for url in urls if url.text not in known and lease.scope.admits(url))
        followed = tuple(_discovery(lease, url, depth=lease.depth + 1, hops=0) for url in new)
    return PageReading(
        settlement=settlement_for(lease, judgement, followed, said),
        outlinks=tuple(url.wire for url in urls),
        rights=told,
        has_read_markup=True,
    )


def settlement_of_dropped(
    lease: Lease, found: DroppedPage, received_ms: int, options: PageOptions = DEFAULT_OPTIONS
) -> Settlement:
    """Return how the lease of a page ends that was not archived: as `settlement` had it."""
    judgement = judge_response(
        found.status,
        truncated=found.truncated,
        retry_after=found.retry_after,
        now_ms=received_ms,
        attempt=lease.attempt,
    )
    urls = (link_target(outlink, traps=options.traps) for outlink in found.outlinks)
    links = tuple(_discovery(lease, url, depth=lease.depth + 1, hops=0) for url in urls if url is not None)
    return settlement_for(lease, judgement, links)


def rights_of(found: PageResponse, base: str) -> Rights:
    """What the page, and its server, say of how it may be used."""
    metas: tuple[tuple[str, str], ...] = ()
    if 200 <= found.status < 300 and found.body and is_html(found):
        metas = extract_links(to_utf8(found.body, found.header("content-type"))[0], base).metas
    return rights(found.headers, metas, at_ms=found.received_ms)


def settlement_for(
    lease: Lease, judgement: Judgement, discoveries: tuple[Discovery, ...] = (), said: int | None = None
) -> Settlement:
    """Return the settlement that a judgement asks for."""
    return Settlement(
        lease=lease,
        outcome=judgement.outcome,
        reason=judgement.reason,
        discoveries=discoveries,
        retry_after_ms=judgement.retry_after_ms,
        hold_ms=judgement.hold_ms,
        fault=judgement.fault,
        sketch=said,
    )


def _of_sitemap(lease: Lease, found: PageResponse, judgement: Judgement, known: Container[str]) -> Settlement:
    if not 200 <= found.status < 300 or judgement.outcome is Outcome.RETRY:
        return replace(settlement_for(lease, judgement), next_state=lease.state)
    lists = read_sitemap(found.body)
    if (lists.excess_entries or lists.is_cut) and not judgement.reason:
        judgement = replace(judgement, reason="sitemap_too_long")
    discoveries = sitemap_discoveries(lease, lists.entries, found.received_ms, known)
    if not (judgement.reason or discoveries) and is_all_out_of_scope(lease, lists.entries):
        judgement = replace(judgement, reason="out_of_scope")
    return replace(settlement_for(lease, judgement, discoveries), next_state=lease.state)


def _read_redirect(lease: Lease, found: PageResponse, options: PageOptions) -> PageReading:
    reason = ""
    discoveries: tuple[Discovery, ...] = ()
    location = decode_location(found.header("location") or "")
    try:
        url = canonicalize(location, lease.url.wire)
    except InvalidUrl:
        url = None
    if not location:
        reason = "no_location"
    elif url is None:
        reason = "bad_location"
    elif not (lease.scope.admits(url) or (is_sitemap(lease) and may_read_sitemap(lease, url))):
        reason = "out_of_scope"
    elif lease.hops >= MAX_REDIRECTS:
        reason = "too_many_hops"
    elif trap_reason(url) and options.traps.is_on(url.host) and not lease.listed:
        reason = "trap"
    else:
        reason, discoveries = _redirect_target(lease, found, url, options)
    ended = Settlement(lease=lease, outcome=Outcome.REDIRECTED, reason=reason, discoveries=discoveries)
    return PageReading(settlement=ended, outlinks=() if url is None else (url.wire,))


def _redirect_target(
    lease: Lease, found: PageResponse, url: Url, options: PageOptions
) -> tuple[str, tuple[Discovery, ...]]:
    """Why a redirect's target is not asked for, or the target: `crawler.reading.redirect_chain`."""
    before = lease.state
    cookies = [value for name, value in found.headers if name.lower() == "set-cookie"]
    redirects = redirect_chain.append(before.chain, lease.url, cookie=bool(cookies))
    decision = redirect_chain.decide(redirects, url, cookies=options.cookies)
    if decision == "loop" and url.text == lease.url.text:
        return "to_itself", ()
    if decision in {"loop", "needs_cookie"}:
        return decision, ()
    again = decision == "ask_again"
    # The same page keeps what its last capture was; another one keeps only that it is to be read as a sitemap.
    kept = before if again else RequestState(kind=before.kind, level=before.level)
    told = (*before.cookies, *((lease.url.wire, cookie) for cookie in cookies)) if options.cookies else ()
    target = _discovery(lease, url, depth=lease.depth, hops=lease.hops + (not again))
    return "", (
        replace(
            target,
            listed=lease.listed,
            priority=lease.priority,
            generation=lease.generation if again else 0,
            again=lease.token if again else 0,
            state=replace(kept, chain=redirects, cookies=told),
        ),
    )


def _discovery(lease: Lease, url: Url, *, depth: int, hops: int) -> Discovery:
    return Discovery(
        url=url,
        scope=lease.scope,
        depth=depth,
        max_depth=lease.max_depth,
        hops=hops,
        referrer=lease.url.wire,
        interval_s=lease.interval_s,
    )
