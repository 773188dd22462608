"""`Window` decides how many requests may be in flight. Pure: the time is an argument.

The window follows additive increase, multiplicative decrease (AIMD; Chiu and Jain 1989, as in TCP's congestion
avoidance, RFC 5681):
1. After as many successful responses in a row as the window is wide, it becomes one wider.
2. A response that asks to slow down halves it, once for all requests that were in flight together: responses to
   requests that were sent before the latest cut say nothing new.
3. No request is sent before the time that a server has named (Retry-After).
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The current width in requests, and its bounds. Times are milliseconds of one clock."""

    width: float = 4.0
    max_width: float = 16.0
    min_width: float = 1.0
    cut_ms: int = -1
    """Time of the latest halving."""
    rest_until_ms: int = 0
    """Time before which no request is sent."""

    def admits(self, in_flight: int) -> bool:
        """Return whether one more request may be sent while `in_flight` are under way."""
        return in_flight < int(self.width)


def grow(window: Window) -> Window:
    """Return the window after a successful response."""
    return replace(window, width=min(window.max_width, window.width + 1 / window.width))


def halve(window: Window, *, sent_ms: int, now_ms: int, rest_ms: int = 0) -> Window:
    """Return the window after a response that asks to slow down.

    `sent_ms` is the time at which its request was sent, `rest_ms` the pause that the server named.
    """
    rest = max(window.rest_until_ms, now_ms + rest_ms if rest_ms else 0)
    if sent_ms <= window.cut_ms:
        return replace(window, rest_until_ms=rest)
    return replace(window, width=max(window.min_width, window.width / 2), cut_ms=now_ms, rest_until_ms=rest)
