"""`Capture`: exactly what one HTTP exchange put on the wire."""

from dataclasses import dataclass
from typing import Literal

from core.url import Url

Truncation = Literal["length", "time", "disconnect", "unspecified"]
HttpProtocol = Literal["http/0.9", "http/1.0", "http/1.1", "h2"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSession:
    """How a connection was kept from others, and whether its server is who it says."""

    version: str
    """`1.2` or `1.3`; older ones where a policy allows them."""
    cipher: str
    """IANA's name of the cipher suite."""
    trust: str
    """`trusted`, or a code of why it is not: `expired`, `self_signed`, `wrong_host`, `untrusted`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Milliseconds of the parts of an exchange; None for what did not happen: a connection that was kept is not made."""

    dns_ms: int | None = None
    connect_ms: int | None = None
    tls_ms: int | None = None
    first_byte_ms: int | None = None
    """From the end of the request to the first byte of the response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """One request and what came back, byte for byte, before any decoding."""

    url: Url
    request: bytes
    """Request line, headers, blank line and body, as sent."""
    response: bytes
    """Status line, headers, blank line and body, as received (chunk framing included)."""
    head_length: int
    """Bytes of `response` up to and including the blank line that ends the headers."""
    status: int
    headers: tuple[tuple[str, str], ...]
    """Response headers in the order received, names as written, bytes as latin-1."""
    payload: bytes
    """The entity after transfer decoding, still content-encoded: what the payload digest is made of."""
    started_ms: int
    """UTC, milliseconds since the epoch, when the request was begun."""
    elapsed_ms: int
    peer: str
    """IP address of the server."""
    truncated: Truncation | None
    """Why the response is not whole (WARC-Truncated), or None."""
    protocol: HttpProtocol = "http/1.1"
    """What was spoken. An exchange over h2 is written down in the syntax of HTTP/1.1: bytes of frames mean nothing alone."""
    tls: TlsSession | None = None
    timing: Timing = Timing()

    def header(self, name: str) -> str | None:
        """Value of the first header of that name, in any case."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)
