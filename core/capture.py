"""`Capture`: the exact bytes of one HTTP request and its response."""

from dataclasses import dataclass
from typing import Literal

from thresher.core.url import Url

Truncation = Literal["length", "time", "disconnect", "unspecified"]
HttpProtocol = Literal["http/0.9", "http/1.0", "http/1.1", "h2"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSession:
    """How a connection was encrypted, and whether its server is the one that it claims to be."""

    version: str
    """`1.2` or `1.3`; an older version if a policy allows it."""
    cipher: str
    """IANA's name of the cipher suite."""
    trust: str
    """`trusted`, or the code of why the certificate is not: `expired`, `self_signed`, `wrong_host`, `untrusted`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Milliseconds of the parts of a request; None for a part that did not happen, such as connecting on a kept
    connection.
    """

    dns_ms: int | None = None
    connect_ms: int | None = None
    tls_ms: int | None = None
    first_byte_ms: int | None = None
    """From the end of the request to the first byte of the response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """One request and its response, byte for byte, before any decoding."""

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
    """The entity after transfer decoding, still content-encoded: the input of the payload digest."""
    started_ms: int
    """Start of the request: milliseconds since the epoch, UTC."""
    elapsed_ms: int
    peer: str
    """IP address of the server."""
    truncated: Truncation | None
    """Why the response is not whole (WARC-Truncated), or None."""
    protocol: HttpProtocol = "http/1.1"
    """The protocol on the wire. A request over h2 is recorded in the syntax of HTTP/1.1, because bytes of frames mean
    nothing alone.
    """
    tls: TlsSession | None = None
    timing: Timing = Timing()

    def header(self, name: str) -> str | None:
        """Return the value of the first header with that name, in any case; None if there is none."""
        lower = name.lower()
        return next((value for key, value in self.headers if key.lower() == lower), None)

    @property
    def content_encoding(self) -> str:
        """All values of Content-Encoding, joined by commas (RFC 9110, section 5.2); empty if there is none."""
        return ",".join([value for key, value in self.headers if key.lower() == "content-encoding"])
