"""`Dial`: from an address to a connection that an exchange can be had over.

1. The guard is asked of the very address that a socket is opened for, in the moment before it is.
2. An address is connected to only when it was entered. Where the first does not answer within `HEAD_START_S` one of the
   other family is entered and tried beside it (RFC 8305), and whoever is there first is taken; where it is not that
   one's turn, the first goes on alone.
3. The connection and the TLS handshake have limits of their own.
4. A certificate that is not trusted is a failure; where it is only to be noted (`record`), the connection is made anew.
"""

import asyncio
import socket
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from crawler.wire.fetch_failure import Acquire, FetchFailure, Postponement, connection_failure, one_line
from crawler.wire.http.http1 import Http1
from crawler.wire.http.http2 import Http2
from crawler.wire.http.pool import Connection
from crawler.wire.http.request import Target
from crawler.wire.limits import Limits
from crawler.wire.network.address import Network, effective_address, is_blocked
from crawler.wire.network.proxy import Proxy, ProxyError, proxy_failure, tunnel
from crawler.wire.network.timeout import time_limit
from crawler.wire.network.tls import TlsContexts, certificate_problem, connection_tls, handshake_failure

CONNECTION_ATTEMPT_DELAY_S = 0.25
"""How long the first address is tried alone (RFC 8305, section 5)."""
ADDRESS_BLOCKED = FetchFailure(reason="address_blocked", detail="address blocked")


@dataclass(frozen=True, slots=True, kw_only=True)
class DialedConnection:
    """An open connection, where it leads, and how long it took to be made."""

    connection: Connection
    address: str
    connect_ms: int
    tls_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _ConnectedSocket:
    """A socket that is connected."""

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
        """`accept_untrusted` takes servers whose certificate is not trusted. `proxy` is one with its address. `page_address` is the guard's (`blocked`)."""
        self._allow, self._limits, self._trust = tuple(allow), limits, trust
        self._accept_untrusted, self._proxy, self._page_address = accept_untrusted, proxy, page_address

    async def open(
        self, target: Target, address: str, fallback: str | None, acquire: Acquire, *, h2: bool
    ) -> DialedConnection | FetchFailure | Postponement:
        """A connection to `address`, which was entered, or to `rival`, which is entered here; `h2` where it may be spoken.

        A `Postponement` says that there was no way to the first, and that it is not the other's turn.
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
        self, target: Target, address: str, rival: str | None, enter: Acquire
    ) -> _ConnectedSocket | FetchFailure | Postponement:
        if rival is None:
            return await self._connect_to_server(target, address)
        first: _Attempt = asyncio.create_task(self._connect_to_server(target, address))
        attempts = [first]
        try:
            await asyncio.wait(attempts, timeout=CONNECTION_ATTEMPT_DELAY_S)
            if not first.done():
                attempts.append(asyncio.create_task(self._connect_fallback(target, None, rival, enter)))
            elif isinstance(failed := first.result(), FetchFailure):
                return await self._connect_fallback(target, failed, rival, enter)
            return await _first_connected(attempts)
        finally:
            await _cancel_attempts(attempts)

    async def _connect_fallback(
        self, target: Target, before: FetchFailure | None, address: str, enter: Acquire
    ) -> _ConnectedSocket | FetchFailure | Postponement:
        """Enter and try the second address, where the first could not be reached but might have been."""
        if before is not None and before.reason in {"address_blocked", "proxy"}:
            return before
        if wait := await enter(effective_address(address)):
            return Postponement(wait_ms=wait)
        return await self._connect_to_server(target, address)

    async def _connect_to_server(self, target: Target, address: str) -> _ConnectedSocket | FetchFailure:
        """A socket that leads to the server: to an address, or through the proxy."""
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
            sign = error.symptom if isinstance(error, ProxyError) else "mute_proxy"
            return FetchFailure(
                reason="proxy", detail=one_line(error, "the proxy did not answer"), symptom=sign
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
        begun = time.monotonic()
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
        return _ConnectedSocket(socket=opened, address=address, connect_ms=_elapsed_ms(begun))

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
        """Shake hands: verifying first, and where that is not to be had and we are to go on, without."""
        come = await self._handshake(target, found, self._trust.context(h2=h2), "trusted")
        if self._accept_untrusted and isinstance(come, OSError):
            said = certificate_problem(come)
            if said is None:
                come = await self._reconnect(
                    target, found, self._trust.context(h2=h2, old_versions=True), "trusted"
                )
                said = certificate_problem(come) if isinstance(come, OSError) else None
            if said is not None:
                context = self._trust.context(h2=h2, verify=False, old_versions=True)
                come = await self._reconnect(target, found, context, said)
        return handshake_failure(come) if isinstance(come, OSError) else come

    async def _reconnect(
        self, target: Target, before: _ConnectedSocket, context: ssl.SSLContext, said: str
    ) -> DialedConnection | FetchFailure | OSError:
        found = await self._connect_to_server(target, before.address)
        return (
            found if isinstance(found, FetchFailure) else await self._handshake(target, found, context, said)
        )

    async def _handshake(
        self, target: Target, found: _ConnectedSocket, context: ssl.SSLContext, said: str
    ) -> DialedConnection | FetchFailure | OSError:
        loop, begun = asyncio.get_running_loop(), time.monotonic()
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
        except ValueError as error:  # a name that no certificate can have
            found.socket.close()
            return FetchFailure(reason="tls", detail=one_line(error), symptom="answered")
        connection = chooser.connection
        assert connection is not None
        connection.peer = self._peer(found.address)
        connection.tls = connection_tls(chooser.ssl_object, said)
        return DialedConnection(
            connection=connection,
            address=found.address,
            connect_ms=found.connect_ms,
            tls_ms=_elapsed_ms(begun),
        )

    def _peer(self, address: str) -> str:
        """Who is at the other end; unknown where a proxy has chosen."""
        return "" if self._proxy is not None and self._proxy[0].resolves_names else address


class _AlpnProtocol(asyncio.Protocol):
    """Becomes what ALPN says, before the first byte is passed on."""

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
    """The line of who is there first, whose attempt is taken out; where there is none, what the last one came to."""
    running = set(attempts)
    while running:
        done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        for attempt in done:
            if isinstance(found := attempt.result(), _ConnectedSocket):
                attempts.remove(attempt)
                return found
    return attempts[-1].result()


async def _cancel_attempts(attempts: list[_Attempt]) -> None:
    """Call off attempts that are not wanted any more, and close what they opened all the same."""
    for attempt in attempts:
        attempt.cancel()
    for found in await asyncio.gather(*attempts, return_exceptions=True):
        if isinstance(found, _ConnectedSocket):
            found.socket.close()


def _elapsed_ms(begun: float) -> int:
    return round((time.monotonic() - begun) * 1000)
