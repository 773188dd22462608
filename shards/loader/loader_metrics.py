"""What a loader has done, as counters that a monitoring system can take over."""

import threading
from dataclasses import asdict, dataclass, field


@dataclass(slots=True)
class Counts:
    """Totals since the loader was made."""

    sequences: int = 0
    batches: int = 0
    stall_seconds: float = 0.0
    cache_hits: int = 0
    cache_misses: int = 0
    cache_evictions: int = 0
    downloaded_bytes: int = 0
    direct_bytes: int = 0


@dataclass(slots=True)
class LoaderMetrics:
    """Counters that several threads may raise."""

    counts: Counts = field(default_factory=Counts)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, **more: float) -> None:
        """Raise the named counters."""
        with self._lock:
            for name, count in more.items():
                setattr(self.counts, name, getattr(self.counts, name) + count)

    def named(self) -> dict[str, float]:
        """Return the counters by the names that Prometheus has for them."""
        return {f"thresher_loader_{name}_total": count for name, count in asdict(self.counts).items()}
