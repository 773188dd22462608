"""The URLs that robots.txt files and sitemaps list, as discoveries. Pure.

1. A sitemap is read if its host is the host that names it, or if the crawl's scope admits it. A robots.txt may name
   sitemaps of other hosts (sitemaps.org, cross-submits), but a crawl stays within its scope.
2. A sitemap has the depth of the page for which its robots.txt was read, or of the index that lists it. Its entries are
   like links of that page: one deeper, and admitted by the scope. So no sitemap is read whose entries would not be
   followed. If the page is requested again, the sitemap is too, but only its new entries are.
3. Indexes may list indexes, `MAX_INDEX_DEPTH` in a row.
4. The entries of a list of seeds (a request state of kind `seeds`, or
   `crawler.reading.page_response.PageResponse.is_url_list`) are seeds, as deep as the list itself, however deep links
   are followed. If the list is requested again, its entries are too; of a list that is re-scraped, only the new ones.
5. A listed URL is no trap, whatever it looks like (`Discovery.listed`), because lists end.
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace

from thresher.core import Url
from thresher.crawler.reading.sitemap import SitemapEntry
from thresher.frontier import Discovery, InvalidUrl, Lease, canonicalize
from thresher.frontier.request_state import EMPTY_STATE, ReadingKind, RequestState

MAX_INDEX_DEPTH = 3
"""Indexes above a sitemap, at most."""


def may_read_sitemap(lease: Lease, url: Url) -> bool:
    """Return whether a sitemap may be read that the host of a lease names."""
    return url.host == lease.url.host or lease.scope.admits(url)


def robots_sitemaps(lease: Lease, sitemaps: Iterable[str]) -> tuple[Discovery, ...]:
    """Return the discoveries of the sitemaps that the robots.txt of a page's origin names."""
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
    """Return whether a list of seeds has entries, and the scope admits none of them."""
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
    lease: Lease, written: Iterable[str], state: RequestState, generation: int
) -> Iterator[Discovery]:
    referrer = lease.url.wire if state.level else f"{lease.url.origin}/robots.txt"
    seen = {lease.url.text} if state.level else set()
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
