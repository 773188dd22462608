"""Bars fit a terminal of 80 columns; lines say the same for a log file."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from thresher.frontier import GateState, Stats
from thresher.pipeline.fleet.crawl_progress import remaining, status_line
from thresher.pipeline.terminal.bar_progress import BarProgress
from thresher.pipeline.terminal.progress import LineProgress
from thresher.pipeline.terminal.rate import Rate, format_duration

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
LONG = "12.3/s, 1,234,567 hosts (12 held), about 3 h 20 min left; waits for somebody else to process"


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize(("total", "note"), [(None, LONG), (1_234_567, LONG), (5, "part-[bold]0-0")])
def test_a_bar_is_one_line_whatever_the_width(width, total, note):
    written = io.StringIO()
    console = Console(file=written, width=width, force_terminal=True, color_system=None)
    bars = BarProgress(console)
    bars.start("process@3", total)
    bars.advance(note, by=3)
    bars.stop()
    shown = [line for line in ESCAPES.sub("", written.getvalue()).replace("\r", "\n").split("\n") if line]
    assert all(len(line) <= width for line in shown)
    assert shown[-1].startswith("process@3 ")
    assert note.split()[0] in shown[-1]
    assert ("…" in shown[-1]) == (width < 120 and note is LONG)
    # Every frame is drawn over the one before: nothing was wrapped into a second line.
    assert all(line.startswith("process@3 ") for line in shown)


def test_a_line_is_shown_above_the_bar():
    written = io.StringIO()
    console = Console(file=written, width=80, force_terminal=True, color_system=None)
    bars = BarProgress(console)
    bars.start("crawl", None)
    bars.print_line("fetched [200] http://a.test/")
    bars.advance("note", by=1, total=2)
    bars.stop()
    text = ESCAPES.sub("", written.getvalue())
    assert "fetched [200] http://a.test/" in text
    assert "1/2" in text


def test_lines_say_how_many_of_how_many(capsys, monkeypatch):
    monkeypatch.setattr("thresher.pipeline.terminal.progress.LINE_INTERVAL_S", 0)
    lines = LineProgress()
    lines.start("crawl", None)
    lines.advance("12.3/s", by=1_000)
    lines.advance("12.3/s", by=1, total=2_000)
    lines.print_line("as it is")
    lines.stop()
    assert capsys.readouterr().err.splitlines() == [
        "crawl: 1,000, 12.3/s",
        "crawl: 1,001 of 2,000, 12.3/s",
        "as it is",
        "crawl: 1,001 of 2,000",
    ]


def test_the_pace_is_that_of_the_last_minute():
    pace = Rate()
    assert pace.remaining_s(10) is None
    pace.update(0, 100)
    assert pace.per_second == 0
    for second in range(1, 121):
        pace.update(second, 100 + (second if second <= 60 else 60 + (second - 60) * 10))
    assert pace.per_second == pytest.approx(10, rel=0.02)
    assert pace.remaining_s(100) == pytest.approx(10, rel=0.02)


def test_where_nothing_moves_there_is_no_estimate():
    pace = Rate()
    for second in range(5):
        pace.update(second, 7)
    assert pace.remaining_s(3) is None


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.4, "0 s"),
        (45, "45 s"),
        (61, "1 min"),
        (12_000, "3 h 20 min"),
        (7_200, "2 h"),
        (187_200, "2 d 4 h"),
        (172_800, "2 d"),
    ],
)
def test_a_duration_has_two_units_at_most(seconds, said):
    assert format_duration(seconds) == said


STATS = Stats(
    waiting=70,
    later=20,
    leased=10,
    robots=0,
    hosts=1_234,
    outcomes={"fetched": 5, "gone": 3},
    reasons={},
    seen=108,
    held=3,
    dead=1,
    requests=12,
)


def test_what_remains_is_what_the_limits_leave():
    stats = STATS
    assert remaining(stats) == 100
    assert remaining(stats, max_pages=45) == 40
    assert remaining(stats, max_requests=42) == 30
    assert remaining(stats, max_pages=45, max_requests=42) == 30
    assert remaining(stats, max_pages=5) == remaining(stats, max_requests=11) == 0
    assert remaining(stats, max_pages=1_000_000) == 100


def test_a_note_says_pace_hosts_and_an_estimate_of_a_second_or_more():
    pace = Rate()
    pace.update(0, 0)
    assert status_line(STATS, None, pace, 100) == "0.0 pages/s, 1,234 hosts (2 held)"
    pace.update(10, 100)
    assert status_line(STATS, None, pace, 100) == "10.0 pages/s, 1,234 hosts (2 held), ~10 s left"
    assert status_line(replace(STATS, held=1), None, pace, 9) == "10.0 pages/s, 1,234 hosts"
    flow = GateState(follower="host-1", backlog=2, limit=1, estimate=2, reported_ms=0, shut=True)
    assert status_line(STATS, flow, pace, 0).endswith("hosts (2 held), waits for host-1 to process")
