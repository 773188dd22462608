"""`Inspection`: the questions of an operator: how hosts stand, and where a URL is. They change nothing."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from thresher.core import InputError, Url
from thresher.frontier.codec.entries import decode_entry
from thresher.frontier.page_key import page_hash
from thresher.frontier.policy import HostSwitch
from thresher.frontier.verbs.crawl import Crawl

_SOME = 1_000  # hosts, or entries, of one call
FIRST_PAGE = ""
"""The cursor of the first page of hosts."""
_LEVELS: tuple[Literal["", "templates", "host", "domain"], ...] = ("", "templates", "host", "domain")
_CURSOR = re.compile(r"(\d{1,3})-(\d{1,20})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A time in which no request is sent to a host or an origin."""

    ms: int
    """Milliseconds from now until its end. 0: it is over, and the next request is a probe that ends it or begins
    another.
    """
    reason: str
    """Reason code; empty if the frontier does not know it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostState:
    """How a host stands."""

    host: str
    waiting: int
    """Pages that wait for the host's turn."""
    open: int
    """Requests under way."""
    delay_ms: int
    """Milliseconds between two requests, as of the last lease; 0 before the first."""
    rest: Hold | None
    """Why and for how long no request is sent to the host; None if one may be sent."""
    origins: tuple[tuple[str, Hold], ...]
    """If the host has several origins: those that rest while the others are asked, as far as their pages come next."""
    dead_reason: str
    """Why the host was given up; empty if it was not."""
    repeats: Literal["", "templates", "host", "domain"] = ""
    """What says nothing new (`frontier.urls.novelty`), so that 1 in 64 of its URLs is requested: some templates of the
    host, all of the host but templates that have proven themselves, or its whole registered domain; empty if nothing.
    """
    starved_templates: int = 0
    """Templates of the host that say nothing new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPage:
    """Some of the hosts of a crawl, in no order."""

    hosts: tuple[HostState, ...]
    cursor: str
    """Cursor of the next page; empty if this is the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlState:
    """Where a URL is in the frontier."""

    state: Literal["unknown", "waiting", "leased", "later", "settled", "known"]
    """`later`: the URL is tried again at a time. `settled`: it is known, and in none of the other places. `known`: the
    search ended before its place was found.
    """
    attempt: int = 0
    """Number of earlier attempts, if the URL is not settled."""
    due_ms: int | None = None
    """Milliseconds until it is tried again."""
    visit_ms: int | None = None
    """Milliseconds until it is visited again, if it is to be."""
    worker: str = ""
    """The worker that holds its lease."""
    rest: Hold | None = None
    """Why and for how long no request is sent to its host, if the URL waits."""
    stored: int = 0
    """URLs of its host that wait in storage; a URL that is reported as settled may be among them."""


class Inspection:
    """The operator's questions about one crawl."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl

    async def hosts(self, *, is_held: bool = False) -> AsyncIterator[HostState]:
        """Yield the state of every host; with `is_held`, only of hosts that are held now, were given up, or repeat
        themselves.

        The order is not defined, and a host may come twice while hosts are added.
        """
        page = await self.host_page(is_held=is_held)
        while True:
            for host in page.hosts:
                yield host
            if page.cursor == FIRST_PAGE:
                break
            page = await self.host_page(page.cursor, is_held=is_held)

    async def host_page(self, cursor: str = FIRST_PAGE, *, is_held: bool = False) -> HostPage:
        """Return the next hosts: one call to one server, which looks at some 1,000 hosts however many there are.

        `cursor` is that of the page before. With `is_held` a page holds only hosts that are held now, were given up, or
        repeat themselves, so it may be empty before the last. A host may come twice while hosts are added.
        Raise `InputError` if `cursor`
        is not one of this crawl.
        """
        number = self._crawl.partitions.number
        found = _CURSOR.fullmatch(cursor or "0-0")
        if found is None or int(found[1]) >= number or int(found[2]) >= 1 << 64:
            raise InputError(f"crawl {self._crawl.name!r}: {cursor[:40]!r} is no cursor of its hosts")
        p = int(found[1])
        after, rows = await self._crawl.one(
            self._crawl.partitions.call(p, "hosts", found[2], _SOME, int(is_held))
        )
        p, after = (p, int(after)) if int(after) else (p + 1, 0)
        following = f"{p}-{after}" if p < number else FIRST_PAGE
        return HostPage(hosts=tuple(map(_host, rows)), cursor=following)

    async def host(self, name: str) -> HostState | None:
        """Return the state of one host; None if the crawl does not know it."""
        p = self._crawl.partitions.of_host(name)
        rows = await self._crawl.one(self._crawl.partitions.call(p, "host", name))
        return _host(rows[0]) if rows else None

    async def find(self, url: Url, *, max_entries: int | None = None) -> UrlState:
        """Return where the page of a URL is, whichever of its URLs was found. Waiting URLs are searched in memory;
        those in storage are not read.

        With `max_entries`, each search among URLs that are due at a time, and among the waiting URLs of its host, ends
        after about so many entries. If a search ended early and no other found the URL, its state is `known`.
        """
        p = self._crawl.partitions.of_host(url.host)
        call = self._crawl.partitions.call(p, "known", url.host, page_hash(url, self._query_order))
        known, queued, stored, rest_ms, reason = await self._crawl.one(call)
        if not known:
            return UrlState(state="unknown")
        search = _Search(max_entries)
        if place := await self._unsettled(p, url, queued, search):
            rests = rest_ms and place.state in {"waiting", "later"}
            return replace(place, rest=Hold(ms=rest_ms, reason=reason.decode())) if rests else place
        async for due_ms, entry in self._due(p, "visits", url.host, search):
            if self._attempt(url, entry) is not None:
                return UrlState(state="settled", visit_ms=due_ms, stored=stored)
        return UrlState(state="known" if search.was_cut else "settled", stored=stored)

    async def _unsettled(self, p: int, url: Url, queued: int, search: "_Search") -> UrlState | None:
        for worker, entry in await self._crawl.one(self._crawl.partitions.call(p, "leased", url.host)):
            if (attempt := self._attempt(url, entry)) is not None:
                return UrlState(state="leased", attempt=attempt, worker=worker.decode())
        async for due_ms, entry in self._due(p, "later", url.host, search):
            if (attempt := self._attempt(url, entry)) is not None:
                return UrlState(state="later", attempt=attempt, due_ms=due_ms)
        for first in range(0, queued, _SOME):
            if search.ends_after(first):
                break
            for entry in await self._crawl.one(
                self._crawl.partitions.call(p, "queued", url.host, first, _SOME)
            ):
                if (attempt := self._attempt(url, entry)) is not None:
                    return UrlState(state="waiting", attempt=attempt)
        return None

    async def _due(
        self, p: int, which: str, host: str, search: "_Search"
    ) -> AsyncIterator[tuple[int, bytes]]:
        cursor, searched = b"0", 0
        while not search.ends_after(searched):
            call = self._crawl.partitions.call(p, "due_later", which, host, cursor, _SOME)
            cursor, rows = await self._crawl.one(call)
            for due_ms, entry in rows:
                yield int(due_ms), entry
            searched += _SOME
            if cursor == b"0":
                break

    def _attempt(self, url: Url, entry: bytes) -> int | None:
        """Return how often the page of the URL was tried, if the entry belongs to that page; else None."""
        found, attempt = decode_entry(url.host, entry)
        is_its = page_hash(found.url, self._query_order) == page_hash(url, self._query_order)
        return attempt if is_its else None

    @property
    def _query_order(self) -> HostSwitch:
        return self._crawl.settings.policy.query_order


class _Search:
    """How far a search goes, and whether it ended early."""

    def __init__(self, max_entries: int | None) -> None:
        self._max_entries = max_entries
        self.was_cut = False

    def ends_after(self, entries: int) -> bool:
        """Return whether a search that has seen so many entries of one place, and not all of them, ends there."""
        ends = self._max_entries is not None and entries >= self._max_entries
        self.was_cut |= ends
        return ends


def _host(row: Any) -> HostState:
    host, waiting, open_, delay_ms, dead, rest_ms, reason, origins, level, templates = row
    return HostState(
        host=host.decode(),
        waiting=waiting,
        open=open_,
        delay_ms=delay_ms,
        rest=Hold(ms=rest_ms, reason=reason.decode()) if rest_ms >= 0 and not dead else None,
        origins=tuple(
            (origin.decode(), Hold(ms=ms, reason=why.decode()))
            for origin, ms, why in sorted(origins, key=lambda each: each[0])
        ),
        dead_reason=dead.decode(),
        repeats=_LEVELS[level],
        starved_templates=templates,
    )
