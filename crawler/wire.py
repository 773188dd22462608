"""`Client`: one GET, and exactly what it put on the wire.

1. No address is connected to that the guard blocks, whether it stood in the URL or in a DNS answer. The check
   is made on the very address that the socket is opened for.
2. Before an exchange the caller is asked whether that address may be asked now (`Enter`). The exchange is with that
   address and no other. Where nobody can be reached there a second one is tried, of the other family if there is one:
   it is entered as well.
3. Nothing is followed, decoded, remembered (cookies) or rewritten: the URL is sent as it is (but for a question
   mark with nothing behind it, which yarl drops).
4. Trouble is data. A response whose head came is a `Capture`, with `truncated` saying why it is not whole:
   `length` (`max_body` bytes of body, as they came over the wire), `time` (the time-out in the body),
   `disconnect` (the connection ended early), `unspecified` (the framing is broken). Otherwise a `Failure`.
5. Connections are kept alive and used again. One that was kept and closes before it has answered is replaced: a
   server may close it at any time. Nothing else is asked a second time.
"""

import asyncio
import errno
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from zlib import crc32

import aiohttp
from yarl import URL

from core import Capture, Url
from core.capture import Truncation
from crawler.address import Network, blocked, meant
from crawler.message import Message, message
from crawler.recent import Recent
from crawler.tee import CURRENT, Exchange, TeeConnector

Reason = Literal["address_blocked", "dns", "protocol", "refused", "reset", "timeout", "tls", "unreachable"]

CONNECT_S = 10.0
"""Seconds for a TCP connection and its TLS handshake, each address."""
KEEP_ALIVE_S = 15.0
"""Seconds that an idle connection is kept: as long as most servers do (nginx 75, Apache 5)."""
DNS_TTL_S = 300
"""Seconds that a DNS answer is used again."""
DNS_HOSTS = 10_000
"""Host names that are remembered."""
TRIED = 2
"""Addresses of one host that one exchange tries."""
HEAD_LIMIT = 64 << 10
"""Bytes of one header line at most, and what a response may be longer than its body."""
HEADERS_AT_MOST = 1_000
_UNREACHED: frozenset[Reason] = frozenset({"refused", "reset", "timeout", "unreachable"})
"""Failures for which another address may be tried, if there was no connection."""
ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """No response came, and why."""

    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Nothing was asked: it is not the address's turn."""

    ms: int


Enter = Callable[[str], Awaitable[int]]
"""Whether an address may be asked now: 0, or how many milliseconds until its turn."""


async def at_once(_: str) -> int:
    """Any address may be asked, at any time."""
    return 0


class _BlockedError(OSError):
    """The guard refused. The same text for every address, so that aiohttp passes it on unmerged."""

    def __init__(self) -> None:
        super().__init__(errno.EACCES, "address blocked")


def utc_ms() -> int:
    """Milliseconds since the epoch by this machine's clock."""
    return time.time_ns() // 1_000_000


class Client:
    """Asks servers; bounded in bytes, in time, and in the addresses that it contacts.

    To be made inside a running event loop. `clock_ms` dates the captures.
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
    ) -> None:
        self._max_body, self._timeout_s, self._clock_ms = max_body, timeout_s, clock_ms
        self._allow = tuple(allow)
        self._connector = TeeConnector(
            limit=0,  # the frontier grants no more than may be asked
            keepalive_timeout=KEEP_ALIVE_S,
            ttl_dns_cache=DNS_TTL_S,
            dns_cache_max_size=DNS_HOSTS,
            socket_factory=self._socket,
            ssl=True if tls is None else tls,
        )
        self._unreached = Recent(DNS_HOSTS)  # hosts whose first address nobody could be reached at
        self._session = aiohttp.ClientSession(
            connector=self._connector,
            headers={"User-Agent": user_agent, "Accept": ACCEPT, "Accept-Encoding": "gzip, deflate"},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
            max_line_size=HEAD_LIMIT,
            max_field_size=HEAD_LIMIT,
            max_headers=HEADERS_AT_MOST,
        )
        self._session._retry_connection = False  # noqa: SLF001 - it would ask again at once whatever broke

    async def get(
        self,
        url: Url,
        enter: Enter = at_once,
        *,
        headers: Sequence[tuple[str, str]] = (),
        method: str = "GET",
        max_body: int | None = None,
        timeout_s: float | None = None,
    ) -> Capture | Failure | Wait:
        """Ask for `url.wire`; never raises for anything that a server or the network does, only what `enter` raises.

        The time-out counts the look-up of the name and the exchange, not the time for which `enter` is waited for.
        """
        begun = time.monotonic()
        found = await self._addresses(url)
        if isinstance(found, Failure):
            return found
        left = min(self._timeout_s, timeout_s or self._timeout_s) - (time.monotonic() - begun)
        most = self._max_body if max_body is None else min(max_body, self._max_body)
        last = Failure(reason="address_blocked", detail="address blocked")
        for address in found:
            if wait := await enter(meant(address)):
                return Wait(ms=wait)
            begun = time.monotonic()
            exchange = Exchange(limit=HEAD_LIMIT + most, address=address)
            came = await self._exchange(url, exchange, left, method, headers)
            if (
                isinstance(came, Failure)
                and came.reason == "reset"
                and exchange.kept
                and not exchange.received
            ):
                exchange = Exchange(limit=exchange.limit, address=address, fresh=True)
                came = await self._exchange(url, exchange, left - (time.monotonic() - begun), method, headers)
            left -= time.monotonic() - begun
            if isinstance(came, Capture) or exchange.peer or came.reason not in _UNREACHED:
                return came
            last = came
            self._unreached.turn(url.host)
        return last

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()

    async def _addresses(self, url: Url) -> list[str] | Failure:
        """Of the addresses of a host those to be tried: for the same answer of DNS the same, whoever asks."""
        wire = URL(url.wire, encoded=True)
        try:
            async with asyncio.timeout(self._timeout_s):
                found = await self._connector.addresses(wire.raw_host or "", wire.port or 0)
        except (OSError, UnicodeError) as error:
            return Failure(reason="dns", detail=_line(error))
        except (aiohttp.ClientError, ValueError) as error:
            return Failure(reason="protocol", detail=_line(error))
        chosen = _chosen([one for one in found if not blocked(one, self._allow)], url.host)
        return chosen[::-1] if url.host in self._unreached else chosen

    async def _exchange(
        self, url: Url, exchange: Exchange, left: float, method: str, headers: Sequence[tuple[str, str]]
    ) -> Capture | Failure:
        started_ms, begun = self._clock_ms(), time.monotonic()
        before = CURRENT.set(exchange)
        try:
            trouble = await self._converse(url, left, method, headers)
        finally:
            exchange.end()
            CURRENT.reset(before)
        found = message(bytes(exchange.received), exchange.limit - HEAD_LIMIT)
        if found is None:
            if exchange.overflown:
                return Failure(reason="protocol", detail="no end of the head")
            return _failure(trouble)
        return Capture(
            url=url,
            request=bytes(exchange.sent),
            response=found.response,
            head_length=found.head_length,
            status=found.status,
            headers=found.headers,
            payload=found.payload,
            started_ms=started_ms,
            elapsed_ms=round((time.monotonic() - begun) * 1000),
            peer=exchange.peer,
            truncated=_truncation(found, trouble, overflown=exchange.overflown),
        )

    async def _converse(
        self, url: Url, left: float, method: str, headers: Sequence[tuple[str, str]]
    ) -> Exception | None:
        """Let the exchange happen; returns what ended it early."""
        try:
            async with (
                asyncio.timeout(left),
                self._session.request(
                    method, URL(url.wire, encoded=True), allow_redirects=False, headers=list(headers)
                ) as response,
            ):
                async for _ in response.content.iter_any():
                    pass  # taken down by the tee; read here so that the connection flows
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return error
        return None

    def _socket(self, info: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _, address = info
        if blocked(str(address[0]), self._allow):
            raise _BlockedError
        return socket.socket(family, kind, protocol)


def _chosen(addresses: list[str], host: str) -> list[str]:
    """Two of some addresses, IPv4 first. Hosts that share many are spread over them, and one host keeps to its own."""
    families = ([one for one in addresses if ":" not in one], [one for one in addresses if ":" in one])
    turn = crc32(host.encode())
    for family in families:
        family.sort()
        first = turn % max(len(family), 1)
        family[:] = family[first:] + family[:first]
    four, six = families
    return [*four[:1], *six[:1], *four[1:], *six[1:]][:TRIED]


def _truncation(found: Message, trouble: Exception | None, *, overflown: bool) -> Truncation | None:
    if found.cut or overflown:
        return "length"
    if found.ended or trouble is None:
        return None
    if isinstance(trouble, TimeoutError):
        return "time"
    if isinstance(trouble, aiohttp.ClientPayloadError | aiohttp.ClientConnectionError | OSError):
        return "disconnect"
    return "unspecified"


def _failure(error: Exception | None) -> Failure:
    reason: Reason = "protocol"
    match error:
        case TimeoutError():
            reason = "timeout"
        case ssl.SSLError() | aiohttp.ClientConnectorSSLError() | aiohttp.ClientConnectorCertificateError():
            reason = "tls"
        case aiohttp.ClientConnectorError(os_error=_BlockedError()):
            reason = "address_blocked"
        case aiohttp.ClientConnectorError(os_error=ConnectionRefusedError()):
            reason = "refused"
        case aiohttp.ClientConnectorError(os_error=ConnectionError()):
            reason = "reset"
        case aiohttp.ClientConnectorError():
            reason = "unreachable"
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientOSError() | OSError():
            reason = "reset"
    return Failure(reason=reason, detail=_line(error))


def _line(error: Exception | None) -> str:
    return " ".join(str(error or "no response").split()) or type(error).__name__
