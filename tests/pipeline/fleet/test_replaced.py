"""Workers that end are replaced: after a sleep as often as it happens, after a crash a few times."""

from types import SimpleNamespace

import pytest

from thresher.core import ThresherError
from thresher.pipeline.engine.local.crawl_worker import WorkerExit
from thresher.pipeline.fleet import crawl_command
from thresher.pipeline.fleet.crawl_call import EXIT_PRESUMED_DEAD
from thresher.pipeline.fleet.crawl_command import MAX_REPLACEMENTS


class Berth:
    """The place of a worker that has ended so."""

    def __init__(self, exitcode):
        self._left = WorkerExit(exitcode=exitcode, error=None)

    def poll(self):
        return self._left

    def wait(self):
        return self._left

    def signal(self, _signum):
        pass


class Shown:
    """A progress that nobody sees."""

    async def start(self):
        pass

    async def update(self):
        pass

    def stop(self):
        pass


async def watched(monkeypatch, exitcodes):
    """A crawl by one worker, each of which ends with the next of these codes; who was taken up."""
    ends, ended = iter(exitcodes), []

    async def take_up(_project, _frontier, _name, gone):
        ended.append(len(gone))

    def start():
        code = next(ends)
        return crawl_command._FleetWorker(name=f"w{code}-{len(ended)}", handle=Berth(code))

    monkeypatch.setattr(crawl_command, "POLL_S", 0)
    monkeypatch.setattr(crawl_command, "recover_dead_workers", take_up)
    interrupts = SimpleNamespace(count=0, forward=lambda _workers: None)
    await crawl_command._supervise(None, None, "main", start, 1, interrupts, Shown())  # type: ignore[arg-type]
    return ended


async def test_a_machine_that_sleeps_again_and_again_does_not_end_the_crawl(monkeypatch):
    slept = MAX_REPLACEMENTS + 3
    assert await watched(monkeypatch, [*[EXIT_PRESUMED_DEAD] * slept, 0]) == list(range(1, slept + 1))


async def test_workers_that_die_again_and_again_end_it(monkeypatch):
    died = MAX_REPLACEMENTS + 1
    with pytest.raises(ThresherError, match=f"crawl main: {died} workers died, the last with exit code -9"):
        await watched(monkeypatch, [-9] * died)
