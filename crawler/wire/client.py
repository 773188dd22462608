"""`Client`: one request, and exactly what it put on the wire. The rules are in `crawler.wire`."""

import asyncio
import ssl
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from zlib import crc32

from core import Capture, Url
from core.capture import Timing, Truncation
from crawler.recent_set import RecentSet
from crawler.wire.cookies import CookieJar
from crawler.wire.credentials import credentials, headers_for
from crawler.wire.fetch_failure import (
    Acquire,
    FailureReason,
    FetchFailure,
    Postponement,
    Symptom,
    acquire_at_once,
    utc_ms,
)
from crawler.wire.http.exchange import ExchangeFailure, ExchangeResult
from crawler.wire.http.pool import Connection, Pool
from crawler.wire.http.request import HeaderList, Request, Target, build_request, common_headers, parse_target
from crawler.wire.limits import Limits
from crawler.wire.network import proxy as proxies
from crawler.wire.network.address import effective_address, is_blocked, parse_networks
from crawler.wire.network.dial import ADDRESS_BLOCKED, DialedConnection, Dialer
from crawler.wire.network.dns import MAX_CACHED_HOSTS, Resolver
from crawler.wire.network.guard import NAME_BLOCKED, PORT_BLOCKED, is_port_allowed, is_private_name
from crawler.wire.network.probes import Probes
from crawler.wire.network.tls import TlsContexts
from crawler.wire.wire_settings import WireSettings

MAX_ADDRESSES_TRIED = 2
"""Addresses of one host that one exchange tries."""
PROXY_AUTH_REQUIRED = 407
"""RFC 9110, section 15.5.8: not of a server, but of the proxy before it."""
MAX_HTTP1_ORIGINS = 10_000
"""Origins that are remembered to break h2."""
_FAILURE_MEANINGS: Mapping[ExchangeFailure | None, tuple[FailureReason, Symptom]] = {
    "first_byte": ("timeout_first_byte", "silent"),
    "time": ("timeout", "answered"),
    "disconnect": ("reset", "answered"),
}
_SAFE = frozenset({"GET", "HEAD"})
_H2_FAILURES = frozenset({"protocol", "disconnect"})
_UNREACHED: frozenset[FailureReason] = frozenset({"refused", "reset", "timeout_connect", "unreachable"})


@dataclass(slots=True, kw_only=True)
class _Exchange:
    """One exchange on its way, and what it may still take."""

    url: Url
    request: Request
    limits: Limits
    acquire: Acquire
    remaining_s: float
    dns_ms: int
    with_credentials: bool
    page_address: str | None


class Client:
    """Asks servers; bounded in bytes, in time, and in the addresses that it contacts.

    Create it inside a running event loop.
    """

    def __init__(
        self,
        *,
        user_agent: str,
        settings: WireSettings,
        clock_ms: Callable[[], int] = utc_ms,
        tls: ssl.SSLContext | None = None,
        on_request: Callable[[str], None] | None = None,
    ) -> None:
        """Raise `InputError` if a name server, the proxy or a table of credentials in `settings` is wrong.

        `clock_ms` dates the captures. `tls` verifies certificates in place of the system's authorities. `on_request` is called with
        an address when a request is about to be sent to it; if it raises, nothing is sent, and `get` raises the same.
        """
        self._limits = Limits(max_body=settings.max_body, timeout_s=settings.timeout)
        self._clock_ms, self._allow = clock_ms, parse_networks(settings.allow_networks)
        self.user_agent = user_agent
        self._credentials = credentials(settings.auth)
        self._on_request = on_request
        self._cookies = CookieJar(lambda: clock_ms() / 1000) if settings.cookies else None
        self._proxy = proxies.parse_proxy(settings.proxy) if settings.proxy else None
        self._trust, self._accept_untrusted = TlsContexts(tls), not settings.verify_tls
        self._resolver, self._pool = Resolver(settings.nameservers), Pool()
        self.probes = Probes(
            resolver=self._resolver,
            proxy=self._proxy,
            allow=self._allow,
            timeout_s=settings.timeout,
            trust=self._trust,
        )
        self._unreached = RecentSet(MAX_CACHED_HOSTS)  # hosts whose first address nobody could be reached at
        self._http1_only = RecentSet(MAX_HTTP1_ORIGINS)

    async def get(
        self,
        url: Url,
        acquire: Acquire = acquire_at_once,
        *,
        headers: HeaderList = (),
        method: str = "GET",
        body: bytes = b"",
        max_body: int | None = None,
        timeout_s: float | None = None,
        with_credentials: bool = True,
        page_address: str | None = None,
    ) -> Capture | FetchFailure | Postponement:
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
        place = parse_target(url.wire)
        found = await self._addresses(place, url.host, limits, page_address)
        if isinstance(found, FetchFailure):
            return found
        took = time.monotonic() - begun
        exchange = _Exchange(
            url=url,
            request=self._request(place, headers, method, body, with_credentials=with_credentials),
            limits=limits,
            acquire=acquire,
            remaining_s=limits.total_s - took,
            dns_ms=round(took * 1000),
            with_credentials=with_credentials,
            page_address=page_address,
        )
        if wait := await acquire(effective_address(found[0])):
            return Postponement(wait_ms=wait)
        came = await self._send_on_pooled(exchange, found)
        if isinstance(came, Capture) and came.status == PROXY_AUTH_REQUIRED and self._speaks_for(place):
            return FetchFailure(reason="proxy", detail="the proxy wants a password (407)", symptom="no_proxy")
        return came

    def add_cookies(self, cookies: Iterable[tuple[str, str]]) -> None:
        """Take up cookies that another client was told: the URL whose answer set one, and its Set-Cookie header. One that is known
        by its name is left as it is. Nothing is done where cookies are not kept.
        """
        if self._cookies is not None:
            for url, cookie in cookies:
                self._cookies.store(parse_target(url), (("Set-Cookie", cookie),), new_only=True)

    def has_credentials(self, url: Url) -> bool:
        """Whether a request for `url` would carry cookies, or what the configuration tells its domain."""
        place = parse_target(url.wire)
        told = self._cookies is not None and self._cookies.header(place)
        return bool(told or headers_for(place, self._credentials))

    async def close(self) -> None:
        """Close every connection."""
        self._pool.close()
        self._resolver.close()
        await asyncio.sleep(0)  # the transports say goodbye

    async def _addresses(
        self, place: Target, host: str, limits: Limits, asker: str | None
    ) -> list[str] | FetchFailure:
        """Of the addresses of a host those to be tried: for the same answer of DNS the same, whoever asks."""
        found = await self._resolver.addresses(place.host, limits.dns_s)
        if isinstance(found, FetchFailure):
            by_proxy = self._proxy is not None and self._proxy.resolves_names
            return self._resolve_by_proxy(place) if by_proxy else found
        reached = [one for one in found if not is_blocked(one, self._allow, asker)]
        if not reached:
            return ADDRESS_BLOCKED
        chosen = _choose_addresses(
            [one for one in reached if is_port_allowed(place.port, one, self._allow)], host
        )
        if not chosen:
            return PORT_BLOCKED
        if self._proxy is not None and self._proxy.resolves_names:
            return chosen[:1]
        return chosen[::-1] if host in self._unreached else chosen

    def _resolve_by_proxy(self, place: Target) -> list[str] | FetchFailure:
        """A name that nobody here knows, for a proxy that may."""
        if is_private_name(place.host):
            return NAME_BLOCKED
        return [place.host] if is_port_allowed(place.port, place.host, self._allow) else PORT_BLOCKED

    def _request(
        self, place: Target, headers: HeaderList, method: str, body: bytes, *, with_credentials: bool
    ) -> Request:
        ours: HeaderList = common_headers(self.user_agent)
        if not with_credentials:
            return build_request(place, ours, headers, method=method, body=body)
        if self._cookies is not None and (told := self._cookies.header(place)):
            ours = (*ours, ("Cookie", told))
        secret = headers_for(place, self._credentials) if self._credentials else ()
        return build_request(place, ours, headers, secret, method=method, body=body)

    async def _send_on_pooled(
        self, exchange: _Exchange, addresses: list[str]
    ) -> Capture | FetchFailure | Postponement:
        """Over a connection that is there; anew where there is none, or it closed before it had answered."""
        kept = self._pool.take(self._key(exchange, addresses[0]))
        if kept is not None:
            came = await self._exchange_on(exchange, kept, addresses[0])
            if not isinstance(came, ExchangeResult):
                return came
            closed = came.failure == "disconnect" and came.first_byte_ms is None
            broken = kept.protocol == "h2" and came.failure in _H2_FAILURES
            if exchange.request.method not in _SAFE or not (closed or broken):
                return self._fetch_failure(exchange, came)
        return await self._send_on_new(exchange, addresses)

    async def _send_on_new(
        self, exchange: _Exchange, addresses: list[str]
    ) -> Capture | FetchFailure | Postponement:
        host = exchange.url.host
        rival = addresses[1] if len(addresses) > 1 else None
        dialled = await self._dial(exchange, addresses[0], rival)
        if not isinstance(dialled, DialedConnection):
            if rival is not None and (isinstance(dialled, Postponement) or dialled.reason in _UNREACHED):
                self._unreached.toggle(host)
            return dialled
        if dialled.address != addresses[0]:
            self._unreached.toggle(host)
        came = await self._exchange_on(exchange, dialled.connection, dialled.address, dialled)
        if not isinstance(came, ExchangeResult):
            return came
        broken = dialled.connection.protocol == "h2" and came.failure in _H2_FAILURES
        if broken and exchange.request.method in _SAFE:
            return await self._without_h2(exchange, dialled.address)
        return self._fetch_failure(exchange, came)

    async def _without_h2(self, exchange: _Exchange, address: str) -> Capture | FetchFailure | Postponement:
        """Once more in HTTP/1.1, as every time from now on: to the address that was entered."""
        if exchange.url.origin not in self._http1_only:
            self._http1_only.add(exchange.url.origin)
        dialled = await self._dial(exchange, address, None)
        if not isinstance(dialled, DialedConnection):
            return dialled
        came = await self._exchange_on(exchange, dialled.connection, address, dialled)
        return self._fetch_failure(exchange, came) if isinstance(came, ExchangeResult) else came

    async def _dial(
        self, exchange: _Exchange, address: str, rival: str | None
    ) -> DialedConnection | FetchFailure | Postponement:
        """Open a connection. The time that this takes counts, but for that of the rival's turn."""
        place = exchange.request.target
        proxy = None
        if self._proxy is not None:
            where = await self._resolver.addresses(self._proxy.host, exchange.limits.dns_s)
            if isinstance(where, FetchFailure):
                return proxies.proxy_failure(self._proxy, where)
            proxy = (self._proxy, where[0])
        dial = Dialer(
            allow=self._allow,
            limits=exchange.limits,
            trust=self._trust,
            accept_untrusted=self._accept_untrusted,
            proxy=proxy,
            page_address=exchange.page_address,
        )
        h2 = exchange.url.origin not in self._http1_only
        begun, waited = time.monotonic(), 0.0

        async def enter(where: str) -> int:
            nonlocal waited
            asked = time.monotonic()
            try:
                return await exchange.acquire(where)
            finally:
                waited += time.monotonic() - asked

        dialled = await dial.open(place, address, rival, enter, h2=h2)
        exchange.remaining_s -= time.monotonic() - begun - waited
        return dialled

    async def _exchange_on(
        self,
        exchange: _Exchange,
        connection: Connection,
        address: str,
        dialled: DialedConnection | None = None,
    ) -> Capture | ExchangeResult:
        """Have the exchange; what was heard where no response came of it."""
        started_ms, begun = self._clock_ms(), time.monotonic()
        try:
            if self._on_request is not None:
                self._on_request(effective_address(address))
            heard = await connection.exchange(exchange.request, exchange.limits, exchange.remaining_s)
        except BaseException:
            connection.close()
            raise
        elapsed = time.monotonic() - begun
        exchange.remaining_s -= elapsed
        if connection.is_usable:
            self._pool.put(self._key(exchange, address), connection)
        message = heard.message
        if message is None:
            return heard
        if self._cookies is not None and exchange.with_credentials:
            self._cookies.store(exchange.request.target, message.headers)
        return Capture(
            url=exchange.url,
            request=heard.request,
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

    def _fetch_failure(self, exchange: _Exchange, heard: ExchangeResult) -> FetchFailure:
        """What it comes to that no response came over a connection."""
        reason, sign = _FAILURE_MEANINGS.get(heard.failure, ("protocol", "answered"))
        if self._speaks_for(exchange.request.target) and heard.first_byte_ms is None:
            sign = "mute_proxy"
        return FetchFailure(reason=reason, detail=heard.detail or "no response", symptom=sign)

    def _speaks_for(self, place: Target) -> bool:
        """Whether what answers in the place of a server is the proxy."""
        return self._proxy is not None and self._proxy.resolves_names and place.scheme == "http"

    def _key(self, exchange: _Exchange, address: str) -> Hashable:
        place = exchange.request.target
        return (place.scheme, place.host, place.port, effective_address(address))


def _choose_addresses(addresses: list[str], host: str) -> list[str]:
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
    return [*four[:1], *six[:1], *four[1:], *six[1:]][:MAX_ADDRESSES_TRIED]


def _truncation(heard: ExchangeResult) -> Truncation | None:
    message = heard.message
    if message is None or message.is_complete:
        return None
    if message.is_over_limit:
        return "length"
    match heard.failure:
        case None:
            return None
        case "time" | "first_byte":
            return "time"
        case "disconnect":
            return "disconnect"
    return "unspecified"
