"""`next_interval_s`: how long until a page is visited again. Pure.

1. A page that has changed is visited sooner from then on, an unchanged page later (Nutch, `AdaptiveFetchSchedule`:
   intervals times 0.8 and 1.4).
2. The interval is never shorter than `MIN_INTERVAL_S` and never longer than `MAX_INTERVAL_S`.
"""

SOONER = 0.8
LATER = 1.4
MIN_INTERVAL_S = 3_600
MAX_INTERVAL_S = 365 * 86_400


def next_interval_s(interval_s: int, *, changed: bool) -> int:
    """Return the interval after a visit, in seconds; 0, for never, stays 0."""
    if interval_s == 0:
        return 0
    return min(max(round(interval_s * (SOONER if changed else LATER)), MIN_INTERVAL_S), MAX_INTERVAL_S)
