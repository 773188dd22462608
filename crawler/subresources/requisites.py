"""`RequisiteCollector`: fetch what pages need to look as they do, so that their archive replays.

1. The markup names them (`extract.markup.page_requisites`). They are fetched under the page's lease, as the requests of
   a browser are (`crawler.subresources.subresource_fetcher`): same guard, robots.txt, turns and bounds. Those of the
   page's own host have one burst, and the host rests for it afterwards.
2. Style sheets, frames and manifests are read in turn for what they need. A frame of another site is fetched, and not
   read: a page needs what is one step away from its site, and no further.
3. What this worker has archived within the last half hour is not fetched again, so the pages of a site share their
   style. If a page had to leave something out, its style sheets and frames are read again for the next page.
4. What is left out is counted by reason.
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from thresher.core import Capture, Url
from thresher.crawler.reading.outcome import REDIRECT_STATUSES, decode_location
from thresher.crawler.reading.page_parts import PageParts
from thresher.crawler.reading.page_response import HTML
from thresher.crawler.reading.rendered_page import RenderedPage
from thresher.crawler.recent_set import RecentSet
from thresher.crawler.subresources.fetchers import SubresourceFetchers
from thresher.crawler.subresources.subresource_fetcher import SubresourceFetcher, SubresourceRequest
from thresher.crawler.wire.session import Session
from thresher.extract.charset import to_utf8
from thresher.extract.markup.page_requisites import (
    Requisite,
    css_requisites,
    manifest_requisites,
    page_requisites,
)
from thresher.frontier import InvalidUrl, Lease, canonicalize
from thresher.storage.warc.payload import decode_content
from thresher.storage.warc.records import mime_of

MAX_PAGES = 32
"""Pages whose requisites a worker fetches at a time. Each may hold `subresource_fetcher.MAX_BYTES`."""
MAX_HOSTS = 8
"""Hosts from which one page fetches at a time."""
TIMEOUTS = 4
"""A page has so many times the time to the first byte for all its requisites, as an exchange has for all its bytes."""
MAX_DOCUMENT_BYTES = 1 << 20
"""Bytes of a decoded page or style sheet that are read for what it needs: the worst take a tenth of a second of the
event loop."""
MAX_DEPTH = 5
"""Steps from a page to a requisite: to a frame, its style sheet, one that this imports, and its font are four."""
MAX_FRAME_DEPTH = 2
"""Frames in frames that are fetched."""
RECENT_S = 1_800
"""Seconds for which an archived requisite is not fetched again, at least; at most twice as long."""
MAX_RECENT = 100_000
"""URLs of such requisites, within these seconds."""
INCOMPLETE = "cut"
"""Reason of a requisite whose body is archived in part."""
ACCEPT: Mapping[str, str] = {
    "stylesheet": "text/css,*/*;q=0.1",
    "image": "image/avif,image/webp,image/*,*/*;q=0.8",
    "frame": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
}
_LEAVES = frozenset({"script", "font", "image", "media"})
_FETCHED_AFTERWARDS = frozenset({"font", "frame", "image", "media"})
"""Refusals of the browser that are none if the requisites of its DOM are fetched afterwards."""


class RequisiteCollector:
    """Collects the requisites of the pages of one worker."""

    def __init__(self, fetchers: SubresourceFetchers, *, timeout_s: float) -> None:
        """`timeout_s` is the time to the first byte of one response."""
        self._fetchers, self._time_s = fetchers, TIMEOUTS * timeout_s
        self._pages = asyncio.Semaphore(MAX_PAGES)
        self._recent, self._older = RecentSet(MAX_RECENT), RecentSet(MAX_RECENT)
        self._turned_at = time.monotonic()

    async def collect(
        self, lease: Lease, page: Capture, rendered: RenderedPage | None, session: Session | None = None
    ) -> PageParts | None:
        """Return the requisites of a page that has just arrived, without those that its browser or this worker has
        fetched before; None if it is no page. `session` is the login of the page. Raise nothing for what servers do.
        """
        if lease.state.is_list or not _is_html(page):
            return None
        async with self._pages:
            self._age()
            deadline = asyncio.get_running_loop().time() + self._time_s
            fetcher = self._fetchers.fetcher(lease, page, deadline=deadline, session=session)
            own = () if rendered is None else (each.capture.url.wire for each in rendered.subresources)
            login = "" if session is None else f"{session.profile} {session.host}"
            visit = _PageVisit(fetcher, page, {page.url.wire, *own}, lambda url: self._is_recent(url, login))
            await visit.read_page(b"" if rendered is None else rendered.html)
            return PageParts(subresources=tuple(fetcher.subresources), refusals=visit.refusals, login=login)

    def remember(self, parts: PageParts) -> None:
        """Fetch these no more for a while: they are archived."""
        for each in parts.subresources:
            if each.kind in _LEAVES or not parts.refusals:
                self._recent.add(_seen_under(parts.login, each.capture.url.wire))

    def forget(self, parts: PageParts) -> None:
        """Fetch these again for the next page that needs them: their page is not archived, and so they are not."""
        self._fetchers.forget(each.capture.url.wire for each in parts.subresources)

    def _is_recent(self, url: str, login: str) -> bool:
        text = _seen_under(login, url)
        return text in self._recent or text in self._older

    def _age(self) -> None:
        if time.monotonic() - self._turned_at >= RECENT_S:
            self._recent, self._older = RecentSet(MAX_RECENT), self._recent
            self._turned_at = time.monotonic()

    def __repr__(self) -> str:
        return f"<requisite collector: {len(self._recent) + len(self._older)} recent>"


def with_parts(rendered: RenderedPage | None, parts: PageParts | None) -> RenderedPage | None:
    """Return a rendered page, if there is one, with the requisites that its browser did not request, or was refused."""
    if rendered is None or parts is None:
        return rendered
    refusals = Counter(
        {reason: count for reason, count in rendered.refusals.items() if reason not in _FETCHED_AFTERWARDS}
    )
    return replace(
        rendered,
        subresources=rendered.subresources + parts.subresources,
        refusals=refusals + Counter(parts.refusals),
    )


class _PageVisit:
    """The requisites of one page."""

    def __init__(
        self, fetcher: SubresourceFetcher, page: Capture, seen: set[str], is_recent: Callable[[str], bool]
    ) -> None:
        """Fetch no URL that is in `seen` or of which `is_recent` is true."""
        self._fetcher, self._page, self._seen, self._is_recent = fetcher, page, seen, is_recent
        self._hosts = asyncio.Semaphore(MAX_HOSTS)
        self.refusals: Counter[str] = Counter()

    async def read_page(self, dom: bytes) -> None:
        """Fetch what the page needs, and what its DOM needs besides."""
        found = _needs("frame", self._page)
        if dom:
            found += page_requisites(dom, self._page.url.wire)
        await self._fetch_all(found, depth=1)

    async def _fetch_all(self, needed: Iterable[Requisite], *, depth: int) -> None:
        """Fetch what is new, one after the other from each host, and what that needs."""
        hosts: defaultdict[str, list[Requisite]] = defaultdict(list)
        for each in needed:
            if url := self._new(each):
                hosts[url.host].append(each)
        ends = await asyncio.gather(
            *(self._fetch_host(each, depth) for each in hosts.values()), return_exceptions=True
        )
        for fault in ends:
            if isinstance(fault, BaseException):
                raise fault

    async def _fetch_host(self, requisites: Iterable[Requisite], depth: int) -> None:
        deeper: list[Requisite] = []
        for each in requisites:
            deeper += await self._fetch(each, depth)
        if deeper:
            await self._fetch_all(deeper, depth=depth + 1)

    def _new(self, requisite: Requisite) -> Url | None:
        try:
            url = canonicalize(requisite.url)
        except InvalidUrl:
            self.refusals["bad_url"] += 1
            return None
        if url.wire in self._seen or self._is_recent(url.wire):
            return None
        self._seen.add(url.wire)
        return url

    async def _fetch(self, requisite: Requisite, depth: int) -> list[Requisite]:
        """Fetch a requisite, and return what it needs itself."""
        if depth > MAX_DEPTH or (requisite.kind == "frame" and depth > MAX_FRAME_DEPTH):
            self.refusals["too_deep"] += 1
            return []
        async with self._hosts:
            found = await self._follow(self._request(requisite))
        if isinstance(found, str):
            self.refusals[found] += 1
            return []
        if found.truncated:
            self.refusals[INCOMPLETE] += 1
        needed = _needs(requisite.kind, found) if found.status == 200 else []
        if requisite.kind == "frame" and needed and self._fetcher.is_other_site(found.url.wire):
            self.refusals["off_site"] += len(needed)
            return []
        return needed

    def _request(self, requisite: Requisite) -> SubresourceRequest:
        return SubresourceRequest(
            url=requisite.url,
            method="GET",
            headers=self._headers(requisite.url, requisite.kind),
            kind=requisite.kind,
            is_in_markup=True,
        )

    def _headers(self, url: str, kind: str) -> dict[str, str]:
        referrer = _referrer(self._page.url.wire, url)
        return {"Accept": ACCEPT.get(kind, "*/*"), **({"Referer": referrer} if referrer else {})}

    async def _follow(self, request: SubresourceRequest) -> Capture | str:
        """Return the response at the end of the redirects, or the reason why there is none."""
        while True:
            found = await self._fetcher.fetch(request)
            if isinstance(found, str) or found.status not in REDIRECT_STATUSES:
                return found
            location = decode_location(found.header("location") or "")
            if not location:
                return found
            try:
                target = canonicalize(location, found.url.wire).wire
            except InvalidUrl:
                return "bad_url"
            left = self._fetcher.leaves_site(request)
            request = replace(
                request,
                url=target,
                headers=self._headers(target, request.kind),
                hops=request.hops + 1,
                has_left_site=left,
            )

    def __repr__(self) -> str:
        return f"<requisites of {self._page.url}: {len(self._seen)} URLs, {self.refusals.total()} refused>"


def _seen_under(login: str, url: str) -> str:
    """Return how a URL is remembered: a login may be shown something else than a stranger."""
    return f"{login} {url}" if login else url


def _is_html(page: Capture) -> bool:
    return 200 <= page.status < 300 and mime_of(page.header("content-type")) in HTML


def _needs(kind: str, found: Capture) -> list[Requisite]:
    """Return what a page, frame, style sheet or manifest needs."""
    mime = mime_of(found.header("content-type"))
    if kind not in {"stylesheet", "manifest"} and not (kind == "frame" and mime in HTML):
        return []
    body, _ = decode_content(found.payload, found.content_encoding, MAX_DOCUMENT_BYTES)
    if kind == "frame":
        html, codec = to_utf8(body, found.header("content-type"))
        return page_requisites(html, found.url.wire, codec)
    if kind == "stylesheet":
        return css_requisites(body.decode(errors="replace"), found.url.wire)
    return manifest_requisites(body, found.url.wire)


def _referrer(page: str, target: str) -> str:
    """Return what a browser tells of a page in a request for one of its parts (`strict-origin-when-cross-origin`)."""
    origin = "/".join(page.split("/", 3)[:3])
    if target.startswith(f"{origin}/"):
        return page
    return "" if page.startswith("https:") and target.startswith("http:") else f"{origin}/"
