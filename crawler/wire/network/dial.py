"""`Dialer`: open a connection to an address for an exchange.

1. The guard judges the very address that a socket is opened for, immediately before the socket is opened.
2. The dialer connects to an address only after the address was acquired. If the first address does not answer within
   `CONNECTION_ATTEMPT_DELAY_S`, the dialer acquires one of the other family and tries it in parallel (RFC 8305); the
   attempt that connects first wins. If it is not the second address's turn, the first goes on alone.
3. The connection and the TLS handshake have limits of their own.
4. A certificate that is not trusted is a failure. With `accept_untrusted` the dialer connects again without
   verification instead.
"""

import asyncio
import socket
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from thresher.crawler.wire.fetch_failure import (
    Acquire,
    FetchFailure,
    Postponement,
    connection_failure,
    one_line,
)
from thresher.crawler.wire.http.http1 import Http1
from thresher.crawler.wire.http.http2 import Http2
from thresher.crawler.wire.http.pool import Connection
from thresher.crawler.wire.http.request import Target
from thresher.crawler.wire.limits import Limits
from thresher.crawler.wire.network.address import Network, effective_address, is_blocked
from thresher.crawler.wire.network.proxy import Proxy, ProxyError, proxy_failure, tunnel
from thresher.crawler.wire.network.timeout import time_limit
from thresher.crawler.wire.network.tls import (
    TlsContexts,
    certificate_problem,
    connection_tls,
    handshake_failure,
)

CONNECTION_ATTEMPT_DELAY_S = 0.25
"""How long the first address is tried alone (RFC 8305, section 5)."""
ADDRESS_BLOCKED = FetchFailure(reason="address_blocked", detail="address blocked")


@dataclass(frozen=True, slots=True, kw_only=True)
class DialedConnection:
    """An open connection, its address, and how long it took to open it."""

    connection: Connection
    address: str
    connect_ms: int
    tls_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _ConnectedSocket:
    """A connected socket."""

    socket: socket.socket
    address: str
    connect_ms: int


_Attempt = asyncio.Task[_ConnectedSocket | FetchFailure | Postponement]


class Dialer:
    """Opens connections."""

    def __init__(
        self,
        *,
        allow: Sequence[Network],
        limits: Limits,
        trust: TlsContexts,
        accept_untrusted: bool = False,
        proxy: tuple[Proxy, str] | None = None,
        page_address: str | None = None,
    ) -> None:
        """`accept_untrusted` accepts servers whose certificate is not trusted. `proxy` comes with its address.
        `page_address` is for the guard (`is_blocked`).
        """
        self._allow, self._limits, self._trust = tuple(allow), limits, trust
        self._accept_untrusted, self._proxy, self._page_address = accept_untrusted, proxy, page_address

    async def open(
        self, target: Target, address: str, fallback: str | None, acquire: Acquire, *, h2: bool
    ) -> DialedConnection | FetchFailure | Postponement:
        """Return a connection to `address`, which the caller acquired, or to `fallback`, which is acquired here. With
        `h2` it may speak HTTP/2.

        Return a `Postponement` if the first address cannot be reached and it is not the other's turn.
        """
        found = await self._race(target, address, fallback, acquire)
        if not isinstance(found, _ConnectedSocket):
            return found
        if target.scheme == "http":
            direct = self._proxy is None or not self._proxy[0].resolves_names
            return await self._open_plain(
                found, proxy=None if direct or self._proxy is None else self._proxy[0]
            )
        return await self._open_tls(target, found, h2=h2)

    async def _race(
        self, target: Target, address: str, fallback: str | None, acquire: Acquire
    ) -> _ConnectedSocket | FetchFailure | Postponement:
        if fallback is None:
            return await self._connect_to_server(target, address)
        first: _Attempt = asyncio.create_task(self._connect_to_server(target, address))
        attempts = [first]
        try:
            await asyncio.wait(attempts, timeout=CONNECTION_ATTEMPT_DELAY_S)
            if not first.done():
                attempts.append(asyncio.create_task(self._connect_fallback(target, None, fallback, acquire)))
            elif isinstance(failed := first.result(), FetchFailure):
                return await self._connect_fallback(target, failed, fallback, acquire)
            return await _first_connected(attempts)
        finally:
            await _cancel_attempts(attempts)

    async def _connect_fallback(
        self, target: Target, before: FetchFailure | None, address: str, acquire: Acquire
    ) -> _ConnectedSocket | FetchFailure | Postponement:
        """Acquire and try the second address, if the first could not be reached but might have been."""
        if before is not None and before.reason in {"address_blocked", "proxy"}:
            return before
        if wait := await acquire(effective_address(address)):
            return Postponement(wait_ms=wait)
        return await self._connect_to_server(target, address)

    async def _connect_to_server(self, target: Target, address: str) -> _ConnectedSocket | FetchFailure:
        """Return a socket that leads to the server: directly, or through the proxy."""
        if self._proxy is None:
            return await self._connect(address, target.port)
        proxy, where = self._proxy
        found = await self._connect(where, proxy.port, guarded=False)
        if isinstance(found, FetchFailure):
            return proxy_failure(proxy, found)
        if proxy.resolves_names and target.scheme == "http":
            return replace(found, address=address)
        try:
            async with time_limit(self._limits.connect_s):
                await tunnel(
                    proxy, found.socket, target.host if proxy.resolves_names else address, target.port
                )
        except (OSError, ProxyError) as error:
            found.socket.close()
            symptom = error.symptom if isinstance(error, ProxyError) else "mute_proxy"
            return FetchFailure(
                reason="proxy", detail=one_line(error, "the proxy did not answer"), symptom=symptom
            )
        except asyncio.CancelledError:
            found.socket.close()
            raise
        return replace(found, address=address)

    async def _connect(
        self, address: str, port: int, *, guarded: bool = True
    ) -> _ConnectedSocket | FetchFailure:
        if guarded and is_blocked(address, self._allow, self._page_address):
            return ADDRESS_BLOCKED
        started_at = time.monotonic()
        opened = None
        try:
            opened = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
            opened.setblocking(False)
            async with time_limit(self._limits.connect_s):
                await asyncio.get_running_loop().sock_connect(opened, (address, port))
        except BaseException as error:
            if opened is not None:
                opened.close()
            if not isinstance(error, OSError | OverflowError):
                raise
            return connection_failure(error)
        return _ConnectedSocket(socket=opened, address=address, connect_ms=_elapsed_ms(started_at))

    async def _open_plain(
        self, found: _ConnectedSocket, proxy: Proxy | None
    ) -> DialedConnection | FetchFailure:
        loop = asyncio.get_running_loop()
        connection = Http1(
            loop, absolute_form=proxy is not None, proxy_headers=() if proxy is None else proxy.headers
        )
        try:
            await loop.create_connection(lambda: connection, sock=found.socket)
        except OSError as error:
            found.socket.close()
            return connection_failure(error)
        connection.peer = self._peer(found.address)
        return DialedConnection(connection=connection, address=found.address, connect_ms=found.connect_ms)

    async def _open_tls(
        self, target: Target, found: _ConnectedSocket, *, h2: bool
    ) -> DialedConnection | FetchFailure:
        """Do the TLS handshake: with verification first. If that fails and untrusted servers are accepted, do it
        without.
        """
        result = await self._handshake(target, found, self._trust.context(h2=h2), "trusted")
        if self._accept_untrusted and isinstance(result, OSError):
            trust = certificate_problem(result)
            if trust is None:
                result = await self._reconnect(
                    target, found, self._trust.context(h2=h2, old_versions=True), "trusted"
                )
                trust = certificate_problem(result) if isinstance(result, OSError) else None
            if trust is not None:
                context = self._trust.context(h2=h2, verify=False, old_versions=True)
                result = await self._reconnect(target, found, context, trust)
        return handshake_failure(result) if isinstance(result, OSError) else result

    async def _reconnect(
        self, target: Target, before: _ConnectedSocket, context: ssl.SSLContext, trust: str
    ) -> DialedConnection | FetchFailure | OSError:
        found = await self._connect_to_server(target, before.address)
        return (
            found if isinstance(found, FetchFailure) else await self._handshake(target, found, context, trust)
        )

    async def _handshake(
        self, target: Target, found: _ConnectedSocket, context: ssl.SSLContext, trust: str
    ) -> DialedConnection | FetchFailure | OSError:
        loop, started_at = asyncio.get_running_loop(), time.monotonic()
        chooser = _AlpnProtocol(loop)
        try:
            async with time_limit(self._limits.tls_s):
                await loop.create_connection(
                    lambda: chooser, sock=found.socket, ssl=context, server_hostname=target.host
                )
        except TimeoutError:
            found.socket.close()
            return FetchFailure(reason="timeout_tls", detail="no end of the TLS handshake", symptom="silent")
        except OSError as error:
            found.socket.close()
            return error
        except ValueError as error:  # no certificate can have such a name
            found.socket.close()
            return FetchFailure(reason="tls", detail=one_line(error), symptom="answered")
        connection = chooser.connection
        assert connection is not None
        connection.peer = self._peer(found.address)
        connection.tls = connection_tls(chooser.ssl_object, trust)
        return DialedConnection(
            connection=connection,
            address=found.address,
            connect_ms=found.connect_ms,
            tls_ms=_elapsed_ms(started_at),
        )

    def _peer(self, address: str) -> str:
        """Return the address of the peer; empty if a proxy has chosen it."""
        return "" if self._proxy is not None and self._proxy[0].resolves_names else address


class _AlpnProtocol(asyncio.Protocol):
    """Becomes the protocol that ALPN chooses, before the first byte is passed on."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.connection: Connection | None = None
        self.ssl_object: ssl.SSLObject

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.ssl_object = transport.get_extra_info("ssl_object")
        h2 = self.ssl_object.selected_alpn_protocol() == "h2"
        self.connection = Http2(self._loop) if h2 else Http1(self._loop)
        transport.set_protocol(self.connection)
        self.connection.connection_made(transport)


async def _first_connected(attempts: list[_Attempt]) -> _ConnectedSocket | FetchFailure | Postponement:
    """Return the socket that connects first, and remove its attempt from the list; without any, the last attempt's
    result.
    """
    running = set(attempts)
    while running:
        done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        for attempt in done:
            if isinstance(found := attempt.result(), _ConnectedSocket):
                attempts.remove(attempt)
                return found
    return attempts[-1].result()


async def _cancel_attempts(attempts: list[_Attempt]) -> None:
    """Cancel the attempts, and close the sockets that they opened nevertheless."""
    for attempt in attempts:
        attempt.cancel()
    for found in await asyncio.gather(*attempts, return_exceptions=True):
        if isinstance(found, _ConnectedSocket):
            found.socket.close()


def _elapsed_ms(started_at: float) -> int:
    return round((time.monotonic() - started_at) * 1000)
