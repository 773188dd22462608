"""`Probes`: test what of our own side works: name servers, proxy, route; and whether other hosts answer (`probe_host`).

No probe sends a request to a web server. A host probe makes a connection, with TLS if the URL is https, and closes it.
"""

import asyncio
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from thresher.core import Url
from thresher.crawler.wire.fetch_failure import FetchFailure, acquire_at_once, connection_failure
from thresher.crawler.wire.http.request import parse_target
from thresher.crawler.wire.limits import Limits
from thresher.crawler.wire.network.address import Network, effective_address, is_blocked
from thresher.crawler.wire.network.dial import DialedConnection, Dialer
from thresher.crawler.wire.network.dns import Resolver, is_address
from thresher.crawler.wire.network.proxy import Proxy
from thresher.crawler.wire.network.tls import TlsContexts

PROBE_TIMEOUT_S = 5.0
"""Seconds for one probe."""
_FAR_AWAY = ("198.41.0.4", "2001:503:ba3e::2:30")
"""Addresses in another network than ours, whatever ours is: those of a.root-servers.net. No packet goes there."""
_DISCARD = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class HostProbe:
    """The result of a connection that was made to be closed."""

    address: str
    """The address; the host's name if it has none."""
    has_answered: bool


class Probes:
    """Tests our own side; a `Client` creates it with its own resolver, proxy and guard."""

    def __init__(
        self,
        *,
        resolver: Resolver,
        proxy: Proxy | None,
        allow: Sequence[Network],
        timeout_s: float,
        trust: TlsContexts,
    ) -> None:
        self._resolver, self._proxy, self._allow, self._trust = resolver, proxy, tuple(allow), trust
        self._limits = Limits(max_body=0, timeout_s=min(timeout_s, PROBE_TIMEOUT_S))

    @property
    def resolved_at(self) -> float:
        """When a name server last answered, in seconds of the event loop's clock; minus infinity if none ever did."""
        return self._resolver.answered_at

    async def name_server_problem(self) -> str:
        """Return why no name can be looked up; empty if the name servers work."""
        return await self._resolver.problem(self._limits.dns_s)

    async def proxy_problem(self, *, must_answer: bool) -> str:
        """Return why the proxy cannot be used; empty if it can. With `must_answer` the proxy must also answer a
        message, which concerns no server.
        """
        assert self._proxy is not None
        found = await self._resolver.addresses(self._proxy.host, self._limits.dns_s)
        if isinstance(found, FetchFailure):
            return f"the proxy {self._proxy.endpoint}: {found.detail}"
        try:
            async with asyncio.timeout(self._limits.connect_s):
                reader, writer = await asyncio.open_connection(found[0], self._proxy.port)
                try:
                    if not must_answer:
                        return ""
                    writer.write(self._proxy.greeting)
                    first_byte = await reader.read(1)
                finally:
                    writer.close()
        except OSError as error:
            return f"the proxy {self._proxy.endpoint}: {connection_failure(error).detail}"
        return (
            "" if first_byte else f"the proxy {self._proxy.endpoint} closes its connections and says nothing"
        )

    def route_problem(self, address: str = "") -> str:
        """Return why neither `address` nor any network but this machine's own can be reached; empty if one can. No
        packet is sent.
        """
        if any(map(_is_routed, (address, *_FAR_AWAY))):
            return ""
        return "this machine has no route to another network"

    async def address(self, url: Url) -> str:
        """Return the address that a URL leads to; its host's name if it has no address, or if a proxy looks it up."""
        if self._proxy is None or not self._proxy.resolves_names:
            found = await self._resolver.addresses(parse_target(url.wire).host, self._limits.dns_s)
            if not isinstance(found, FetchFailure):
                return effective_address(found[0])
        return url.host

    async def probe_host(self, url: Url) -> HostProbe | None:
        """Return whether anybody answers where a URL leads; None if only a request for a page could tell."""
        place = parse_target(url.wire)
        if self._proxy is not None and self._proxy.resolves_names:
            if place.scheme == "http":
                return None
            address = place.host
        else:
            found = await self._resolver.addresses(place.host, self._limits.dns_s)
            if isinstance(found, FetchFailure):
                return None if found.symptom == "denied" else HostProbe(address=url.host, has_answered=False)
            address = next((one for one in found if not is_blocked(one, self._allow)), "")
            if not address:
                return None
        proxy = None
        if self._proxy is not None:
            where = await self._resolver.addresses(self._proxy.host, self._limits.dns_s)
            if isinstance(where, FetchFailure):
                return HostProbe(address=effective_address(address), has_answered=False)
            proxy = (self._proxy, where[0])
        dial = Dialer(allow=self._allow, limits=self._limits, trust=self._trust, proxy=proxy)
        dialed = await dial.open(place, address, None, acquire_at_once, h2=False)
        if isinstance(dialed, FetchFailure):
            # A handshake that did not end shows that somebody accepted the connection.
            took = dialed.symptom == "answered" or dialed.reason == "timeout_tls"
            return HostProbe(address=effective_address(address), has_answered=took)
        assert isinstance(dialed, DialedConnection)
        dialed.connection.close()
        return HostProbe(address=effective_address(address), has_answered=True)


def _is_routed(address: str) -> bool:
    """Return whether the kernel has a route to an address: connecting a datagram socket sends nothing."""
    if not is_address(address):
        return False
    try:
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((address, _DISCARD))
    except OSError:
        return False
    return True
