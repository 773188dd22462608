"""What is broken on purpose is found: each promise of the simulator can fail, and by the part that keeps it."""

import pytest

from tests.simulator import invariants, redisserver
from tests.simulator.faults import ALL, UNSUPPORTED
from tests.simulator.modelserver import ModelServer
from tests.simulator.process import Process
from tests.simulator.simulation import simulate
from tests.simulator.wire import InlineProcess, SimulatedClient
from thresher.crawler import settler
from thresher.crawler.reading import page_reading
from thresher.crawler.replay import replay
from thresher.crawler.scheduling import scheduler
from thresher.frontier.testing.model.entities import Host
from thresher.frontier.testing.model.heartbeats import Heartbeats
from thresher.frontier.urls.link_targets import link_targets
from thresher.frontier.verbs.journal import Journal
from thresher.frontier.verbs.workers import Workers
from thresher.storage.archive import archive_writer, recovery, segments
from thresher.storage.crawllog import log_writer

SEEDS = 60


def found(kinds, seeds=SEEDS, promise="", redis=None):
    """The first thing that seeds break of a promise."""
    for seed in range(seeds):
        for broken in simulate(seed, kinds, redis).broken:
            if broken.startswith(promise):
                return broken
    return None


def test_a_page_settled_before_its_record_is_durable_is_found(monkeypatch):
    sound = settler.Settler._store

    def hasty(self, batch, now_ms):
        commit, self._archive.commit = self._archive.commit, lambda: None
        try:
            return sound(self, batch, now_ms)
        finally:
            self._archive.commit = commit

    monkeypatch.setattr(settler.Settler, "_store", hasty)
    monkeypatch.setattr("thresher.crawler.worker.ArchiveWriter", UnslottedArchiveWriter)
    assert found(["kill"], promise="settled is readable")


class UnslottedArchiveWriter(archive_writer.ArchiveWriter):
    """An archive writer whose `commit` can be replaced."""


def test_a_host_that_is_asked_within_its_delay_is_found(monkeypatch):
    monkeypatch.setattr(Host, "after_last", lambda self, pace: 0)
    assert found([], promise="polite")
    assert found([], promise="audited")


def test_a_link_that_is_not_followed_is_found(monkeypatch):
    sound = link_targets
    monkeypatch.setattr(page_reading, "link_targets", lambda *args: sound(*args)[:1])
    assert found([], promise="nothing forgotten")


def test_an_archive_that_is_not_replayed_is_found(monkeypatch):
    monkeypatch.setattr(replay, "_find_records", lambda *_: {})
    assert found(["kill_at_write"], promise="archived once")


def test_a_recovery_that_stops_too_soon_is_found(monkeypatch):
    """It takes the first segment of an open file for all of it."""
    sound = segments._join
    monkeypatch.setattr(segments, "_join", lambda store, names, path: sound(store, names[:1], path))
    assert found(["kill"], promise="settled is readable")


def test_a_log_that_leaves_lines_out_is_found(monkeypatch):
    sound = log_writer.CrawlLogWriter.append
    monkeypatch.setattr(
        log_writer.CrawlLogWriter,
        "append",
        lambda self, line: None if line.url.endswith("/2") else sound(self, line),
    )
    assert found([], promise="one funnel")


def test_code_of_ours_that_raises_is_not_taken_for_a_page_that_cannot_be_read(monkeypatch):
    """Here a child process that cannot be called as the true one can: `accepts` has a default there."""
    monkeypatch.setattr(InlineProcess, "call", lambda self, work, *args, returns, accepts: None)
    assert found(["kill"], promise="nothing raises")


def test_open_files_that_nobody_recovers_are_found(monkeypatch):
    monkeypatch.setattr(replay, "recover_archives", lambda *_: [])
    assert found(["kill"], promise="sealed")


def test_pages_that_are_leased_and_never_settled_are_found(monkeypatch):
    """Who dies keeps its leases until their deadline, and then for ever."""
    sound = ModelServer.carry_out

    def deaf(self, verb, args, named):
        return sound(self, verb, args, named) if verb != "reclaim" else 0

    monkeypatch.setattr(ModelServer, "carry_out", deaf)
    monkeypatch.setattr("tests.simulator.simulation.LIMIT_S", 300.0)
    monkeypatch.setattr(
        "thresher.frontier.testing.model.crawl_state.CrawlState.catch_up", lambda self, now: None
    )
    assert found(["kill"])


def test_a_worker_that_wakes_and_sends_what_it_was_about_to_send_is_found(monkeypatch):
    """Its heart is not looked at when a request is about to be sent."""
    sound = SimulatedClient.__init__

    def heartless(self, *args, **told):
        sound(self, *args, **told)
        self._on_request = lambda _: None

    monkeypatch.setattr(SimulatedClient, "__init__", heartless)
    assert found(["pause_at_request"], promise="polite")


def _sealed_once(store, crawl, writer, name, left):
    """A recovery that leaves aside what was written behind the one before it."""
    return None if recovery._published(store, crawl, name) else SOUND(store, crawl, writer, name, left)


SOUND = recovery._recover_file


def _end_of_all(self):
    """All segments are removed, whether they were read or not."""
    segments._remove(self._store, list(self._store.list(f"{self._names[0].rpartition('/')[0]}/")))


def test_a_worker_that_sleeps_and_goes_on_is_found(monkeypatch):
    """Its clock sleeps too, its name stays good when it is taken over, and recovery removes what it has not sealed."""
    monkeypatch.setattr(Process, "boottime", Process.time)
    monkeypatch.setattr(Heartbeats, "take_over", lambda *_: None)
    monkeypatch.setattr(recovery, "_recover_file", _sealed_once)
    monkeypatch.setattr(segments.AbandonedSegments, "remove", _end_of_all)
    assert found(["suspend"], seeds=150, promise="settled is readable")


@pytest.mark.parametrize("kind", sorted(UNSUPPORTED))
def test_what_is_known_to_break_a_promise_on_the_model_is_found(kind):
    assert found([kind])


@pytest.mark.slow
def test_a_clock_that_is_set_may_let_the_wrong_line_count(monkeypatch):
    monkeypatch.setattr(invariants, "STRICT", True)
    assert found(["kill_at_write", "step_clock"], seeds=1000, promise="one funnel")


@pytest.mark.parametrize("kind", sorted(ALL))
def test_every_fault_comes_to_pass(kind):
    assert any("fault: " in line for seed in range(6) for line in simulate(seed, [kind]).trace)


# On the Lua functions and their client


def _none_lost(self, partition, *_):
    return [], [change for change in self._changes if change.partition == partition]


def test_a_server_that_nobody_tells_again_what_it_forgot_is_found(redis, monkeypatch):
    """Clients take everything for kept (decision 34): what was settled waits again, and is fetched once more."""
    monkeypatch.setattr(Journal, "split_by_loss", _none_lost)
    assert found(["lose_tail"], promise="archived once", redis=redis)


def test_a_worker_that_keeps_for_known_what_the_server_forgot_is_found(redis, monkeypatch):
    """Nor is it told again, and the links that it led to are lost for good."""
    monkeypatch.setattr(Journal, "split_by_loss", _none_lost)
    monkeypatch.setattr(scheduler.Scheduler, "_start_afresh", _nothing)
    assert found(["lose_tail"], promise="nothing forgotten", redis=redis)


async def _nothing(*_):
    pass


def test_a_lease_that_is_not_granted_again_is_found(redis, monkeypatch):
    """What was settled in the lost second is fetched once more."""
    monkeypatch.setattr("thresher.frontier.verbs.reconciler.regrant_arguments", lambda *_: [])
    assert found(["lose_tail"], promise="archived once", redis=redis)


def test_a_server_that_grants_at_once_after_a_restart_is_found(redis, monkeypatch):
    sound = redisserver.library
    hasty = sound().replace("HOLD_MS = 1500", "HOLD_MS = 0")
    assert hasty != sound()
    monkeypatch.setattr(redisserver, "library", lambda: hasty)
    assert found(["lose_tail"], promise="archived once", redis=redis)


@pytest.mark.slow
def test_a_worker_that_sleeps_and_goes_on_is_found_on_the_functions_too(redis, monkeypatch):
    monkeypatch.setattr(Process, "boottime", Process.time)
    monkeypatch.setattr(Workers, "take_over", _nothing)
    monkeypatch.setattr(recovery, "_recover_file", _sealed_once)
    monkeypatch.setattr(segments.AbandonedSegments, "remove", _end_of_all)
    assert found(["suspend"], seeds=150, promise="settled is readable", redis=redis)
