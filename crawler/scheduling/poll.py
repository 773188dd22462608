"""`LeasePoll`: when a worker calls the frontier for leases. Pure: the time is an argument, in seconds of any clock.

1. The frontier names the time at which something may be leased (`Leases.soonest_ms`); then it is asked, and not before.
2. An event at this worker (a lease is settled or given back) may bring something at any time: it is asked at once.
3. What happens elsewhere is not announced. So nobody waits for longer than `LONGEST_S`.
4. Several workers may be told the same time, and one of them is first. Who asks in vain at the time that it was told
   waits at least twice as long each time, until it is granted something again.
"""

MIN_INTERVAL_S = 0.005
"""Between two questions where the first was of no use."""
MAX_INTERVAL_S = 1.0
"""Between two questions: a URL that another command adds is seen as soon as that."""


class LeasePoll:
    """Says when to ask, from what the answers said."""

    def __init__(self) -> None:
        self._at = 0.0
        self._is_promised = True
        self._empty_polls = 0

    def wait_s(self, now: float) -> float:
        """Return how long to wait before asking; 0 if it is time."""
        return max(self._at - now, 0.0)

    def record_grant(self, now: float, *, granted: int, soonest_ms: int | None) -> None:
        """Note an answer: so many leases were granted, and more may be in so many milliseconds."""
        if granted:
            self._empty_polls = 0
        elif self._is_promised:
            self._empty_polls += 1
        wait_s = MAX_INTERVAL_S if soonest_ms is None else soonest_ms / 1000
        self._at = now + min(max(wait_s, MIN_INTERVAL_S * 2 ** min(self._empty_polls, 10)), MAX_INTERVAL_S)
        self._is_promised = True

    def record_soonest(self, now: float, soonest_ms: int | None) -> None:
        """Note that something may be leased in so many milliseconds, perhaps sooner than was said before."""
        if soonest_ms is not None:
            self._at = min(self._at, now + soonest_ms / 1000)

    def poll_now(self) -> None:
        """Ask as soon as possible: something has changed here."""
        self._at, self._is_promised = 0.0, False

    def __repr__(self) -> str:
        return f"<poll: {self._empty_polls} times in vain>"
