"""`next_visit`: when a page is visited again. Pure.

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


def due_ms(now_ms: int, interval_s: int, lastmod_ms: int | None = None, visited_ms: int | None = None) -> int:
    """When the next visit is due: after the interval, but at once where a sitemap says that the page has changed
    (`lastmod_ms`) since it was visited. A `lastmod` in the future says nothing.
    """
    if lastmod_ms is not None and visited_ms is not None and visited_ms < lastmod_ms <= now_ms:
        return now_ms
    return now_ms + interval_s * 1000
