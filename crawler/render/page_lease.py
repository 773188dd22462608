"""`PageLease`: what is asked under the lease of a page beside the page: whether it may be asked, and when it is its turn.

1. The page's own host is held by the lease, and has its delay between two requests all the same, the page's own request included. Another
   host is asked in its turn (`Frontier.turn`): no lease of it is granted within, and no other page asks it.
2. Every address has its own delay besides (`crawler.uplink.address_limiter`).
"""

from collections.abc import Callable
from dataclasses import replace

from core import Url
from crawler.render.subresource_robots import PartRules, Permission, Rulings
from crawler.robots.robots_txt import Event, Rulebook, ask
from crawler.uplink.address_limiter import Entrance
from crawler.uplink.uplink import Getter
from crawler.wire import Enter, Wait
from frontier import Kind, Lease


class PageLease:
    """The lease of a page that is rendered."""

    def __init__(
        self,
        lease: Lease,
        *,
        entrance: Entrance,
        rulebook: Rulebook,
        rules: PartRules,
        clock: Callable[[], float],
    ) -> None:
        """To be made when the page is there: `clock`, in seconds, says since when."""
        self._lease, self._entrance, self._rulebook, self._rules = lease, entrance, rulebook, rules
        self._clock, self._since = clock, clock()

    def enter(self, *, waited: bool) -> Enter:
        """What is to be asked before an address is; `waited` where its turn was waited for."""
        # A part has no place in the line of an address until it was told to wait.
        return self._entrance.of(self._asking(waited=waited))

    async def permission(self, url: Url, fetch: Rulings) -> Permission:
        """Whether robots.txt lets a part be fetched; `fetch` gets one that is not at hand."""
        if url.origin != self._lease.url.origin:
            return await self._rules.permission(url, fetch)
        lease = replace(self._lease, url=url)
        if await self._rulebook.refusal(lease) is not None:
            return Permission(refusal="robots")
        return Permission(delay_ms=await self._rulebook.delay_ms(lease))

    async def turn(self, host: str, *, delay_ms: int, most_ms: int) -> int:
        """Milliseconds until it is the page's turn at a host whose rules ask for a delay; more than `most_ms` where it has none."""
        wait_ms = await self._entrance.turn(
            host, most_ms=most_ms, delay_ms=delay_ms, leased=self._holds(host)
        )
        if not self._holds(host):
            return wait_ms
        since_ms = round(1000 * (self._clock() - self._since))
        return max(wait_ms, self._entrance.host_delay_ms - since_ms, delay_ms - since_ms)

    async def left(self, host: str, *, delay_ms: int) -> None:
        """An exchange that had its turn is over."""
        await self._entrance.left(host, delay_ms=delay_ms, leased=self._holds(host))

    async def robots(self, url: Url, client: Getter, *, waited: bool) -> Event | Wait:
        """Fetch a robots.txt, whose host has its turn."""
        lease = replace(self._asking(waited=waited), url=url, kind=Kind.ROBOTS, attempt=0)
        return await ask(client, lease, self._entrance)

    def _holds(self, host: str) -> bool:
        return host == self._lease.url.host

    def _asking(self, *, waited: bool) -> Lease:
        return replace(self._lease, slot_ms=int(waited))

    def __repr__(self) -> str:
        return f"<page lease: {self._lease.url}>"
