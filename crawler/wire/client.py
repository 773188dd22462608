"""`Client`: send one request, and return exactly what went over the wire. The rules are in `crawler.wire`."""

import asyncio
import ssl
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass

from thresher.core import Capture, Url
from thresher.core.capture import Timing, Truncation
from thresher.crawler.recent_set import RecentSet
from thresher.crawler.wire.cookies import CookieJar
from thresher.crawler.wire.credentials import credentials, headers_for
from thresher.crawler.wire.fetch_failure import (
    Acquire,
    FailureReason,
    FetchFailure,
    Postponement,
    Symptom,
    acquire_at_once,
    utc_ms,
)
from thresher.crawler.wire.http.exchange import ExchangeFailure, ExchangeResult
from thresher.crawler.wire.http.pool import Connection, Pool
from thresher.crawler.wire.http.request import (
    HeaderList,
    Request,
    Target,
    build_request,
    common_headers,
    parse_target,
)
from thresher.crawler.wire.limits import Limits
from thresher.crawler.wire.network import proxy as proxies
from thresher.crawler.wire.network.address import (
    choose_addresses,
    effective_address,
    is_blocked,
    parse_networks,
)
from thresher.crawler.wire.network.dial import ADDRESS_BLOCKED, DialedConnection, Dialer
from thresher.crawler.wire.network.dns import MAX_CACHED_HOSTS, Resolver
from thresher.crawler.wire.network.guard import NAME_BLOCKED, PORT_BLOCKED, is_port_allowed, is_private_name
from thresher.crawler.wire.network.probes import Probes
from thresher.crawler.wire.network.tls import TlsContexts
from thresher.crawler.wire.redaction import private_message, private_request
from thresher.crawler.wire.sent_exchange import SentExchange
from thresher.crawler.wire.session import Session
from thresher.crawler.wire_settings import WireSettings

PROXY_AUTH_REQUIRED = 407
"""RFC 9110, section 15.5.8: not the server sends it, but the proxy in front of it."""
MAX_HTTP1_ORIGINS = 10_000
"""Origins that are cached as breaking h2, at most."""
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
    """One exchange in progress, and what it may still take."""

    url: Url
    request: Request
    limits: Limits
    acquire: Acquire
    remaining_s: float
    dns_ms: int
    with_credentials: bool
    session: Session | None
    is_private: bool
    proxy: proxies.Proxy | None
    page_address: str | None
    in_burst: bool
    sent_at: float | None = None
    """When the first request was sent."""
    requests: int = 0
    bytes_received: int = 0


class Client:
    """Sends requests; bounded in bytes, in time, and in the addresses that it contacts.

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
        on_exchange: Callable[[SentExchange], None] | None = None,
    ) -> None:
        """Raise `InputError` if a name server, the proxy or a table of credentials in `settings` is malformed.

        `clock_ms` dates the captures. `tls` verifies certificates in place of the system's authorities. `on_request` is
        called with the address immediately before a request is sent to it; if it raises, nothing is sent, and `get`
        raises the same. `on_exchange` is called at the end of each `get` that sent a request.
        """
        self._limits = Limits(max_body=settings.max_body, timeout_s=settings.timeout)
        self._clock_ms, self._allow = clock_ms, parse_networks(settings.allow_networks)
        self.user_agent = user_agent
        self._credentials = credentials(settings.auth)
        self._on_request, self._on_exchange = on_request, on_exchange
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
        self._unreached = RecentSet(MAX_CACHED_HOSTS)  # hosts whose first address could not be reached
        self._http1_only = RecentSet(MAX_HTTP1_ORIGINS)

    async def get(  # noqa: PLR0913 - options of a request, with defaults
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
        session: Session | None = None,
        is_private: bool = False,
        page_address: str | None = None,
        in_burst: bool = False,
    ) -> Capture | FetchFailure | Postponement:
        """Request `url.wire`. Never raise for what a server or the network does; raise only what `acquire` and
        `on_request` raise.

        `headers` replace our headers of the same name. `timeout_s` is the wait for the first byte, in seconds; the
        limits of the other parts follow from it (`crawler.wire.limits`). The wait for `acquire` does not count. With
        `with_credentials` false the server receives neither cookies nor the credentials of its domain, and sets no
        cookie. `session` is the login that the request is under: its cookies, user agent and proxy take the place of
        the client's, if it covers the host. With a session that does not, too, and if `is_private`, nothing that
        carries a login is in the capture (`crawler.wire.redaction`). `page_address` is the address of the page on whose
        behalf the request is sent; empty if that is unknown, None if there is no such page
        (`crawler.wire.network.address`). `in_burst` goes into the `SentExchange`.
        """
        limits = self._limits
        if max_body is not None or timeout_s is not None:
            limits = Limits(
                max_body=limits.max_body if max_body is None else max_body,
                timeout_s=limits.timeout_s if timeout_s is None else timeout_s,
            )
        started_at = time.monotonic()
        is_private = is_private or session is not None
        if session is not None and not (with_credentials and session.covers(url.host)):
            session = None
        place = parse_target(url.wire)
        proxy = self._proxy if session is None or session.proxy is None else session.proxy
        found = await self._addresses(place, url.host, limits, page_address, proxy)
        if isinstance(found, FetchFailure):
            return found
        elapsed_s = time.monotonic() - started_at
        request = self._request(place, headers, method, body, session, with_credentials=with_credentials)
        exchange = _Exchange(
            url=url,
            request=private_request(request) if is_private else request,
            limits=limits,
            acquire=acquire,
            remaining_s=limits.total_s - elapsed_s,
            dns_ms=round(elapsed_s * 1000),
            with_credentials=with_credentials,
            session=session,
            is_private=is_private,
            proxy=proxy,
            page_address=page_address,
            in_burst=in_burst,
        )
        if wait := await acquire(effective_address(found[0])):
            return Postponement(wait_ms=wait)
        try:
            result = await self._send_on_pooled(exchange, found)
        finally:
            self._report_exchange(exchange)
        if isinstance(result, Capture) and result.status == PROXY_AUTH_REQUIRED and _speaks_for(proxy, place):
            return FetchFailure(reason="proxy", detail="the proxy wants a password (407)", symptom="no_proxy")
        return result

    def _report_exchange(self, exchange: _Exchange) -> None:
        if self._on_exchange is not None and exchange.sent_at is not None:
            self._on_exchange(
                SentExchange(
                    host=exchange.url.host,
                    started_at=exchange.sent_at,
                    ended_at=time.monotonic(),
                    requests=exchange.requests,
                    bytes_received=exchange.bytes_received,
                    in_burst=exchange.in_burst,
                )
            )

    def add_cookies(self, cookies: Iterable[tuple[str, str]]) -> None:
        """Store cookies that another client received: the URL whose response set one, and its Set-Cookie header. A
        cookie whose name is stored already keeps its value. Do nothing if this client stores no cookies.
        """
        if self._cookies is not None:
            for url, cookie in cookies:
                self._cookies.store(parse_target(url), (("Set-Cookie", cookie),), new_only=True)

    def has_credentials(self, url: Url) -> bool:
        """Return whether a request for `url` would carry cookies, or the credentials of its domain."""
        place = parse_target(url.wire)
        cookie_header = self._cookies is not None and self._cookies.header(place)
        return bool(cookie_header or headers_for(place, self._credentials))

    async def close(self) -> None:
        """Close every connection."""
        self._pool.close()
        self._resolver.close()
        await asyncio.sleep(0)  # lets the transports close

    async def _addresses(
        self, place: Target, host: str, limits: Limits, page_address: str | None, proxy: proxies.Proxy | None
    ) -> list[str] | FetchFailure:
        """Return the addresses of a host to try: the same ones for the same DNS answer, whoever the caller is."""
        found = await self._resolver.addresses(place.host, limits.dns_s)
        if isinstance(found, FetchFailure):
            by_proxy = proxy is not None and proxy.resolves_names
            return self._resolve_by_proxy(place) if by_proxy else found
        reached = [one for one in found if not is_blocked(one, self._allow, page_address)]
        if not reached:
            return ADDRESS_BLOCKED
        chosen = choose_addresses(
            [one for one in reached if is_port_allowed(place.port, one, self._allow)], host
        )
        if not chosen:
            return PORT_BLOCKED
        if proxy is not None and proxy.resolves_names:
            return chosen[:1]
        return chosen[::-1] if host in self._unreached else chosen

    def _resolve_by_proxy(self, place: Target) -> list[str] | FetchFailure:
        """Return a name that our name servers do not know, for a proxy that may know it."""
        if is_private_name(place.host):
            return NAME_BLOCKED
        return [place.host] if is_port_allowed(place.port, place.host, self._allow) else PORT_BLOCKED

    def _request(
        self,
        place: Target,
        headers: HeaderList,
        method: str,
        body: bytes,
        session: Session | None,
        *,
        with_credentials: bool,
    ) -> Request:
        ours: HeaderList = common_headers((session and session.user_agent) or self.user_agent)
        if not with_credentials:
            return build_request(place, ours, headers, method=method, body=body)
        if session is not None:
            headers = session.request_headers(place, headers)
        elif self._cookies is not None and (cookie_header := self._cookies.header(place)):
            ours = (*ours, ("Cookie", cookie_header))
        secret = headers_for(place, self._credentials) if self._credentials else ()
        return build_request(place, ours, headers, secret, method=method, body=body)

    async def _send_on_pooled(
        self, exchange: _Exchange, addresses: list[str]
    ) -> Capture | FetchFailure | Postponement:
        """Send over a pooled connection; over a new one if there is none, or if the pooled one closed before it
        answered.
        """
        pooled = self._pool.take(self._key(exchange, addresses[0]))
        if pooled is not None:
            result = await self._exchange_on(exchange, pooled, addresses[0])
            if not isinstance(result, ExchangeResult):
                return result
            closed = result.failure == "disconnect" and result.first_byte_ms is None
            broken = pooled.protocol == "h2" and result.failure in _H2_FAILURES
            if exchange.request.method not in _SAFE or not (closed or broken):
                return self._fetch_failure(exchange, result)
        return await self._send_on_new(exchange, addresses)

    async def _send_on_new(
        self, exchange: _Exchange, addresses: list[str]
    ) -> Capture | FetchFailure | Postponement:
        host = exchange.url.host
        fallback = addresses[1] if len(addresses) > 1 else None
        dialed = await self._dial(exchange, addresses[0], fallback)
        if not isinstance(dialed, DialedConnection):
            if fallback is not None and (isinstance(dialed, Postponement) or dialed.reason in _UNREACHED):
                self._unreached.toggle(host)
            return dialed
        if dialed.address != addresses[0]:
            self._unreached.toggle(host)
        result = await self._exchange_on(exchange, dialed.connection, dialed.address, dialed)
        if not isinstance(result, ExchangeResult):
            return result
        broken = dialed.connection.protocol == "h2" and result.failure in _H2_FAILURES
        if broken and exchange.request.method in _SAFE:
            return await self._without_h2(exchange, dialed.address)
        return self._fetch_failure(exchange, result)

    async def _without_h2(self, exchange: _Exchange, address: str) -> Capture | FetchFailure | Postponement:
        """Repeat the request in HTTP/1.1 to the acquired address, and use HTTP/1.1 for this origin from now on."""
        if exchange.url.origin not in self._http1_only:
            self._http1_only.add(exchange.url.origin)
        dialed = await self._dial(exchange, address, None)
        if not isinstance(dialed, DialedConnection):
            return dialed
        result = await self._exchange_on(exchange, dialed.connection, address, dialed)
        return self._fetch_failure(exchange, result) if isinstance(result, ExchangeResult) else result

    async def _dial(
        self, exchange: _Exchange, address: str, fallback: str | None
    ) -> DialedConnection | FetchFailure | Postponement:
        """Open a connection. Its time counts, except the wait for the fallback's turn."""
        place = exchange.request.target
        proxy = None
        if exchange.proxy is not None:
            where = await self._resolver.addresses(exchange.proxy.host, exchange.limits.dns_s)
            if isinstance(where, FetchFailure):
                return proxies.proxy_failure(exchange.proxy, where)
            proxy = (exchange.proxy, where[0])
        dial = Dialer(
            allow=self._allow,
            limits=exchange.limits,
            trust=self._trust,
            accept_untrusted=self._accept_untrusted,
            proxy=proxy,
            page_address=exchange.page_address,
        )
        h2 = exchange.url.origin not in self._http1_only
        started_at, waited = time.monotonic(), 0.0

        async def acquire(where: str) -> int:
            nonlocal waited
            acquiring_since = time.monotonic()
            try:
                return await exchange.acquire(where)
            finally:
                waited += time.monotonic() - acquiring_since

        dialed = await dial.open(place, address, fallback, acquire, h2=h2)
        exchange.remaining_s -= time.monotonic() - started_at - waited
        return dialed

    async def _exchange_on(
        self,
        exchange: _Exchange,
        connection: Connection,
        address: str,
        dialed: DialedConnection | None = None,
    ) -> Capture | ExchangeResult:
        """Have the exchange; return its `ExchangeResult` if no response came."""
        started_ms, started_at = self._clock_ms(), time.monotonic()
        try:
            if self._on_request is not None:
                self._on_request(effective_address(address))
            exchange.requests += 1
            exchange.sent_at = exchange.sent_at or started_at
            result = await connection.exchange(exchange.request, exchange.limits, exchange.remaining_s)
        except BaseException:
            connection.close()
            raise
        elapsed = time.monotonic() - started_at
        exchange.remaining_s -= elapsed
        if connection.is_usable:
            self._pool.put(self._key(exchange, address), connection)
        message = result.message
        if message is None:
            return result
        exchange.bytes_received += len(message.response)
        jar = self._cookies if exchange.session is None else exchange.session.cookies
        if jar is not None and exchange.with_credentials:
            jar.store(exchange.request.target, message.headers)
        if exchange.is_private:
            message = private_message(message)
        return Capture(
            url=exchange.url,
            request=result.request,
            response=message.response,
            head_length=message.head_length,
            status=message.status,
            headers=message.headers,
            payload=message.payload,
            started_ms=started_ms,
            elapsed_ms=round(elapsed * 1000),
            peer=connection.peer,
            truncated=_truncation(result),
            protocol=connection.protocol,
            tls=connection.tls,
            timing=Timing(
                dns_ms=exchange.dns_ms,
                connect_ms=None if dialed is None else dialed.connect_ms,
                tls_ms=None if dialed is None else dialed.tls_ms,
                first_byte_ms=result.first_byte_ms,
            ),
        )

    def _fetch_failure(self, exchange: _Exchange, result: ExchangeResult) -> FetchFailure:
        """Return the failure of an exchange without a response."""
        reason, symptom = _FAILURE_MEANINGS.get(result.failure, ("protocol", "answered"))
        if _speaks_for(exchange.proxy, exchange.request.target) and result.first_byte_ms is None:
            symptom = "mute_proxy"
        return FetchFailure(reason=reason, detail=result.detail or "no response", symptom=symptom)

    def _key(self, exchange: _Exchange, address: str) -> Hashable:
        place = exchange.request.target
        return (place.scheme, place.host, place.port, effective_address(address), exchange.session)


def _speaks_for(proxy: proxies.Proxy | None, place: Target) -> bool:
    """Return whether the proxy, and not the server, answers on the connection."""
    return proxy is not None and proxy.resolves_names and place.scheme == "http"


def _truncation(result: ExchangeResult) -> Truncation | None:
    message = result.message
    if message is None or message.is_complete:
        return None
    if message.is_over_limit:
        return "length"
    match result.failure:
        case None:
            return None
        case "time" | "first_byte":
            return "time"
        case "disconnect":
            return "disconnect"
    return "unspecified"
