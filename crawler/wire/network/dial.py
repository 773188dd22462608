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

from crawler.wire.fetch_failure import Enter, Failure, Wait, connection_failure, line
from crawler.wire.http.http1 import Http1
from crawler.wire.http.http2 import Http2
from crawler.wire.http.pool import Connection
from crawler.wire.http.request import Target
from crawler.wire.limits import Limits
from crawler.wire.network.address import Network, blocked, meant
from crawler.wire.network.proxy import Proxy, ProxyError, proxy_failure, tunnel
from crawler.wire.network.timeout import at_most
from crawler.wire.network.tls import Trust, failure, of_connection, verdict

HEAD_START_S = 0.25
"""How long the first address is tried alone (RFC 8305, section 5)."""
BLOCKED = Failure(reason="address_blocked", detail="address blocked")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialled:
    """An open connection, where it leads, and how long it took to be made."""

    connection: Connection
    address: str
    connect_ms: int
    tls_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A socket that is connected."""

    socket: socket.socket
    address: str
    connect_ms: int


_Attempt = asyncio.Task[_Line | Failure | Wait]


class Dial:
    """Opens connections."""

    def __init__(
        self,
        *,
        allow: Sequence[Network],
        limits: Limits,
        trust: Trust,
        record: bool = False,
        proxy: tuple[Proxy, str] | None = None,
        asker: str | None = None,
    ) -> None:
        """`record` takes servers whose certificate is not trusted. `proxy` is one with its address. `asker` is the guard's (`blocked`)."""
        self._allow, self._limits, self._trust = tuple(allow), limits, trust
        self._record, self._proxy, self._asker = record, proxy, asker

    async def open(
        self, target: Target, address: str, rival: str | None, enter: Enter, *, h2: bool
    ) -> Dialled | Failure | Wait:
        """A connection to `address`, which was entered, or to `rival`, which is entered here; `h2` where it may be spoken.

        A `Wait` says that there was no way to the first, and that it is not the other's turn.
        """
        found = await self._race(target, address, rival, enter)
        if not isinstance(found, _Line):
            return found
        if target.scheme == "http":
            direct = self._proxy is None or not self._proxy[0].resolves
            return await self._plain(found, proxy=None if direct or self._proxy is None else self._proxy[0])
        return await self._secure(target, found, h2=h2)

    async def _race(
        self, target: Target, address: str, rival: str | None, enter: Enter
    ) -> _Line | Failure | Wait:
        if rival is None:
            return await self._line(target, address)
        first: _Attempt = asyncio.create_task(self._line(target, address))
        attempts = [first]
        try:
            await asyncio.wait(attempts, timeout=HEAD_START_S)
            if not first.done():
                attempts.append(asyncio.create_task(self._second(target, None, rival, enter)))
            elif isinstance(failed := first.result(), Failure):
                return await self._second(target, failed, rival, enter)
            return await _winner(attempts)
        finally:
            await _hang_up(attempts)

    async def _second(
        self, target: Target, before: Failure | None, address: str, enter: Enter
    ) -> _Line | Failure | Wait:
        """Enter and try the second address, where the first could not be reached but might have been."""
        if before is not None and before.reason in {"address_blocked", "proxy"}:
            return before
        if wait := await enter(meant(address)):
            return Wait(ms=wait)
        return await self._line(target, address)

    async def _line(self, target: Target, address: str) -> _Line | Failure:
        """A socket that leads to the server: to an address, or through the proxy."""
        if self._proxy is None:
            return await self._connect(address, target.port)
        proxy, where = self._proxy
        found = await self._connect(where, proxy.port, guarded=False)
        if isinstance(found, Failure):
            return proxy_failure(proxy, found)
        if proxy.resolves and target.scheme == "http":
            return replace(found, address=address)
        try:
            async with at_most(self._limits.connect_s):
                await tunnel(proxy, found.socket, target.host if proxy.resolves else address, target.port)
        except (OSError, ProxyError) as error:
            found.socket.close()
            sign = error.sign if isinstance(error, ProxyError) else "mute_proxy"
            return Failure(reason="proxy", detail=line(error, "the proxy did not answer"), sign=sign)
        except asyncio.CancelledError:
            found.socket.close()
            raise
        return replace(found, address=address)

    async def _connect(self, address: str, port: int, *, guarded: bool = True) -> _Line | Failure:
        if guarded and blocked(address, self._allow, self._asker):
            return BLOCKED
        begun = time.monotonic()
        opened = None
        try:
            opened = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
            opened.setblocking(False)
            async with at_most(self._limits.connect_s):
                await asyncio.get_running_loop().sock_connect(opened, (address, port))
        except BaseException as error:
            if opened is not None:
                opened.close()
            if not isinstance(error, OSError | OverflowError):
                raise
            return connection_failure(error)
        return _Line(socket=opened, address=address, connect_ms=_since(begun))

    async def _plain(self, found: _Line, proxy: Proxy | None) -> Dialled | Failure:
        loop = asyncio.get_running_loop()
        connection = Http1(loop, absolute=proxy is not None, proxy=() if proxy is None else proxy.headers)
        try:
            await loop.create_connection(lambda: connection, sock=found.socket)
        except OSError as error:
            found.socket.close()
            return connection_failure(error)
        connection.peer = self._peer(found.address)
        return Dialled(connection=connection, address=found.address, connect_ms=found.connect_ms)

    async def _secure(self, target: Target, found: _Line, *, h2: bool) -> Dialled | Failure:
        """Shake hands: verifying first, and where that is not to be had and we are to go on, without."""
        come = await self._shake(target, found, self._trust.context(h2=h2), "trusted")
        if self._record and isinstance(come, OSError):
            said = verdict(come)
            if said is None:
                come = await self._again(target, found, self._trust.context(h2=h2, old=True), "trusted")
                said = verdict(come) if isinstance(come, OSError) else None
            if said is not None:
                context = self._trust.context(h2=h2, verify=False, old=True)
                come = await self._again(target, found, context, said)
        return failure(come) if isinstance(come, OSError) else come

    async def _again(
        self, target: Target, before: _Line, context: ssl.SSLContext, said: str
    ) -> Dialled | Failure | OSError:
        found = await self._line(target, before.address)
        return found if isinstance(found, Failure) else await self._shake(target, found, context, said)

    async def _shake(
        self, target: Target, found: _Line, context: ssl.SSLContext, said: str
    ) -> Dialled | Failure | OSError:
        loop, begun = asyncio.get_running_loop(), time.monotonic()
        chooser = _Chooser(loop)
        try:
            async with at_most(self._limits.tls_s):
                await loop.create_connection(
                    lambda: chooser, sock=found.socket, ssl=context, server_hostname=target.host
                )
        except TimeoutError:
            found.socket.close()
            return Failure(reason="timeout_tls", detail="no end of the TLS handshake", sign="silent")
        except OSError as error:
            found.socket.close()
            return error
        except ValueError as error:  # a name that no certificate can have
            found.socket.close()
            return Failure(reason="tls", detail=line(error), sign="answered")
        connection = chooser.chosen
        assert connection is not None
        connection.peer = self._peer(found.address)
        connection.tls = of_connection(chooser.secured, said)
        return Dialled(
            connection=connection,
            address=found.address,
            connect_ms=found.connect_ms,
            tls_ms=_since(begun),
        )

    def _peer(self, address: str) -> str:
        """Who is at the other end; unknown where a proxy has chosen."""
        return "" if self._proxy is not None and self._proxy[0].resolves else address


class _Chooser(asyncio.Protocol):
    """Becomes what ALPN says, before the first byte is passed on."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.chosen: Connection | None = None
        self.secured: ssl.SSLObject

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.secured = transport.get_extra_info("ssl_object")
        h2 = self.secured.selected_alpn_protocol() == "h2"
        self.chosen = Http2(self._loop) if h2 else Http1(self._loop)
        transport.set_protocol(self.chosen)
        self.chosen.connection_made(transport)


async def _winner(attempts: list[_Attempt]) -> _Line | Failure | Wait:
    """The line of who is there first, whose attempt is taken out; where there is none, what the last one came to."""
    running = set(attempts)
    while running:
        done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        for attempt in done:
            if isinstance(found := attempt.result(), _Line):
                attempts.remove(attempt)
                return found
    return attempts[-1].result()


async def _hang_up(attempts: list[_Attempt]) -> None:
    """Call off attempts that are not wanted any more, and close what they opened all the same."""
    for attempt in attempts:
        attempt.cancel()
    for found in await asyncio.gather(*attempts, return_exceptions=True):
        if isinstance(found, _Line):
            found.socket.close()


def _since(begun: float) -> int:
    return round((time.monotonic() - begun) * 1000)
