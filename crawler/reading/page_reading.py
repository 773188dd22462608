"""From the response to a page to the settlement of its lease. Pure.

`read_page` reads a response once, into one value: a `PageReading`. `decide` turns this value into a `Settlement`. A
response that has just arrived and one that a dead worker left in the archive go through the same two functions, so the
lease ends the same way.

1. Links are followed only on HTML pages, as deep as the lease allows, and within its scope. If the crawl obeys
   `nofollow`, links of a page with that robots meta or X-Robots-Tag are not followed.
2. The target of a redirect is one discovery, of the same depth, within the scope, after at most ten hops. It is fetched
   under its own lease, its own robots rules and its own delay. A redirect that leads back is followed if something has
   changed since: a cookie, or the spelling of the URL (`crawler.reading.redirect_chain`).
3. A URL that looks like a trap (`frontier.urls.trap`) is no discovery. Like a URL out of scope it is left out and not
   counted. A listed URL is no trap, and neither is its redirect target.
4. An HTML page is sketched, so that the frontier can see whether it says anything new.
5. A page that is unchanged since its last capture (`crawler.reading.conditional`) has no new links.
6. If the page is visited again, the settlement carries the request state of the next visit.
7. A sitemap (`crawler.reading.sitemap_discoveries`) is no page: its entries are the discoveries, its redirect target is
   a sitemap, and its request state stays. The same holds for a seed that is a list of seeds.
8. An error page with a success status (`extract.soft_error`) has an empty sketch. A block page means that the host is
   busy: the page is requested again later.
9. If a page was rendered, the DOM is read, even if the response is unchanged. The targets of its scripts are links.
"""

from collections.abc import Container
from dataclasses import dataclass, replace

from core import Url
from crawler.reading import redirect_chain
from crawler.reading.conditional import next_visit_state, unchanged_profile
from crawler.reading.link_targets import link_target, link_targets
from crawler.reading.outcome import BLOCK_PAGE, REDIRECT_STATUSES, Judgement, decode_location, judge_response
from crawler.reading.page_options import DEFAULT_OPTIONS, PageOptions
from crawler.reading.page_response import (
    HTTP_FORBIDDEN,
    PageResponse,
    is_html,
    is_seed_list,
    may_have_page,
)
from crawler.reading.sitemap import SitemapEntry, read_sitemap
from crawler.reading.sitemap_discoveries import is_all_out_of_scope, may_read_sitemap, sitemap_discoveries
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

NO_RIGHTS = Rights()
UNCHANGED = Judgement(outcome=Outcome.UNCHANGED, reason="")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReading:
    """Everything that one response says."""

    response: PageResponse
    judgement: Judgement
    links: tuple[Url, ...] = ()
    """Targets of the links of a page, or of a redirect, whatever the scope and whoever knows them."""
    entries: tuple[SitemapEntry, ...] | None = None
    """Entries of a sitemap or of a list of seeds; None for a page."""
    rights: Rights = NO_RIGHTS
    """What headers and markup say about the use of the page, as far as the outcome needed them."""
    forbids_archive: bool = False
    """Whether the page asks not to be archived, and the crawl obeys that."""
    sketch: int | None = None
    """32 bits of the page's text (`crawler.reading.sketch`); None if the text was not read."""

    @property
    def is_page(self) -> bool:
        """Whether it is the reading of a page, and not of a redirect or of a list."""
        return self.entries is None and self.response.status not in REDIRECT_STATUSES


def read_page(lease: Lease, response: PageResponse, options: PageOptions = DEFAULT_OPTIONS) -> PageReading:
    """Return what a response says."""
    reading = _read(lease, response, options)
    if "noarchive" in options.obey and reading.is_page:
        # An unchanged page or a page that is requested again has no sketch: its markup was not read.
        stated = reading.rights if reading.sketch is not None else _rights(response, lease.url.wire)
        return replace(reading, forbids_archive="noarchive" in stated.robots)
    return reading


def _read(lease: Lease, response: PageResponse, options: PageOptions) -> PageReading:
    state = lease.state
    may_be_unchanged = state.has_capture and not state.is_list and response.rendering is None
    if may_be_unchanged and unchanged_profile(state, response):
        return PageReading(response=response, judgement=UNCHANGED)
    judgement = judge_response(
        response.status,
        truncated=response.truncated,
        retry_after=response.header("retry-after"),
        now_ms=response.received_ms,
        attempt=lease.attempt,
    )
    if judgement.outcome is Outcome.REDIRECTED:
        return _read_redirect(lease, response, judgement)
    if response.rendering is not None and response.rendering.problem:
        judgement = replace(judgement, reason=response.rendering.problem)
    stated = rights(response.headers, at_ms=response.received_ms)
    reading = PageReading(response=response, judgement=judgement, rights=stated)
    if state.is_list or is_seed_list(lease, response):
        return _read_list(reading)
    is_final = judgement.outcome is not Outcome.RETRY
    if not (is_final and may_have_page(response.status) and response.body and is_html(response)):
        return reading
    return _read_html(lease, reading, options)


def _read_html(lease: Lease, reading: PageReading, options: PageOptions) -> PageReading:
    response, text_sketch = reading.response, EMPTY_SKETCH
    html, codec = to_utf8(response.body, response.header("content-type"))
    error = detect_soft_error(response.header, html)
    if error == "block_page":
        return replace(reading, judgement=BLOCK_PAGE)
    if response.status == HTTP_FORBIDDEN:
        return reading
    if error is None:
        text_sketch = sketch(html, lease.url.text)
    else:
        reading = replace(reading, judgement=replace(reading.judgement, reason=error))
    page = extract_links(html, lease.url.wire, codec)
    navigations = response.rendering.navigations if response.rendering else ()
    return replace(
        reading,
        links=tuple(link_targets((*page.hrefs, *navigations), page.base, options.traps)),
        rights=rights(response.headers, page.metas, at_ms=response.received_ms)
        if page.metas
        else reading.rights,
        sketch=text_sketch,
    )


def _read_list(reading: PageReading) -> PageReading:
    response, judgement = reading.response, reading.judgement
    if not 200 <= response.status < 300 or judgement.outcome is Outcome.RETRY:
        return replace(reading, entries=())
    listing = read_sitemap(response.body)
    if (listing.excess_entries or listing.is_cut) and not judgement.reason:
        judgement = replace(judgement, reason="sitemap_too_long")
    return replace(reading, judgement=judgement, entries=listing.entries)


def _read_redirect(lease: Lease, response: PageResponse, judgement: Judgement) -> PageReading:
    location = decode_location(response.header("location") or "")
    if not location:
        return PageReading(response=response, judgement=replace(judgement, reason="no_location"))
    try:
        target = canonicalize(location, lease.url.wire)
    except InvalidUrl:
        return PageReading(response=response, judgement=replace(judgement, reason="bad_location"))
    return PageReading(response=response, judgement=judgement, links=(target,))


def _rights(response: PageResponse, base: str) -> Rights:
    """Return everything that a page and its server say about its use."""
    metas: tuple[tuple[str, str], ...] = ()
    if 200 <= response.status < 300 and response.body and is_html(response):
        metas = extract_links(to_utf8(response.body, response.header("content-type"))[0], base).metas
    return rights(response.headers, metas, at_ms=response.received_ms)


def page_settlement(
    lease: Lease,
    response: PageResponse,
    known_urls: Container[str] = frozenset(),
    options: PageOptions = DEFAULT_OPTIONS,
) -> Settlement:
    """Read a response, and decide how its lease ends."""
    return decide(lease, read_page(lease, response, options), known_urls, options)


def decide(
    lease: Lease,
    reading: PageReading,
    known_urls: Container[str] = frozenset(),
    options: PageOptions = DEFAULT_OPTIONS,
) -> Settlement:
    """Return how the lease of a page ends. The discoveries leave out URLs whose text is in `known_urls`."""
    judgement = reading.judgement
    if reading.entries is not None:
        settlement = _settle_list(lease, reading, reading.entries, known_urls)
    elif judgement.outcome is Outcome.REDIRECTED:
        settlement = _settle_redirect(lease, reading, options)
    else:
        followed: tuple[Discovery, ...] = ()
        if lease.follows_links and not ("nofollow" in options.obey and "nofollow" in reading.rights.robots):
            links = (url for url in reading.links if url.text not in known_urls and lease.scope.admits(url))
            followed = tuple(_discovery(lease, url, depth=lease.depth + 1, hops=0) for url in links)
        settlement = settlement_for(lease, judgement, followed, reading.sketch)
    if lease.interval_s and not lease.state.is_list:
        # No redirect leads to the next visit.
        state = replace(next_visit_state(lease.state, reading.response), chain=b"", cookies=())
        return replace(settlement, next_state=state)
    return settlement


def settlement_for(
    lease: Lease, judgement: Judgement, discoveries: tuple[Discovery, ...] = (), sketch: int | None = None
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
        sketch=sketch,
    )


def settlement_of_dropped(
    lease: Lease, dropped: DroppedPage, received_ms: int, options: PageOptions = DEFAULT_OPTIONS
) -> Settlement:
    """Return how the lease of a page ends that is not in the archive, from the record that took its place: the same way
    as `decide` decided.
    """
    judgement = judge_response(
        dropped.status,
        truncated=dropped.truncated,
        retry_after=dropped.retry_after,
        now_ms=received_ms,
        attempt=lease.attempt,
    )
    urls = (link_target(outlink, traps=options.traps) for outlink in dropped.outlinks)
    links = tuple(_discovery(lease, url, depth=lease.depth + 1, hops=0) for url in urls if url is not None)
    return settlement_for(lease, judgement, links)


def _settle_list(
    lease: Lease, reading: PageReading, entries: tuple[SitemapEntry, ...], known_urls: Container[str]
) -> Settlement:
    judgement = reading.judgement
    discoveries = sitemap_discoveries(lease, entries, reading.response.received_ms, known_urls)
    if not (judgement.reason or discoveries) and is_all_out_of_scope(lease, entries):
        judgement = replace(judgement, reason="out_of_scope")
    return replace(settlement_for(lease, judgement, discoveries), next_state=lease.state)


def _settle_redirect(lease: Lease, reading: PageReading, options: PageOptions) -> Settlement:
    reason = reading.judgement.reason
    discoveries: tuple[Discovery, ...] = ()
    for url in reading.links:
        reason = _redirect_refusal(lease, url, options)
        if not reason:
            reason, discoveries = _redirect_target(lease, reading.response, url, options)
    return settlement_for(lease, replace(reading.judgement, reason=reason), discoveries)


def _redirect_refusal(lease: Lease, url: Url, options: PageOptions) -> str:
    """Return why a redirect's target is not requested, whatever led to it; empty if it may be."""
    if not (lease.scope.admits(url) or (lease.state.is_list and may_read_sitemap(lease, url))):
        return "out_of_scope"
    if lease.hops >= MAX_REDIRECTS:
        return "too_many_hops"
    if trap_reason(url) and options.traps.is_on(url.host) and not lease.listed:
        return "trap"
    return ""


def _redirect_target(
    lease: Lease, response: PageResponse, url: Url, options: PageOptions
) -> tuple[str, tuple[Discovery, ...]]:
    """Return the discovery of a redirect's target, or the reason why the redirects before forbid it
    (`crawler.reading.redirect_chain`).
    """
    before = lease.state
    cookies = [value for name, value in response.headers if name.lower() == "set-cookie"]
    chain = redirect_chain.append(before.chain, lease.url, cookie=bool(cookies))
    decision = redirect_chain.decide(chain, url, cookies=options.cookies)
    if decision == "loop" and url.text == lease.url.text:
        return "to_itself", ()
    if decision in {"loop", "needs_cookie"}:
        return decision, ()
    again = decision == "ask_again"
    # The same page keeps the state of its last capture; another one keeps only that it is read as a sitemap.
    state = before if again else RequestState(kind=before.kind, level=before.level)
    jar = (*before.cookies, *((lease.url.wire, cookie) for cookie in cookies)) if options.cookies else ()
    target = _discovery(lease, url, depth=lease.depth, hops=lease.hops + (not again))
    return "", (
        replace(
            target,
            listed=lease.listed,
            priority=lease.priority,
            generation=lease.generation if again else 0,
            again=lease.token if again else 0,
            state=replace(state, chain=chain, cookies=jar),
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
