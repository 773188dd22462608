"""`FigureSums`: the figures of workers, and their sums over all workers that the crawl ever had."""

from dataclasses import dataclass, field

from thresher.frontier.worker_figures import (
    CrawlFigures,
    WorkerFigures,
    WorkerKind,
    WorkerReport,
    grown,
    has_progressed,
)


@dataclass(slots=True)
class FigureSums:
    """The sums of each kind of worker, and the last report of each worker."""

    sums: dict[WorkerKind, WorkerFigures] = field(default_factory=dict)
    progress_ms: dict[WorkerKind, int] = field(default_factory=dict)
    reports: dict[str, tuple[WorkerReport, int]] = field(default_factory=dict)
    """The last report of each worker, and until when it counts."""
    counted: dict[str, WorkerFigures] = field(default_factory=dict)
    """The counters of each worker that the sums have."""

    def record_report(self, worker: str, report: WorkerReport, ttl_ms: int, now: int) -> None:
        """Add to the sums what a worker's counters grew by."""
        counted = self.counted.get(worker, WorkerFigures())
        sums = self.sums.get(report.kind, WorkerFigures())
        self.sums[report.kind] = grown(sums, report.figures, counted)
        if has_progressed(report.figures, counted):
            self.progress_ms[report.kind] = now
        self.counted[worker] = report.figures
        self.reports[worker] = report, now + ttl_ms

    def remove_report(self, worker: str) -> None:
        """Forget the report of a worker that has ended. Its counters stay in the sums."""
        self.reports.pop(worker, None)

    def crawl_figures(self, now: int) -> CrawlFigures:
        """Return the sums, and the reports that still count."""
        live = {worker: report for worker, (report, until_ms) in self.reports.items() if now < until_ms}
        return CrawlFigures(sums=dict(self.sums), progress_ms=dict(self.progress_ms), workers=live)
