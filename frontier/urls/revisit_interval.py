"""`next_interval_s`: how long until a page is visited again. Pure.

1. A page that has changed is visited sooner from then on, one that has not later (Nutch, `AdaptiveFetchSchedule`:
   intervals times 0.8 and 1.4).
2. Not before `SHORTEST_S`, and not after `LONGEST_S`.
"""

SOONER = 0.8
LATER = 1.4
SHORTEST_S = 3_600
LONGEST_S = 365 * 86_400


def next_interval_s(interval_s: int, *, changed: bool) -> int:
    """The interval after a visit; 0, for never, stays 0."""
    if interval_s == 0:
        return 0
    return min(max(round(interval_s * (SOONER if changed else LATER)), SHORTEST_S), LONGEST_S)
