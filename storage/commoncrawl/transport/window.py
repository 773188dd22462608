"""`Window`: how many requests may be out at the same time: pure decisions, with the time as an argument.

Additive increase, multiplicative decrease (AIMD; Chiu and Jain 1989, as in TCP's congestion avoidance, RFC 5681):
1. A window of answers in a row makes it one wider.
2. An answer that asks us to slow down halves it, once for all requests that were out together: those which went out before the last
   cut say nothing new.
3. Nobody asks before the time that a server named (Retry-After).
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Its width now, and its bounds. Times in milliseconds of one clock."""

    width: float = 4.0
    most: float = 16.0
    least: float = 1.0
    cut_ms: int = -1
    """When it was last halved."""
    rest_until_ms: int = 0
    """Before then nobody asks."""

    def admits(self, out: int) -> bool:
        """Whether one more may go where so many are out."""
        return out < int(self.width)


def grow(window: Window) -> Window:
    """After an answer."""
    return replace(window, width=min(window.most, window.width + 1 / window.width))


def halve(window: Window, *, sent_ms: int, now_ms: int, rest_ms: int = 0) -> Window:
    """After being asked to slow down by the answer to what was sent at `sent_ms`; `rest_ms` is what the server named."""
    rest = max(window.rest_until_ms, now_ms + rest_ms if rest_ms else 0)
    if sent_ms <= window.cut_ms:
        return replace(window, rest_until_ms=rest)
    return replace(window, width=max(window.least, window.width / 2), cut_ms=now_ms, rest_until_ms=rest)
