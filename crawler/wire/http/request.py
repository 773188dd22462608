"""`Request`: one request, as the bytes of HTTP/1.1 and as the bytes that are archived of it. Pure.

1. The target and the host are sent as the URL has them; nothing is re-encoded.
2. A header of the caller replaces our own header of the same name. No header can hold a line break.
3. Headers whose values are secret go over the wire and not into the archive. Only in this way do the archived bytes
   differ from the sent ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass

HeaderList = Sequence[tuple[str, str]]

ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_CONNECTION_HEADERS = frozenset(
    {"connection", "host", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}
)
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_FORBIDDEN = "\r\n\0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The parts of a URL that an exchange needs."""

    scheme: str
    authority: str
    """As it stands in the URL: with its port, unless that is the scheme's default."""
    host: str
    """Without port, brackets and final dot, as DNS and certificates write it."""
    port: int
    path: str
    """With its query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request."""

    target: Target
    method: str
    headers: tuple[tuple[str, str], ...]
    """The headers that follow Host, in order."""
    secret_names: frozenset[str] = frozenset()
    """Names, in lower case, of headers that are not archived."""
    body: bytes = b""


def parse_target(wire: str) -> Target:
    """Return the parts of a URL in its wire form."""
    scheme, _, rest = wire.partition("://")
    authority, _, path = rest.partition("/")
    host, colon, port = authority.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = authority, ""
    return Target(
        scheme=scheme,
        authority=authority,
        host=host.strip("[]").removesuffix("."),
        port=int(port) if port else 443 if scheme == "https" else 80,
        path=f"/{path}",
    )


def common_headers(user_agent: str) -> tuple[tuple[str, str], ...]:
    """Return the headers of every request."""
    return (("User-Agent", user_agent), ("Accept", ACCEPT), ("Accept-Encoding", "gzip, deflate"))


def build_request(
    target: Target,
    base_headers: HeaderList,
    caller_headers: HeaderList = (),
    secret_headers: HeaderList = (),
    *,
    method: str = "GET",
    body: bytes = b"",
) -> Request:
    """Return a request; of headers with one name the later list wins. Raise `ValueError` if a header cannot be sent."""
    if body or method in _WITH_BODY:
        caller_headers = [*caller_headers, ("Content-Length", str(len(body)))]
    headers = tuple(base_headers)
    for more in (caller_headers, secret_headers):
        if more:
            names = {name.lower() for name, _ in more}
            headers = (*(each for each in headers if each[0].lower() not in names), *more)
    if caller_headers or secret_headers:
        headers = tuple(each for each in headers if each[0].lower() not in _CONNECTION_HEADERS)
        for name, value in headers:
            if not is_sendable(name, value):
                raise ValueError(f"a request cannot have the header {name!r}")
    return Request(
        target=target,
        method=method,
        headers=headers,
        secret_names=frozenset(name.lower() for name, _ in secret_headers),
        body=body,
    )


def is_sendable(name: str, value: str) -> bool:
    """Return whether a request can have a header: it must not end its line, nor begin another."""
    return bool(name) and ":" not in name and not any(each in _FORBIDDEN for each in name + value)


def wire_bytes(request: Request, *, absolute_form: bool = False, proxy_headers: HeaderList = ()) -> bytes:
    """Return the bytes for the wire, in `absolute_form` if a proxy receives them in place of the server."""
    return _text(request, [*request.headers, *proxy_headers], absolute_form=absolute_form)


def archive_bytes(request: Request, *, absolute_form: bool = False, header_case: str = "") -> bytes:
    """Return the bytes for the archive. `header_case` is `lower` if the wire had the names in lower case (h2)."""
    headers = [
        (name.lower() if header_case else name, value)
        for name, value in request.headers
        if name.lower() not in request.secret_names
    ]
    return _text(request, headers, absolute_form=absolute_form, host="host" if header_case else "Host")


def _text(request: Request, headers: HeaderList, *, absolute_form: bool, host: str = "Host") -> bytes:
    target = request.target
    prefix = f"{target.scheme}://{target.authority}" if absolute_form else ""
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers])
    head = f"{request.method} {prefix}{target.path} HTTP/1.1\r\n{host}: {target.authority}\r\n{lines}\r\n"
    return head.encode("latin-1", "replace") + request.body
