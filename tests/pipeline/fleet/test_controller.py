"""Controllers that sleep, and controllers that stand by. Members are names without processes."""

import asyncio

import pytest

from tests.pipeline.crawl_projects import project_at, seed_urls
from thresher.frontier.fleet_state import MemberEnd
from thresher.frontier.link.connect import connect
from thresher.frontier.link.embedded import embedded_server
from thresher.pipeline import open_crawl
from thresher.pipeline.fleet import controller as controller_module
from thresher.pipeline.fleet.controller import Controller, ControllerOptions, FleetTimes, StopSignal
from thresher.pipeline.fleet.member_host import SPIDER_CLOSED, MemberTask

TTL_MS = 600_000
"""Nobody is lost by chance, however busy the machine is."""


class NoMembers:
    """A place where members start without a process."""

    def __init__(self):
        self.started = []

    async def start(self, task):
        self.started.append(task.name)

    async def waiting(self, names):
        return set()

    async def cancel(self, name):
        pass

    async def capacity(self):
        return None

    def drain(self):
        pass

    def end_now(self):
        pass

    async def close(self):
        pass


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with embedded_server(tmp_path_factory.mktemp("redis")) as found:
        yield found


@pytest.fixture
def project(address, tmp_path):
    found = project_at(tmp_path, address, more="[fleet]\nprocessors = 0\n")
    seed_urls(found, "http://127.0.0.1:9/")
    return found


@pytest.fixture
async def frontier(address, project):
    link = await connect(address)
    opened = await open_crawl.open_seeded_crawl(project, link, "main")
    yield opened
    await opened.crawl.forget()
    await link.aclose()


def make_controller(project, frontier, name, *, member_ttl_ms=TTL_MS):
    members, said = NoMembers(), []

    def task(kind, restarts):
        return MemberTask(
            crawl="main",
            redis="",
            name=f"{name}-{kind}-{len(members.started)}",
            kind=kind,
            restarts=restarts,
            version="v",
            call=b"",
            heartbeat_s=1.0,
            ttl_ms=member_ttl_ms,
        )

    times = FleetTimes(tick_s=0.02, member_ttl_s=member_ttl_ms / 1000, lease_ttl_s=600.0)
    options = ControllerOptions(name=name, version="v", times=times)
    return Controller(project, frontier, members, task, options, StopSignal(), said.append), members, said


async def until(condition):
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - the controller has no event for it
            await asyncio.sleep(0.01)


async def test_an_order_to_stop_ends_the_controller_that_stands_by_too(project, frontier):
    first, members, _ = make_controller(project, frontier, "first")
    standby, reserve, said = make_controller(project, frontier, "standby")
    async with asyncio.timeout(120), asyncio.TaskGroup() as running:
        running.create_task(first.run())
        await until(lambda: members.started)
        running.create_task(standby.run())
        await until(lambda: said)
        await frontier.fleet.stop()
        for name in members.started:
            await frontier.fleet.end(
                MemberEnd(name=name, kind="crawler", restarts=0, has_crashed=False, reason="")
            )
    assert reserve.started == []
    assert (await frontier.fleet.state()).controller is None


async def test_a_spider_that_closes_the_crawl_stops_the_fleet_for_every_controller(project, frontier):
    first, members, _ = make_controller(project, frontier, "first")
    async with asyncio.timeout(120), asyncio.TaskGroup() as running:
        running.create_task(first.run())
        await until(lambda: members.started)
        for name in members.started:
            await frontier.fleet.end(
                MemberEnd(name=name, kind="crawler", restarts=0, has_crashed=False, reason=SPIDER_CLOSED)
            )
    assert len(members.started) == 1
    state = await frontier.fleet.state()
    assert (state.controller, state.wanted.is_stopping, state.members) == (None, True, ())


async def test_members_that_were_not_lost_after_all_are_kept(project, frontier, monkeypatch):
    """A machine that slept wakes: to the controller its members are lost, until they send a heartbeat."""
    recovering, recovered = asyncio.Event(), asyncio.Event()

    async def recover(*_):
        if any("is lost" in line for line in said):
            recovering.set()
            await recovered.wait()

    monkeypatch.setattr(controller_module, "recover_dead_workers", recover)
    sleepy, _, said = make_controller(project, frontier, "sleepy", member_ttl_ms=200)
    async with asyncio.timeout(120), asyncio.TaskGroup() as running:
        control = running.create_task(sleepy.run())
        await until(lambda: any("is lost" in line for line in said))
        await asyncio.wait_for(recovering.wait(), 60)
        (first, *_) = (await frontier.fleet.state()).members
        assert await frontier.fleet.send_heartbeat(first, ttl_ms=TTL_MS) == "run"
        recovered.set()
        await until(lambda: sleepy._recovery is None)
        assert await frontier.fleet.send_heartbeat(first, ttl_ms=TTL_MS) != "gone"
        control.cancel()
