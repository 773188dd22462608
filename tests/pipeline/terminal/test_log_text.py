"""A line of the crawl's log for a reader."""

import pytest

from thresher.pipeline.terminal.log_text import format_line
from thresher.storage.crawllog.log_line import LogLine

AT = 1_790_000_000_000


def line(**more):
    return LogLine(time_ms=AT, url="http://a.test/", kind="page", **more)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            line(outcome="fetched", status=200, bytes=12_345, ms=153),
            "fetched    200  12.3 kB    153 ms  http://a.test/",
        ),
        (
            line(outcome="gone", status=404, reason="status_404", bytes=99, ms=2, referrer="http://b.test/"),
            "gone       404     99 B      2 ms  http://a.test/  from http://b.test/",
        ),
        (
            line(outcome="retry", reason="timeout_connect"),
            "retry        -        -         -  http://a.test/  [no connection in time (timeout_connect)]",
        ),
        (
            line(outcome="failed", reason="something_new", bytes=0),
            "failed       -        -         -  http://a.test/  [something_new]",
        ),
        (
            line(outcome="fetched", status=403, reason="status_403", bytes=5_000_000_000, ms=61_000),
            "fetched    403   5.0 GB 61,000 ms  http://a.test/",
        ),
    ],
)
def test_a_line_says_when_what_and_why(found, said):
    assert format_line(found) == f"2026-09-21 14:13:20 {said}"
