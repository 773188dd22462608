"""`Capture`: exactly what one HTTP exchange put on the wire."""

from dataclasses import dataclass
from typing import Literal

from core.url import Url

Truncation = Literal["length", "time", "disconnect", "unspecified"]


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

    def header(self, name: str) -> str | None:
        """Value of the first header of that name, in any case."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)
