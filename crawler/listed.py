"""What robots.txt and sitemaps list, as discoveries. Pure.

1. A sitemap is read where its host is the one that names it, or where the crawl's scope admits it: a robots.txt may send
   to other hosts (sitemaps.org, cross-submits), a crawl goes no further than it was told.
2. It has the depth of the page that its robots.txt was read for, or of the index that lists it. What it lists is as the
   links of that page: one deeper, admitted by the scope. So nothing is read whose links would not be followed. Where the page
   is asked for once more so is the sitemap, but of what it lists only what is new.
3. Indexes may list indexes, `DEEPEST` in a row.
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace

from core import Url
from crawler.note import Note, decode, encode
from crawler.sitemap import Entry
from frontier import Discovery, Lease, NotAUrl, canonical
from frontier.trap import pitfall

DEEPEST = 3
"""Indexes above a sitemap, at most."""


def is_sitemap(lease: Lease) -> bool:
    """Whether what is fetched is to be read as a sitemap, whatever its server calls it."""
    return bool(lease.note) and decode(lease.note).kind == "sitemap"


def is_in_reach(lease: Lease, url: Url) -> bool:
    """Whether a sitemap may be read that the host of a lease names."""
    return url.host == lease.url.host or lease.scope.admits(url)


def leads_on(lease: Lease) -> bool:
    """Whether links of a page are followed."""
    return lease.max_depth is None or lease.depth < lease.max_depth


def named(lease: Lease, sitemaps: Iterable[str]) -> tuple[Discovery, ...]:
    """The sitemaps that the robots.txt of a page's origin names."""
    return tuple(_sitemaps(lease, sitemaps, level=0)) if leads_on(lease) else ()


def listed(
    lease: Lease, entries: Iterable[Entry], now_ms: int, known: Container[str]
) -> tuple[Discovery, ...]:
    """What a sitemap lists that was read now. URLs whose text is in `known` are not worth telling the frontier again."""
    if not leads_on(lease):
        return ()
    level = decode(lease.note).level + 1
    found: dict[str, Discovery] = {}
    indexed: list[str] = []
    for entry in entries:
        if entry.sitemap:
            indexed.append(entry.url)
            continue
        url = _url(entry.url, lease.url.text)
        if url is not None and url.text not in found and url.text not in known and lease.scope.admits(url):
            found[url.text] = _discovery(
                lease, url, lease.depth + 1, _of_page(lease, entry.modified_ms, now_ms)
            )
    further = _sitemaps(lease, indexed, level=level) if level <= DEEPEST else ()
    return (*(one for one in further if one.url.text not in known), *found.values())


def _sitemaps(lease: Lease, written: Iterable[str], *, level: int) -> Iterator[Discovery]:
    note = encode(Note(kind="sitemap", level=level))
    referrer = lease.url.wire if level else f"{lease.url.origin}/robots.txt"
    seen = {lease.url.text} if level else set()
    for text in written:
        url = _url(text, lease.url.text)
        if url is not None and url.text not in seen and is_in_reach(lease, url):
            seen.add(url.text)
            found = _discovery(lease, url, lease.depth, note)
            yield replace(found, referrer=referrer, generation=lease.generation)


def _of_page(lease: Lease, modified_ms: int, now_ms: int) -> bytes:
    """A date is of use only to who comes again, and only one that has passed."""
    return encode(Note(modified_ms=modified_ms)) if lease.interval_s and modified_ms <= now_ms else b""


def _url(written: str, base: str) -> Url | None:
    try:
        url = canonical(written, base)
    except NotAUrl:
        return None
    return None if pitfall(url) else url


def _discovery(lease: Lease, url: Url, depth: int, note: bytes) -> Discovery:
    return Discovery(
        url=url,
        scope=lease.scope,
        depth=depth,
        max_depth=lease.max_depth,
        referrer=lease.url.wire,
        interval_s=lease.interval_s,
        note=note,
    )
