"""`Client`: one request, and exactly what it put on the wire. The rules are in `crawler.wire`."""

import asyncio
import ssl
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from core import Capture, Url
from core.capture import Timing, Truncation
from crawler.recent_set import Recent
from crawler.wire.cookies import Cookies
from crawler.wire.credentials import credentials, headers_for
from crawler.wire.fetch_failure import Enter, Failure, Reason, Sign, Wait, at_once, utc_ms
from crawler.wire.http.exchange import Heard, Trouble
from crawler.wire.http.pool import Connection, Pool
from crawler.wire.http.request import HeaderList, Request, Target, common, request, target
from crawler.wire.limits import Limits
from crawler.wire.network import proxy as proxies
from crawler.wire.network.address import Network, blocked, meant
from crawler.wire.network.dial import BLOCKED, Dial, Dialled
from crawler.wire.network.dns import HOSTS, Resolver
from crawler.wire.network.guard import NAME_BLOCKED, PORT_BLOCKED, admits_port, is_private_name
from crawler.wire.network.probes import Probes
from crawler.wire.network.tls import Trust

TRIED = 2
"""Addresses of one host that one exchange tries."""
PROXY_ASKS = 407
"""RFC 9110, section 15.5.8: not of a server, but of the proxy before it."""
PINNED = 10_000
"""Origins that are remembered to break h2."""
_TROUBLES: Mapping[Trouble | None, tuple[Reason, Sign]] = {
    "first_byte": ("timeout_first_byte", "silent"),
    "time": ("timeout", "answered"),
    "disconnect": ("reset", "answered"),
}
_SAFE = frozenset({"GET", "HEAD"})
_BREAKS = frozenset({"protocol", "disconnect"})
_UNREACHED: frozenset[Reason] = frozenset({"refused", "reset", "timeout_connect", "unreachable"})


@dataclass(slots=True, kw_only=True)
class _Exchange:
    """One exchange on its way, and what it may still take."""

    url: Url
    asked: Request
    limits: Limits
    enter: Enter
    left_s: float
    dns_ms: int
    credentials: bool
    asker: str | None


class Client:
    """Asks servers; bounded in bytes, in time, and in the addresses that it contacts.

    To be made inside a running event loop. `clock_ms` dates the captures. `verify_tls` false takes servers whose
    certificate is not trusted, and notes that. `tls` verifies in place of the system's authorities.
    """

    def __init__(
        self,
        *,
        user_agent: str,
        max_body: int,
        timeout_s: float,
        allow: Sequence[Network] = (),
        clock_ms: Callable[[], int] = utc_ms,
        tls: ssl.SSLContext | None = None,
        verify_tls: bool = True,
        nameservers: Sequence[str] = (),
        proxy: str = "",
        cookies: bool = False,
        auth: Mapping[str, Mapping[str, Any]] | None = None,
        asked: Callable[[str], None] | None = None,
    ) -> None:
        """`asked` is told each address when a request is about to be sent to it; if it raises, nothing is sent, and `get` raises
        the same.

        `InputError` where a name server, the proxy or what is told to a domain is written wrong.
        """
        self._limits, self._clock_ms, self._allow = (
            Limits(max_body=max_body, timeout_s=timeout_s),
            clock_ms,
            tuple(allow),
        )
        self.user_agent = user_agent
        self._credentials = credentials(auth or {})
        self._asked = asked
        self._cookies = Cookies(lambda: clock_ms() / 1000) if cookies else None
        self._proxy = proxies.parse(proxy) if proxy else None
        self._trust, self._record = Trust(tls), not verify_tls
        self._resolver, self._pool = Resolver(nameservers), Pool()
        self.probes = Probes(
            resolver=self._resolver,
            proxy=self._proxy,
            allow=self._allow,
            timeout_s=timeout_s,
            trust=self._trust,
        )
        self._unreached = Recent(HOSTS)  # hosts whose first address nobody could be reached at
        self._http1_only = Recent(PINNED)

    async def get(
        self,
        url: Url,
        enter: Enter = at_once,
        *,
        headers: HeaderList = (),
        method: str = "GET",
        body: bytes = b"",
        max_body: int | None = None,
        timeout_s: float | None = None,
        credentials: bool = True,
        asker: str | None = None,
    ) -> Capture | Failure | Wait:
        """Ask for `url.wire`; never raises for anything that a server or the network does, only what `enter` and `asked` raise.

        `headers` take the place of ours of the same name. `timeout_s` is the patience for the first byte; the limits of
        the other parts follow from it (`crawler.wire.limits`). The time for which `enter` is waited for does not count.
        Without `credentials` the server learns neither cookies nor what the configuration tells its domain, and sets no cookie.
        `asker` is the address of the page that wants it, if one does; empty where that is not known (`crawler.wire.network.address`).
        """
        limits = self._limits
        if max_body is not None or timeout_s is not None:
            limits = Limits(
                max_body=limits.max_body if max_body is None else max_body,
                timeout_s=limits.timeout_s if timeout_s is None else timeout_s,
            )
        begun = time.monotonic()
        place = target(url.wire)
        found = await self._addresses(place, url.host, limits, asker)
        if isinstance(found, Failure):
            return found
        took = time.monotonic() - begun
        exchange = _Exchange(
            url=url,
            asked=self._request(place, headers, method, body, credentials=credentials),
            limits=limits,
            enter=enter,
            left_s=limits.total_s - took,
            dns_ms=round(took * 1000),
            credentials=credentials,
            asker=asker,
        )
        if wait := await enter(meant(found[0])):
            return Wait(ms=wait)
        came = await self._over_kept(exchange, found)
        if isinstance(came, Capture) and came.status == PROXY_ASKS and self._speaks_for(place):
            return Failure(reason="proxy", detail="the proxy wants a password (407)", sign="no_proxy")
        return came

    def learn(self, cookies: Iterable[tuple[str, str]]) -> None:
        """Take up cookies that another client was told: the URL whose answer set one, and its Set-Cookie header. One that is known
        by its name is left as it is. Nothing is done where cookies are not kept.
        """
        if self._cookies is not None:
            for url, cookie in cookies:
                self._cookies.take(target(url), (("Set-Cookie", cookie),), unknown_only=True)

    def has_credentials(self, url: Url) -> bool:
        """Whether a request for `url` would carry cookies, or what the configuration tells its domain."""
        place = target(url.wire)
        told = self._cookies is not None and self._cookies.header(place)
        return bool(told or headers_for(place, self._credentials))

    async def close(self) -> None:
        """Close every connection."""
        self._pool.close()
        self._resolver.close()
        await asyncio.sleep(0)  # the transports say goodbye

    async def _addresses(
        self, place: Target, host: str, limits: Limits, asker: str | None
    ) -> list[str] | Failure:
        """Of the addresses of a host those to be tried: for the same answer of DNS the same, whoever asks."""
        found = await self._resolver.addresses(place.host, limits.dns_s)
        if isinstance(found, Failure):
            by_proxy = self._proxy is not None and self._proxy.resolves
            return self._name(place) if by_proxy else found
        reached = [one for one in found if not blocked(one, self._allow, asker)]
        if not reached:
            return BLOCKED
        chosen = _chosen([one for one in reached if admits_port(place.port, one, self._allow)], host)
        if not chosen:
            return PORT_BLOCKED
        if self._proxy is not None and self._proxy.resolves:
            return chosen[:1]
        return chosen[::-1] if host in self._unreached else chosen

    def _name(self, place: Target) -> list[str] | Failure:
        """A name that nobody here knows, for a proxy that may."""
        if is_private_name(place.host):
            return NAME_BLOCKED
        return [place.host] if admits_port(place.port, place.host, self._allow) else PORT_BLOCKED

    def _request(
        self, place: Target, headers: HeaderList, method: str, body: bytes, *, credentials: bool
    ) -> Request:
        ours: HeaderList = common(self.user_agent)
        if not credentials:
            return request(place, ours, headers, method=method, body=body)
        if self._cookies is not None and (told := self._cookies.header(place)):
            ours = (*ours, ("Cookie", told))
        secret = headers_for(place, self._credentials) if self._credentials else ()
        return request(place, ours, headers, secret, method=method, body=body)

    async def _over_kept(self, exchange: _Exchange, addresses: list[str]) -> Capture | Failure | Wait:
        """Over a connection that is there; anew where there is none, or it closed before it had answered."""
        kept = self._pool.take(self._key(exchange, addresses[0]))
        if kept is not None:
            came = await self._converse(exchange, kept, addresses[0])
            if not isinstance(came, Heard):
                return came
            closed = came.trouble == "disconnect" and came.first_byte_ms is None
            broken = kept.protocol == "h2" and came.trouble in _BREAKS
            if exchange.asked.method not in _SAFE or not (closed or broken):
                return self._failed(exchange, came)
        return await self._over_new(exchange, addresses)

    async def _over_new(self, exchange: _Exchange, addresses: list[str]) -> Capture | Failure | Wait:
        host = exchange.url.host
        rival = addresses[1] if len(addresses) > 1 else None
        dialled = await self._dial(exchange, addresses[0], rival)
        if not isinstance(dialled, Dialled):
            if rival is not None and (isinstance(dialled, Wait) or dialled.reason in _UNREACHED):
                self._unreached.turn(host)
            return dialled
        if dialled.address != addresses[0]:
            self._unreached.turn(host)
        came = await self._converse(exchange, dialled.connection, dialled.address, dialled)
        if not isinstance(came, Heard):
            return came
        broken = dialled.connection.protocol == "h2" and came.trouble in _BREAKS
        if broken and exchange.asked.method in _SAFE:
            return await self._without_h2(exchange, dialled.address)
        return self._failed(exchange, came)

    async def _without_h2(self, exchange: _Exchange, address: str) -> Capture | Failure | Wait:
        """Once more in HTTP/1.1, as every time from now on: to the address that was entered."""
        if exchange.url.origin not in self._http1_only:
            self._http1_only.add(exchange.url.origin)
        dialled = await self._dial(exchange, address, None)
        if not isinstance(dialled, Dialled):
            return dialled
        came = await self._converse(exchange, dialled.connection, address, dialled)
        return self._failed(exchange, came) if isinstance(came, Heard) else came

    async def _dial(self, exchange: _Exchange, address: str, rival: str | None) -> Dialled | Failure | Wait:
        """Open a connection. The time that this takes counts, but for that of the rival's turn."""
        place = exchange.asked.target
        proxy = None
        if self._proxy is not None:
            where = await self._resolver.addresses(self._proxy.host, exchange.limits.dns_s)
            if isinstance(where, Failure):
                return proxies.proxy_failure(self._proxy, where)
            proxy = (self._proxy, where[0])
        dial = Dial(
            allow=self._allow,
            limits=exchange.limits,
            trust=self._trust,
            record=self._record,
            proxy=proxy,
            asker=exchange.asker,
        )
        h2 = exchange.url.origin not in self._http1_only
        begun, waited = time.monotonic(), 0.0

        async def enter(where: str) -> int:
            nonlocal waited
            asked = time.monotonic()
            try:
                return await exchange.enter(where)
            finally:
                waited += time.monotonic() - asked

        dialled = await dial.open(place, address, rival, enter, h2=h2)
        exchange.left_s -= time.monotonic() - begun - waited
        return dialled

    async def _converse(
        self, exchange: _Exchange, connection: Connection, address: str, dialled: Dialled | None = None
    ) -> Capture | Heard:
        """Have the exchange; what was heard where no response came of it."""
        started_ms, begun = self._clock_ms(), time.monotonic()
        try:
            if self._asked is not None:
                self._asked(meant(address))
            heard = await connection.converse(exchange.asked, exchange.limits, exchange.left_s)
        except BaseException:
            connection.close()
            raise
        elapsed = time.monotonic() - begun
        exchange.left_s -= elapsed
        if connection.usable:
            self._pool.give(self._key(exchange, address), connection)
        message = heard.message
        if message is None:
            return heard
        if self._cookies is not None and exchange.credentials:
            self._cookies.take(exchange.asked.target, message.headers)
        return Capture(
            url=exchange.url,
            request=heard.sent,
            response=message.response,
            head_length=message.head_length,
            status=message.status,
            headers=message.headers,
            payload=message.payload,
            started_ms=started_ms,
            elapsed_ms=round(elapsed * 1000),
            peer=connection.peer,
            truncated=_truncation(heard),
            protocol=connection.protocol,
            tls=connection.tls,
            timing=Timing(
                dns_ms=exchange.dns_ms,
                connect_ms=None if dialled is None else dialled.connect_ms,
                tls_ms=None if dialled is None else dialled.tls_ms,
                first_byte_ms=heard.first_byte_ms,
            ),
        )

    def _failed(self, exchange: _Exchange, heard: Heard) -> Failure:
        """What it comes to that no response came over a connection."""
        reason, sign = _TROUBLES.get(heard.trouble, ("protocol", "answered"))
        if self._speaks_for(exchange.asked.target) and heard.first_byte_ms is None:
            sign = "mute_proxy"
        return Failure(reason=reason, detail=heard.detail or "no response", sign=sign)

    def _speaks_for(self, place: Target) -> bool:
        """Whether what answers in the place of a server is the proxy."""
        return self._proxy is not None and self._proxy.resolves and place.scheme == "http"

    def _key(self, exchange: _Exchange, address: str) -> Hashable:
        place = exchange.asked.target
        return (place.scheme, place.host, place.port, meant(address))


def _chosen(addresses: list[str], host: str) -> list[str]:
    """Two of some addresses, IPv4 first. Hosts that share many are spread over them, and one host keeps to its own."""
    if len(addresses) == 1:
        return addresses
    families = ([one for one in addresses if ":" not in one], [one for one in addresses if ":" in one])
    turn = crc32(host.encode())
    for family in families:
        family.sort()
        first = turn % max(len(family), 1)
        family[:] = family[first:] + family[:first]
    four, six = families
    return [*four[:1], *six[:1], *four[1:], *six[1:]][:TRIED]


def _truncation(heard: Heard) -> Truncation | None:
    message = heard.message
    if message is None or message.ended:
        return None
    if message.cut:
        return "length"
    match heard.trouble:
        case None:
            return None
        case "time" | "first_byte":
            return "time"
        case "disconnect":
            return "disconnect"
    return "unspecified"
