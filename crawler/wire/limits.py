"""The limits of one exchange in time, bytes and rate. Each part of an exchange has its own limit."""

from dataclasses import dataclass

DNS_S = 10.0
CONNECT_S = 10.0
"""Seconds for one TCP connection."""
TLS_S = 10.0
"""Seconds for one TLS handshake."""
TOTAL_FACTOR = 4
"""The whole exchange may last this many times as long as the wait for its first byte."""
WINDOW_S = 15.0
MIN_BYTES_PER_S = 100
"""Bytes a second that a response must deliver in each window. A server that sends less holds us up; a slow line sends
more.
"""
QUIET_S = 1.0
"""Seconds. If the framing is broken nobody knows where the body ends: it ends once nothing arrived for this long."""
MAX_HEAD_BYTES = 512 << 10
"""Bytes of a head at most, whatever its lines are (Chromium: 256 KiB, Firefox: 384 KiB)."""
MAX_INTERIM = 16
"""Interim responses (1xx) that are skipped at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one exchange. No part may last longer than `timeout_s`, the wait for the first byte in seconds."""

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
        """Seconds from the look-up of the name to the last byte; the wait for an address's turn does not count."""
        return TOTAL_FACTOR * self.timeout_s
