"""`Proxy`: the server that receives requests in place of web servers, and how a connection through it is opened.

1. An `http://` proxy receives `CONNECT` for https, and the whole URL as the target for http. It looks the name up
   itself: the guard judges the addresses that we found for the name, and cannot know which address the proxy took. If
   we find no address, the proxy may look the name up, unless it is a name of a private network
   (`crawler.wire.network.guard`). So the peer of a capture is unknown, and such a proxy needs a guard of its own.
2. A `socks5://` proxy receives the address that was checked and acquired: the guard holds as it does without a proxy.
3. The user names the proxy itself, so the guard does not check it. Its credentials never reach the archive, a log or a
   `repr`.

Only the configuration names a proxy. A variable such as `HTTP_PROXY`, which happens to be set in a shell, must not
decide which proxy a crawl of a month uses.
"""

import asyncio
import base64
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

from thresher.core import InputError
from thresher.crawler.wire.fetch_failure import FetchFailure, Symptom
from thresher.crawler.wire.network.dns import is_address

_HEAD_LIMIT = 64 << 10
_SOCKS_REPLIES = {
    1: "general failure",
    2: "not allowed",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused",
    6: "expired",
    7: "command not supported",
    8: "address type not supported",
}
_UNREACHED = frozenset({1, 3, 4, 6})
"""Replies of a proxy that had no answer from the server. The cause may be the server, or the proxy's own network."""
_STATUSES: Mapping[str, Symptom] = {
    "407": "no_proxy",
    "500": "silent",
    "502": "silent",
    "503": "silent",
    "504": "silent",
}
"""The same for the statuses of an http proxy; 407 means that it does not serve us."""


class ProxyError(Exception):
    """The proxy did not open a connection to the server; `symptom` says what that shows."""

    def __init__(self, text: str, symptom: Symptom) -> None:
        super().__init__(text)
        self.symptom = symptom


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """Where a proxy listens, and which protocol it speaks."""

    kind: str
    """`http` or `socks5`."""
    host: str
    port: int
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @property
    def resolves_names(self) -> bool:
        """Whether the proxy looks names up itself."""
        return self.kind == "http"

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The headers that go to an http proxy, and to no server."""
        if not self.user:
            return ()
        pair = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        return (("Proxy-Authorization", f"Basic {pair}"),)

    @property
    def endpoint(self) -> str:
        """Host and port of the proxy, without its credentials."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def greeting(self) -> bytes:
        """Bytes that a working proxy answers whatever servers do: SOCKS's first message, or a request about an http
        proxy itself.
        """
        if self.kind == "socks5":
            return _greeting(self)
        lines = "".join(f"{name}: {value}\r\n" for name, value in self.headers)
        return f"OPTIONS * HTTP/1.1\r\nHost: {self.endpoint}\r\n{lines}Connection: close\r\n\r\n".encode()


def parse_proxy(text: str) -> Proxy:
    """Return the proxy that a URL names. Raise `InputError`, without the URL's credentials, if it names none."""
    wrong = InputError("crawler.proxy: write http://USER:PASSWORD@HOST:PORT or socks5://HOST:PORT")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise wrong from None
    if parts.scheme not in {"http", "socks5"} or not parts.hostname or port is None:
        raise wrong
    return Proxy(
        kind=parts.scheme,
        host=parts.hostname,
        port=port,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
    )


def proxy_failure(proxy: Proxy, failure: FetchFailure) -> FetchFailure:
    """Return the failure of a request whose proxy cannot be connected to."""
    symptom: Symptom = "no_resources" if failure.symptom == "no_resources" else "no_proxy"
    return FetchFailure(
        reason="proxy", detail=f"the proxy {proxy.endpoint}: {failure.detail}", symptom=symptom
    )


async def tunnel(proxy: Proxy, connection: socket.socket, host: str, port: int) -> None:
    """Have the proxy connect to a host. Raise `ProxyError` if it does not, and `OSError` if the connection breaks."""
    if proxy.kind == "http":
        await _connect(proxy, connection, host, port)
    else:
        await _socks(proxy, connection, host, port)


async def _connect(proxy: Proxy, connection: socket.socket, host: str, port: int) -> None:
    """Open a tunnel by RFC 9110, section 9.3.6."""
    authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = "".join(f"{name}: {value}\r\n" for name, value in proxy.headers)
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(
        connection, f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{lines}\r\n".encode()
    )
    head = bytearray()
    # Read byte by byte: the server sends whatever follows the head.
    while not head.endswith((b"\r\n\r\n", b"\n\n")):
        piece = await loop.sock_recv(connection, 1)
        head += piece
        if not piece or len(head) > _HEAD_LIMIT:
            raise ProxyError("the proxy closed the connection", "mute_proxy")
    status = bytes(head).split(b"\r\n", 1)[0].split(b" ")
    if len(status) < 2 or not status[1].startswith(b"2"):
        status_text = b" ".join(status[1:]).decode("latin-1")
        symptom = _STATUSES.get(status_text[:3], "answered" if status_text else "mute_proxy")
        raise ProxyError(f"the proxy said {status_text or 'nothing'}", symptom)


async def _socks(proxy: Proxy, connection: socket.socket, host: str, port: int) -> None:
    """Open a connection by RFC 1928 and, for a password, RFC 1929."""
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(connection, _greeting(proxy))
    _, method = await _read_exactly(connection, 2)
    if method == 2:
        user, password = proxy.user.encode()[:255], proxy.password.encode()[:255]
        pair = bytes([1, len(user)]) + user + bytes([len(password)]) + password
        await loop.sock_sendall(connection, pair)
        if (await _read_exactly(connection, 2))[1]:
            raise ProxyError("the proxy refused the password", "no_proxy")
    elif method:
        wants = "a password" if method == 255 else "what we cannot"
        raise ProxyError(f"the proxy wants {wants}", "no_proxy")
    if is_address(host):
        address = ip_address(host)
        name = bytes([1 if address.version == 4 else 4]) + address.packed
    else:
        name = bytes([3, len(host)]) + host.encode()
    await loop.sock_sendall(connection, b"\x05\x01\x00" + name + port.to_bytes(2, "big"))
    _, reply, _, kind = await _read_exactly(connection, 4)
    length = {1: 4, 4: 16}.get(kind) or (await _read_exactly(connection, 1))[0]
    await _read_exactly(connection, length + 2)
    if reply:
        symptom: Symptom = "silent" if reply in _UNREACHED else "answered"
        raise ProxyError(f"the proxy said {_SOCKS_REPLIES.get(reply, str(reply))}", symptom)


def _greeting(proxy: Proxy) -> bytes:
    return b"\x05\x02\x00\x02" if proxy.user else b"\x05\x01\x00"


async def _read_exactly(connection: socket.socket, length: int) -> bytes:
    found = b""
    while len(found) < length:
        piece = await asyncio.get_running_loop().sock_recv(connection, length - len(found))
        if not piece:
            raise ProxyError("the proxy closed the connection", "mute_proxy")
        found += piece
    return found
