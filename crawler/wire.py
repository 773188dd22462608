"""`Client`: one GET, and exactly what it put on the wire.

1. No address is connected to that the guard blocks, whether it stood in the URL or in a DNS answer. The check
   is made on the very address that the socket is opened for.
2. Nothing is followed, decoded, remembered (cookies) or rewritten: the URL is sent as it is (but for a question
   mark with nothing behind it, which yarl drops).
3. Trouble is data. A response whose head came is a `Capture`, with `truncated` saying why it is not whole:
   `length` (`max_body` bytes of body, as they came over the wire), `time` (the time-out in the body),
   `disconnect` (the connection ended early), `unspecified` (the framing is broken). Otherwise a `Failure`.
4. Connections are kept alive and used again. One that closes before it has answered is replaced once.
"""

import asyncio
import errno
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import aiohttp
from yarl import URL

from core import Capture, Url
from core.capture import Truncation
from crawler.address import Network, blocked
from crawler.message import Message, message
from crawler.tee import CURRENT, Exchange, TeeConnector

Reason = Literal["address_blocked", "dns", "protocol", "refused", "reset", "timeout", "tls", "unreachable"]

CONNECT_S = 10.0
"""Seconds for a TCP connection and its TLS handshake, each address."""
KEEP_ALIVE_S = 15.0
"""Seconds that an idle connection is kept: as long as most servers do (nginx 75, Apache 5)."""
DNS_TTL_S = 300
"""Seconds that a DNS answer is used again."""
HEAD_LIMIT = 64 << 10
"""Bytes of one header line at most, and what a response may be longer than its body."""
HEADERS_AT_MOST = 1_000
ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """No response came, and why."""

    reason: Reason
    detail: str


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
        self._session = aiohttp.ClientSession(
            connector=TeeConnector(
                limit=0,  # the frontier grants no more than may be asked
                keepalive_timeout=KEEP_ALIVE_S,
                ttl_dns_cache=DNS_TTL_S,
                dns_cache_max_size=10_000,
                socket_factory=self._socket,
                ssl=True if tls is None else tls,
            ),
            headers={"User-Agent": user_agent, "Accept": ACCEPT, "Accept-Encoding": "gzip, deflate"},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
            max_line_size=HEAD_LIMIT,
            max_field_size=HEAD_LIMIT,
            max_headers=HEADERS_AT_MOST,
        )

    async def get(self, url: Url) -> Capture | Failure:
        """Ask for `url.wire`; never raises for anything that a server or the network does."""
        exchange = Exchange(limit=HEAD_LIMIT + self._max_body)
        started_ms, begun = self._clock_ms(), time.monotonic()
        before = CURRENT.set(exchange)
        try:
            trouble = await self._converse(url)
        finally:
            exchange.end()
            CURRENT.reset(before)
        found = message(bytes(exchange.received), self._max_body)
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

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()

    async def _converse(self, url: Url) -> Exception | None:
        """Let the exchange happen; returns what ended it early."""
        try:
            async with (
                asyncio.timeout(self._timeout_s),
                self._session.get(URL(url.wire, encoded=True), allow_redirects=False) as response,
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
        case aiohttp.ClientConnectorDNSError() | UnicodeError():
            reason = "dns"
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
    detail = " ".join(str(error or "no response").split())
    return Failure(reason=reason, detail=detail or type(error).__name__)
