"""The figures of workers: the arguments that report them, and the reply that holds them."""

from collections.abc import Sequence
from typing import cast

from thresher.frontier.worker_figures import (
    CrawlFigures,
    WorkerFigures,
    WorkerKind,
    WorkerReport,
    from_numbers,
    to_numbers,
)


def encode_figures(report: WorkerReport, counted: WorkerFigures) -> tuple[str | int, ...]:
    """Return the arguments that report figures. `counted` are the counters that the sums have already."""
    return report.kind, report.rss_bytes, _text(report.figures), _text(counted)


def decode_figures(rows: Sequence[tuple[bytes, bytes]]) -> CrawlFigures:
    """Return the reply of `figures`."""
    sums: dict[WorkerKind, WorkerFigures] = {}
    progress: dict[WorkerKind, int] = {}
    workers: dict[str, WorkerReport] = {}
    for field, text in rows:
        which, _, name = field.decode().partition(" ")
        if which == "kind":
            sums[cast("WorkerKind", name)] = _figures(text.decode())
        elif which == "progress":
            progress[cast("WorkerKind", name)] = int(text)
        else:
            kind, rss, counters = text.decode().split(" ", 2)
            workers[name] = WorkerReport(
                kind=cast("WorkerKind", kind), rss_bytes=int(rss), figures=_figures(counters)
            )
    return CrawlFigures(sums=sums, progress_ms=progress, workers=workers)


def _text(figures: WorkerFigures) -> str:
    return " ".join(map(str, to_numbers(figures)))


def _figures(text: str) -> WorkerFigures:
    return from_numbers(tuple(map(int, text.split())))
