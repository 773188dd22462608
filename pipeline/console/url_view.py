"""`source_view`: what one crawl or ingest knows about a URL, as the console shows it."""

from thresher.pipeline.console.frontier_views import place_view
from thresher.pipeline.console.live_log import line_view
from thresher.pipeline.console.models.url_models import CaptureView, PictureView, UrlInSource
from thresher.pipeline.console.stored_reader import StoredReader
from thresher.pipeline.reports.history import CaptureHistory, History

MAX_CAPTURES = 100
"""Captures that are shown, the newest."""


def source_view(history: History, stored: StoredReader) -> UrlInSource:
    """Return the history. Reads which exports were made of its parts."""
    exports: dict[str, list[str]] = {}
    captures = history.captures[-MAX_CAPTURES:]
    for capture in captures:
        if capture.verdict is not None and capture.verdict.keep and not capture.verdict.duplicate_of:
            part = capture.verdict.part
            if part not in exports:
                exports[part] = stored.exports_of(part)
    return UrlInSource(
        source=history.source,
        place=None if history.place is None else place_view(history.place),
        log=[line_view(line, number) for number, line in enumerate(history.lines, 1)],
        captures=[_capture(capture, exports) for capture in captures],
    )


def _capture(capture: CaptureHistory, exports: dict[str, list[str]]) -> CaptureView:
    row, verdict = capture.row, capture.verdict
    is_exported = verdict is not None and verdict.keep and not verdict.duplicate_of
    return CaptureView(
        url=row.url,
        time=row.date_ms,
        status=row.status,
        mime=row.mime,
        file=row.filename,
        offset=row.offset,
        length=row.length,
        digest=row.digest,
        is_processed=verdict is not None,
        document=verdict.id if verdict else "",
        part=verdict.part if verdict else "",
        keep=verdict.keep if verdict else False,
        rule=verdict.rule if verdict else "",
        reason=verdict.reason if verdict else "",
        title=verdict.title if verdict else "",
        language=verdict.language if verdict else "",
        extractor=verdict.extractor if verdict else "",
        duplicate_of=verdict.duplicate_of if verdict else "",
        duplicate_kind=verdict.duplicate_kind if verdict else "",
        exports=exports.get(verdict.part, []) if verdict is not None and is_exported else [],
        pictures=[
            PictureView(kind=row.url.split(":", 2)[1], file=row.filename, offset=row.offset)
            for row in capture.pictures
        ],
    )
