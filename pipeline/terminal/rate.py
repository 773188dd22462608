"""The speed of work, and the time until it ends. Pure: times are arguments."""

from collections import deque

WINDOW_S = 60.0
"""Seconds over which the speed is measured: long enough for hosts to take turns, short enough to follow a change."""


class Rate:
    """Measures the speed of a growing count."""

    def __init__(self, window_s: float = WINDOW_S) -> None:
        self._window_s = window_s
        self._seen: deque[tuple[float, int]] = deque()

    def update(self, now_s: float, done: int) -> None:
        """Record the total count at a time."""
        self._seen.append((now_s, done))
        # Keep the newest entry that is older than the window, because the speed is measured from it.
        while len(self._seen) > 2 and now_s - self._seen[1][0] >= self._window_s:
            self._seen.popleft()

    @property
    def per_second(self) -> float:
        """The speed within the window; 0 before two counts are known."""
        if len(self._seen) < 2:
            return 0.0
        (then_s, before), (now_s, done) = self._seen[0], self._seen[-1]
        return (done - before) / (now_s - then_s) if now_s > then_s else 0.0

    def remaining_s(self, remaining: int) -> float | None:
        """Return the seconds until `remaining` more are done at this speed, or None if the speed is 0."""
        speed = self.per_second
        return remaining / speed if speed > 0 else None

    def __repr__(self) -> str:
        return f"<rate of {self.per_second:.1f}/s>"


def format_duration(seconds: float) -> str:
    """Return a duration for people in at most two units: `45 s`, `12 min`, `3 h 20 min`, `2 d 4 h`."""
    minutes, s = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h" if hours else f"{days} d"
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{minutes} min" if minutes else f"{s} s"
