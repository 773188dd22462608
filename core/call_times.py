"""`CallTimes`: how many calls of the storage a process made, and how long they took."""

from dataclasses import dataclass

BUCKETS_S = (0.005, 0.025, 0.1, 0.5, 2.5, 10.0)
"""Upper bounds of the buckets of calls, in seconds. A last bucket has all longer calls. A put on a local disk takes
milliseconds, a put in object storage some 10 to 100; a store that needs seconds is overloaded."""
NO_CALLS = (0,) * (len(BUCKETS_S) + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTimes:
    """The calls of one process so far."""

    us: int = 0
    """Microseconds of all calls together."""
    calls: tuple[int, ...] = NO_CALLS
    """Calls by duration, one number for each bucket of `BUCKETS_S` and one for longer calls."""
