"""How long, how much and how slowly: the limits of one exchange. Each part has one of its own."""

from dataclasses import dataclass

DNS_S = 10.0
CONNECT_S = 10.0
"""Seconds for one TCP connection."""
TLS_S = 10.0
"""Seconds for one TLS handshake."""
TOTAL_FACTOR = 4
"""The whole exchange may take so many times as long as its first byte."""
WINDOW_S = 15.0
MIN_BYTES_PER_S = 100
"""Bytes a second that a response must bring in every window: less is a server that holds us, not a slow line."""
QUIET_S = 1.0
"""Where the framing is broken nobody knows where the body ends: it ends when nothing came for so long."""
MAX_HEAD_BYTES = 512 << 10
"""Bytes of a head at most, whatever its lines are (Chromium 256 KiB, Firefox 384 KiB)."""
MAX_INTERIM = 16
"""Interim responses (1xx) that are passed over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Of one exchange. `timeout_s` is the patience for the first byte; no part has more of it."""

    max_body: int
    """Bytes of body, as they come over the wire."""
    timeout_s: float

    @property
    def dns_s(self) -> float:
        """Seconds for the look-up of a name."""
        return min(DNS_S, self.timeout_s)

    @property
    def connect_s(self) -> float:
        """Seconds for one TCP connection."""
        return min(CONNECT_S, self.timeout_s)

    @property
    def tls_s(self) -> float:
        """Seconds for one TLS handshake."""
        return min(TLS_S, self.timeout_s)

    @property
    def window_s(self) -> float:
        """Seconds over which the rate is measured."""
        return min(WINDOW_S, self.timeout_s)

    @property
    def total_s(self) -> float:
        """Seconds from the look-up of the name to the last byte, without the time for which a turn is waited for."""
        return TOTAL_FACTOR * self.timeout_s
