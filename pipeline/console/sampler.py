"""`CrawlSamples`: the last hour of a crawl, as samples of its counters, from which rates are computed. Pure."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

PERIOD_S = 10.0
"""Seconds between two samples."""
HOUR_SAMPLES = 360
"""Samples that are kept: an hour of them."""
RATE_WINDOW_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The counters of a crawl at one moment."""

    at_s: float
    """By a clock that never goes back."""
    pages: int
    """Pages settled since the crawl was made."""
    requests: int
    archived_bytes: int
    waiting: int
    """Pages that wait, in memory and in storage, now or until a time."""
    errors: int
    """Pages that failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """The speed of a crawl over the last minute."""

    pages_per_s: float
    requests_per_s: float
    bytes_per_s: float
    errors_per_s: float


class CrawlSamples:
    """At most an hour of samples of one crawl."""

    def __init__(self) -> None:
        self._samples: deque[Sample] = deque(maxlen=HOUR_SAMPLES)

    def add(self, sample: Sample) -> None:
        """Add a sample. If a counter went back, the crawl was made anew, and earlier samples are dropped."""
        if self._samples and sample.pages < self._samples[-1].pages:
            self._samples.clear()
        self._samples.append(sample)

    @property
    def rates(self) -> Rates | None:
        """The speed over the last minute of samples; None before two samples."""
        if len(self._samples) < 2:
            return None
        last = self._samples[-1]
        first = next(each for each in self._samples if last.at_s - each.at_s <= RATE_WINDOW_S)
        first = first if first is not last else self._samples[-2]
        return _rates(first, last)

    def series(self) -> list[Rates]:
        """Return the speed between each two samples, the oldest first."""
        return [_rates(one, other) for one, other in self._pairs()]

    def waiting(self) -> list[int]:
        """Return how many pages waited at each sample, the oldest first."""
        return [sample.waiting for sample in self._samples]

    def _pairs(self) -> Iterator[tuple[Sample, Sample]]:
        samples = list(self._samples)
        return pairwise(samples)

    def __repr__(self) -> str:
        return f"<{len(self._samples)} samples>"


def _rates(one: Sample, other: Sample) -> Rates:
    seconds = max(other.at_s - one.at_s, 1e-9)
    return Rates(
        pages_per_s=(other.pages - one.pages) / seconds,
        requests_per_s=(other.requests - one.requests) / seconds,
        bytes_per_s=(other.archived_bytes - one.archived_bytes) / seconds,
        errors_per_s=(other.errors - one.errors) / seconds,
    )
