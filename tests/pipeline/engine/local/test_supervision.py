"""A crawl worker whose event loop stands still is ended, and the page that it was reading is read in another process."""

import signal
from functools import partial

import pytest

import thresher.pipeline.engine.local.crawl_worker
import thresher.pipeline.fleet.crawl_command
from tests.crawler.server import Server, links, page
from tests.pipeline import hanging_workers
from tests.pipeline.crawl_projects import project_at, run_crawl, seed_urls
from thresher.crawler.machine.activity import SPIDER, Activity
from thresher.frontier import Outcome
from thresher.frontier.link.embedded import embedded_server
from thresher.pipeline.engine.local.crawl_worker import pickle_call
from thresher.pipeline.engine.local.event_loop_watchdog import (
    CHECK_INTERVAL_S,
    MAX_BUSY_S,
    MAX_STALL_S,
    EventLoopWatchdog,
)


class Worker:
    """A process that takes CPU time as a test says."""

    def __init__(self):
        self.now = self.cpu_s = 0.0
        self.signals = []
        self.activity = Activity.make()
        self.supervision = EventLoopWatchdog(self, self.activity, clock=lambda: self.now)  # type: ignore[arg-type]

    def signal(self, signum):
        self.signals.append(signum)

    def passes(self, seconds, *, cpu=0.0, turns=False):
        """Look as often as a supervisor does."""
        for _ in range(round(seconds / CHECK_INTERVAL_S)):
            self.now += CHECK_INTERVAL_S
            self.cpu_s += cpu * CHECK_INTERVAL_S
            self.activity._ticks.value += turns
            self.supervision.check()


@pytest.fixture
def worker():
    worker = Worker()
    worker.activity._ticks.value = 1
    return worker


def test_a_worker_whose_event_loop_turns_is_left_alone(worker: Worker):
    worker.passes(2 * MAX_STALL_S, cpu=1.0, turns=True)
    assert worker.signals == []


def test_a_worker_that_computes_without_a_turn_is_ended_once(worker: Worker):
    worker.activity.page_token = 7
    worker.passes(MAX_BUSY_S, cpu=1.0)
    assert worker.signals == []
    worker.passes(5, cpu=1.0)
    assert worker.signals == [signal.SIGKILL]
    assert worker.supervision.stalled_s
    assert MAX_BUSY_S < worker.supervision.stalled_s < MAX_BUSY_S + 2 * CHECK_INTERVAL_S


def test_time_in_which_the_worker_did_not_run_counts_for_little(worker: Worker):
    worker.passes(MAX_STALL_S - 1)
    worker.passes(1, turns=True)
    worker.passes(MAX_STALL_S - 1)
    assert worker.signals == []
    worker.passes(3)
    assert worker.signals == [signal.SIGKILL]
    assert worker.supervision.stalled_s == pytest.approx(MAX_STALL_S, abs=2)


def test_while_nobody_looked_nothing_is_held_against_a_worker(worker: Worker):
    """The machine slept, or the supervisor was stopped."""
    for _ in range(100):
        worker.now += MAX_STALL_S
        worker.supervision.check()
    assert worker.signals == []


def test_before_the_first_turn_and_after_the_last_nothing_counts(worker: Worker):
    worker.activity._ticks.value = 0
    worker.passes(2 * MAX_STALL_S, cpu=1.0)
    assert worker.signals == []


def test_a_spider_may_compute_for_as_long_as_it_may(worker: Worker):
    worker.activity.page_token = SPIDER
    worker.passes(MAX_STALL_S - 1, cpu=1.0)
    assert worker.signals == []


def test_what_a_spider_is_not_to_blame_for_ends_its_worker(worker: Worker):
    worker.activity.page_token = SPIDER
    worker.activity.page_token = 7
    worker.passes(MAX_BUSY_S + 1, cpu=1.0)
    assert worker.signals == [signal.SIGKILL]


@pytest.fixture
def redis(tmp_path):
    with embedded_server(tmp_path / "redis") as address:
        yield address


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ends", "said"),
    [
        (hanging_workers.hanging, "was ended: its event loop was stalled for "),
        (hanging_workers.dying, "died with exit code -11, while it read "),
    ],
    ids=["hangs", "dies"],
)
def test_a_page_that_ends_its_worker_is_read_aside_and_the_crawl_goes_on(
    redis, tmp_path, monkeypatch, capsys, ends, said
):
    monkeypatch.setattr(
        thresher.pipeline.fleet.crawl_command,
        "pickle_call",
        lambda work, *args: pickle_call(ends, work, *args),
    )
    monkeypatch.setattr(
        thresher.pipeline.engine.local.crawl_worker,
        "EventLoopWatchdog",
        partial(EventLoopWatchdog, busy_s=0.5),
    )
    monkeypatch.setattr(thresher.pipeline.fleet.crawl_command, "MAX_REPLACEMENTS", 0)
    with Server().in_thread() as site:
        site.answers["/"] = links("/first", *(f"/fine/{number}" for number in range(20)))
        site.answers["/first"] = page(hanging_workers.MARK + b"<a href=/second>")
        site.answers["/second"] = page(hanging_workers.MARK + b"<a href=/led>")
        site.answers |= {f"/fine/{number}": page(f"page {number}") for number in range(20)}
        site.answers["/led"] = page("the end")
        project = project_at(tmp_path, redis)
        seed_urls(project, f"{site.url}/")
        stats = run_crawl(project)
    assert stats.is_drained
    assert stats.outcomes[Outcome.FETCHED] == 24
    assert not any(reason.startswith("failed") for reason in stats.reasons)
    told_of = [line for line in capsys.readouterr().err.splitlines() if said in line]
    assert [line.partition("while it read ")[2].partition(": ")[0] for line in told_of] == [
        f"{site.url}/first",
        f"{site.url}/second",
    ]
