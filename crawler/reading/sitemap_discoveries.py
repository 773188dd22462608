"""What robots.txt and sitemaps list, as discoveries. Pure.

1. A sitemap is read where its host is the one that names it, or where the crawl's scope admits it: a robots.txt may
   send to other hosts (sitemaps.org, cross-submits), a crawl goes no further than it was told.
2. It has the depth of the page that its robots.txt was read for, or of the index that lists it. What it lists is as
   the links of that page: one deeper, admitted by the scope. So nothing is read whose links would not be followed.
   Where the page is asked for once more so is the sitemap, but of what it lists only what is new.
3. Indexes may list indexes, `DEEPEST` in a row.
4. What a list of seeds lists (a note that says `seeds`, or `crawler.reading.seedlist`) are seeds: as deep as the list
   itself, however deep links are followed. Where the list is asked for once more so are they, but of a list that is
   re-scraped only what is new.
5. What is listed is no trap, whatever it looks like (`Discovery.listed`): lists end.
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace

from core import Url
from crawler.reading.sitemap import SitemapEntry
from frontier import Discovery, InvalidUrl, Lease, canonicalize
from frontier.request_state import EMPTY_STATE, ReadingKind, RequestState

MAX_INDEX_DEPTH = 3
"""Indexes above a sitemap, at most."""


def may_read_sitemap(lease: Lease, url: Url) -> bool:
    """Whether a sitemap may be read that the host of a lease names."""
    return url.host == lease.url.host or lease.scope.admits(url)


def robots_sitemaps(lease: Lease, sitemaps: Iterable[str]) -> tuple[Discovery, ...]:
    """The sitemaps that the robots.txt of a page's origin names."""
    return (
        tuple(_sitemaps(lease, sitemaps, RequestState(kind="sitemap"), lease.generation))
        if lease.follows_links
        else ()
    )


def sitemap_discoveries(
    lease: Lease, entries: Iterable[SitemapEntry], now_ms: int, known: Container[str]
) -> tuple[Discovery, ...]:
    """Return the discoveries of a sitemap that was read now, without URLs whose text is in `known`."""
    read = lease.state
    kind: ReadingKind = "sitemap" if read.kind == "sitemap" else "seeds"
    if kind == "sitemap" and not lease.follows_links:
        return ()
    depth, priority = (lease.depth + 1, 0) if kind == "sitemap" else (lease.depth, lease.priority)
    again = 0 if kind == "sitemap" or read.date_ms else lease.generation
    found: dict[str, Discovery] = {}
    indexed: list[str] = []
    for entry in entries:
        if entry.is_sitemap:
            indexed.append(entry.url)
            continue
        url = _url(entry.url, lease.url.text)
        if url is not None and url.text not in found and url.text not in known and lease.scope.admits(url):
            state = _state_of_page(lease, entry.modified_ms, now_ms)
            found[url.text] = _discovery(lease, url, depth, state, again, priority)
    below = RequestState(kind=kind, level=read.level + 1)
    of_lists = lease.generation if kind == "sitemap" else again
    further = _sitemaps(lease, indexed, below, of_lists) if below.level <= MAX_INDEX_DEPTH else ()
    return (*(one for one in further if one.url.text not in known), *found.values())


def is_all_out_of_scope(lease: Lease, entries: Iterable[SitemapEntry]) -> bool:
    """Whether a list of seeds lists something, and nothing that the scope admits."""
    if lease.state.kind == "sitemap":
        return False
    lists = False
    for entry in entries:
        url = _url(entry.url, lease.url.text)
        if url is not None and may_read_sitemap(lease, url):
            return False
        lists = lists or url is not None
    return lists


def _sitemaps(
    lease: Lease, written: Iterable[str], said: RequestState, generation: int
) -> Iterator[Discovery]:
    state = said
    referrer = lease.url.wire if said.level else f"{lease.url.origin}/robots.txt"
    seen = {lease.url.text} if said.level else set()
    for text in written:
        url = _url(text, lease.url.text)
        if url is not None and url.text not in seen and may_read_sitemap(lease, url):
            seen.add(url.text)
            yield replace(_discovery(lease, url, lease.depth, state, generation), referrer=referrer)


def _state_of_page(lease: Lease, modified_ms: int, now_ms: int) -> RequestState:
    """Return the state of a listed page. A date is kept only for a page that is visited again, and only if it has
    passed.
    """
    return (
        RequestState(modified_ms=modified_ms) if lease.interval_s and modified_ms <= now_ms else EMPTY_STATE
    )


def _url(written: str, base: str) -> Url | None:
    try:
        return canonicalize(written, base)
    except InvalidUrl:
        return None


def _discovery(
    lease: Lease, url: Url, depth: int, state: RequestState, generation: int, priority: int = 0
) -> Discovery:
    return Discovery(
        url=url,
        scope=lease.scope,
        depth=depth,
        max_depth=lease.max_depth,
        priority=priority,
        generation=generation,
        referrer=lease.url.wire,
        interval_s=lease.interval_s,
        listed=True,
        state=state,
    )
