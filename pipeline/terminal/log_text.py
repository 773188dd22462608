"""`format_line`: one line of a crawl log as text for people."""

from datetime import UTC, datetime

from thresher.pipeline.terminal.reasons import describe, describe_with_code
from thresher.storage.crawllog.log_line import LogLine

KILO = 1000


def format_line(line: LogLine) -> str:
    """Return the time, outcome, status, size, duration and URL of a log line, then its reason and its referrer."""
    moment = f"{datetime.fromtimestamp(line.time_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"
    status = "-" if line.status is None else str(line.status)
    took = "-" if line.ms is None else f"{line.ms:,} ms"
    head = f"{moment} {line.outcome:<10} {status:>3} {_size(line.bytes):>8} {took:>9}  {line.url}"
    return "  ".join(filter(None, (head, _why(line), line.referrer and f"from {line.referrer}")))


def _why(line: LogLine) -> str:
    if not line.reason or line.reason == f"status_{line.status}":
        return ""
    words = describe(line.reason)
    return f"[{line.reason}]" if words == line.reason else f"[{describe_with_code(line.reason)}]"


def _size(count: int | None) -> str:
    if not count:
        return "-"
    size, unit = float(count), "B"
    for larger in ("kB", "MB", "GB"):
        if size < KILO:
            break
        size, unit = size / KILO, larger
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
