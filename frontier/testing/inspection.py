"""`hosts`, `find`: what an operator asks of the model."""

from collections.abc import Iterator

from core import Url
from frontier.testing.crawl import HEAD, Crawl
from frontier.testing.state import Host
from frontier.verbs.inspection import HostState, Place, Rest


def hosts(crawl: Crawl, now: int) -> Iterator[HostState]:
    """Every host of the crawl."""
    for host in crawl.hosts.values():
        is_resting = (host.held > now or host.trips > 0) and not host.dead
        rest = Rest(ms=max(host.held - now, 0), reason=host.why) if is_resting else None
        yield HostState(
            host=host.name,
            waiting=len(host.waiting),
            open=host.open,
            delay_ms=host.pace,
            rest=rest,
            origins=tuple(_resting(crawl, host, now)),
            dead=host.dead,
        )


def find(crawl: Crawl, url: Url, now: int) -> Place:
    """Where the page of a URL is."""
    if not crawl.knows(url):
        return Place(state="unknown")
    name = crawl.page(url)
    for promise in crawl.promises.values():
        if promise.page is not None and crawl.page(promise.page.found.url) == name:
            return Place(state="leased", attempt=promise.page.attempt, worker=promise.worker)
    host = crawl.hosts[url.host]
    rest = Rest(ms=host.held - now, reason=host.why) if host.held > now else None
    for due, page in crawl.later:
        if crawl.page(page.found.url) == name:
            return Place(state="later", attempt=page.attempt, due_ms=max(due - now, 0), rest=rest)
    for page in host.waiting:
        if crawl.page(page.found.url) == name:
            return Place(state="waiting", attempt=page.attempt, rest=rest)
    visits = [max(due - now, 0) for due, page in crawl.visits if crawl.page(page.found.url) == name]
    return Place(state="settled", visit_ms=visits[0] if visits else None)


def _resting(crawl: Crawl, host: Host, now: int) -> Iterator[tuple[str, Rest]]:
    if not host.several:
        return
    for name in sorted({page.found.url.origin for page in host.waiting[:HEAD]}):
        origin = crawl.origins[name]
        if origin.rest > now:
            yield name, Rest(ms=origin.rest - now, reason=origin.why)
