"""`MemoryInspection`: the verbs of `frontier.verbs.inspection` on the state of a `MemoryCrawl`."""

import re
from collections.abc import AsyncIterator, Iterator
from typing import Literal

from thresher.core import InputError, Url
from thresher.frontier.testing.memory_crawl import MemoryCrawl
from thresher.frontier.testing.model.crawl_state import HEAD, CrawlState
from thresher.frontier.testing.model.entities import Host
from thresher.frontier.urls.novelty import HOST, STARVED
from thresher.frontier.verbs.inspection import FIRST_PAGE, Hold, HostPage, HostState, UrlState

_SOME = 1_000  # hosts of one page


class MemoryInspection:
    """Promises what `Inspection` promises."""

    def __init__(self, crawl: MemoryCrawl) -> None:
        self._crawl = crawl

    async def hosts(self, *, is_held: bool = False) -> AsyncIterator[HostState]:
        """As `Inspection.hosts`."""
        for host in _hosts(self._crawl.state, self._crawl.clock()):
            if not is_held or _is_held(host):
                yield host

    async def host_page(self, cursor: str = FIRST_PAGE, *, is_held: bool = False) -> HostPage:
        """As `Inspection.host_page`; the cursor is the number of hosts before the page."""
        if not re.fullmatch(r"[0-9]{0,18}", cursor):
            raise InputError(f"crawl 'in memory': {cursor[:40]!r} is no cursor of its hosts")
        first = int(cursor or "0")
        every = [host async for host in self.hosts()][first:]
        shown = tuple(host for host in every[:_SOME] if not is_held or _is_held(host))
        return HostPage(hosts=shown, cursor=str(first + _SOME) if len(every) > _SOME else FIRST_PAGE)

    async def host(self, name: str) -> HostState | None:
        """As `Inspection.host`."""
        return next(
            (host for host in _hosts(self._crawl.state, self._crawl.clock()) if host.host == name), None
        )

    async def find(self, url: Url, *, max_entries: int | None = None) -> UrlState:  # noqa: ARG002 - the signature of `Inspection.find`
        """As `Inspection.find`; nothing is searched, so no search ends early."""
        return _find(self._crawl.state, url, self._crawl.clock())


def _is_held(host: HostState) -> bool:
    return bool(host.rest or host.origins or host.dead_reason or host.repeats)


def _hosts(crawl: CrawlState, now: int) -> Iterator[HostState]:
    for host in crawl.hosts.values():
        is_resting = (host.held_until > now or host.trips > 0) and not host.dead_reason
        rest = Hold(ms=max(host.held_until - now, 0), reason=host.hold_reason) if is_resting else None
        is_watched = crawl.policy.traps.is_on(host.name)
        yield HostState(
            host=host.name,
            waiting=len(host.waiting),
            open=host.open,
            delay_ms=host.pace,
            rest=rest,
            origins=tuple(_resting(crawl, host, now)),
            dead_reason=host.dead_reason,
            repeats=_repeats(crawl, host) if is_watched else "",
            starved_templates=_starved_templates(host) if is_watched else 0,
        )


def _repeats(crawl: CrawlState, host: Host) -> Literal["", "templates", "host", "domain"]:
    if host.standing & STARVED:
        return "host"
    if host.standing < HOST.proven and crawl.domains[host.domain].standing & STARVED:
        return "domain"
    return "templates" if _starved_templates(host) else ""


def _starved_templates(host: Host) -> int:
    return sum(standing >= STARVED for standing in host.templates.values())


def _find(crawl: CrawlState, url: Url, now: int) -> UrlState:
    if not crawl.knows(url):
        return UrlState(state="unknown")
    name = crawl.key_of(url)
    for lease in crawl.open_leases.values():
        if lease.page is not None and crawl.key_of(lease.page.discovery.url) == name:
            return UrlState(state="leased", attempt=lease.page.attempt, worker=lease.worker)
    host = crawl.hosts[url.host]
    rest = Hold(ms=host.held_until - now, reason=host.hold_reason) if host.held_until > now else None
    for due, page in crawl.later:
        if crawl.key_of(page.discovery.url) == name:
            return UrlState(state="later", attempt=page.attempt, due_ms=max(due - now, 0), rest=rest)
    for page in host.waiting:
        if crawl.key_of(page.discovery.url) == name:
            return UrlState(state="waiting", attempt=page.attempt, rest=rest)
    visits = [max(due - now, 0) for due, page in crawl.visits if crawl.key_of(page.discovery.url) == name]
    return UrlState(state="settled", visit_ms=visits[0] if visits else None)


def _resting(crawl: CrawlState, host: Host, now: int) -> Iterator[tuple[str, Hold]]:
    if not host.has_several_origins:
        return
    for name in sorted({page.discovery.url.origin for page in host.waiting[:HEAD]}):
        origin = crawl.origins[name]
        if origin.held_until > now:
            yield name, Hold(ms=origin.held_until - now, reason=origin.hold_reason)
