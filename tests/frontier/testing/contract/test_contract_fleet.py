"""The promises of a crawl's fleet, kept by both frontiers: in memory and on a server."""

from dataclasses import replace

import pytest

from tests.frontier.contract import numbered
from thresher.core import InputError
from thresher.frontier import Member, Wanted
from thresher.frontier.fleet_state import MemberEnd

TTL = 10_000
USUAL = {"crawler": 2, "processor": 1, "exporter": 0}


@pytest.fixture
def fleet(crawl):
    return crawl.frontier.fleet


async def begin(fleet, controller="c1", version="v1", **given):
    return await fleet.begin(controller, ttl_ms=TTL, version=version, usual=USUAL, given=given)


def member(name, **fields):
    return Member(
        **{
            "name": name,
            "kind": "crawler",
            "node": "n1",
            "state": "running",
            "started_at_ms": 1_790_000_000_123,
            "seen_at_ms": 0,
            "restarts": 3,
            "cpu_seconds": 1.25,
            "rss_bytes": 3 << 30,
            "version": "v1",
            **fields,
        }
    )


def known(state):
    return [replace(each, seen_at_ms=0) for each in state.members]


async def test_a_crawl_without_a_fleet_says_so_and_takes_no_orders(fleet):
    assert await fleet.state() is None
    for order in (fleet.pause(), fleet.resume(), fleet.stop(), fleet.scale("crawler", 2)):
        with pytest.raises(InputError, match="no fleet was ever started for it; run `thresher fleet start"):
            await order
    assert await fleet.state() is None


async def test_the_first_controller_sets_the_numbers_and_an_operator_changes_them(fleet):
    lease = await begin(fleet, processor=3)
    assert lease.is_held
    state = await fleet.state()
    assert state.controller == "c1"
    assert state.controller_seen_at_ms > 0
    expected = Wanted(crawlers=2, processors=3, exporters=0, is_paused=False, is_stopping=False, version="v1")
    assert (state.wanted, state.members, state.note) == (expected, (), "")
    await fleet.scale("crawler", 7)
    await fleet.pause()
    await fleet.stop()
    wanted = (await fleet.state()).wanted
    assert wanted == replace(expected, crawlers=7, is_paused=True, is_stopping=True)


async def test_one_controller_holds_the_fleet_until_its_lease_is_over(crawl, fleet):
    first = await begin(fleet)
    refused = await begin(fleet, "c2", version="v2")
    assert (refused.is_held, refused.holder, refused.left_ms) == (False, "c1", TTL)
    assert (await fleet.state()).wanted.version == "v1"
    await crawl.skip(TTL - 1)
    assert await fleet.renew(first, ttl_ms=TTL, note="waits for room")
    assert (await fleet.state()).note == "waits for room"
    await crawl.skip(TTL - 1)
    assert not (await begin(fleet, "c2")).is_held
    await crawl.skip(1)
    assert (await fleet.state()).controller is None
    second = await begin(fleet, "c2", version="v2")
    assert (second.is_held, second.token > first.token) == (True, True)
    assert (await fleet.state()).wanted.version == "v2"


async def test_a_controller_that_was_replaced_changes_nothing(crawl, fleet):
    old = await begin(fleet)
    await fleet.add_member(old, member("m"), ttl_ms=TTL)
    await crawl.skip(TTL)
    new = await begin(fleet, "c2")
    before = await fleet.state()
    assert not await fleet.renew(old, ttl_ms=TTL)
    assert not await fleet.adjust(old, "crawler", 9)
    assert not await fleet.add_member(old, member("other"), ttl_ms=TTL)
    assert not await fleet.drain_member(old, "m")
    assert not await fleet.remove_members(old, ["m"])
    assert not await fleet.release(old)
    after = await fleet.state()
    assert (after.wanted, after.controller, known(after)) == (before.wanted, "c2", known(before))
    assert await fleet.adjust(new, "crawler", 9)
    assert (await fleet.state()).wanted.crawlers == 9


@pytest.mark.parametrize("was_released", [True, False])
async def test_a_controller_that_stood_by_carries_out_the_order_to_stop(crawl, fleet, was_released):
    first = await begin(fleet)
    await fleet.stop()
    assert not (await begin(fleet, "standby")).is_held
    if was_released:
        await fleet.release(first, forget_numbers=True)
    else:  # it died, or its machine slept
        await crawl.skip(TTL)
    lease = await fleet.begin("standby", ttl_ms=TTL, version="v1", usual=USUAL, has_waited=True)
    assert lease.token > first.token
    assert (await fleet.state()).wanted.is_stopping
    await fleet.release(lease)
    await begin(fleet, "started-anew")
    assert not (await fleet.state()).wanted.is_stopping


async def test_a_controller_that_begins_again_keeps_its_lease_and_the_numbers(fleet):
    first = await begin(fleet)
    await fleet.scale("crawler", 5)
    await fleet.stop()
    again = await begin(fleet)
    assert again.token == first.token
    assert (await fleet.state()).wanted.is_stopping
    assert await fleet.release(again)
    state = await fleet.state()
    assert (state.controller, state.wanted.crawlers) == (None, 5)
    next_one = await begin(fleet, "c2")
    assert next_one.token > first.token
    state = await fleet.state()
    assert (state.wanted.is_stopping, state.wanted.crawlers) == (False, 5)
    assert await fleet.release(next_one, forget_numbers=True)
    await begin(fleet, "c3")
    assert (await fleet.state()).wanted.crawlers == USUAL["crawler"]


async def test_a_member_sends_heartbeats_and_gets_orders(crawl, fleet):
    lease = await begin(fleet)
    starting = member("m", state="starting", node="")
    await fleet.add_member(lease, starting, ttl_ms=TTL)
    assert known(await fleet.state()) == [starting]
    await crawl.skip(TTL - 1)
    assert await fleet.send_heartbeat(member("m"), ttl_ms=TTL) == "run"
    await fleet.add_member(lease, starting, ttl_ms=TTL)
    assert known(await fleet.state()) == [member("m")]
    await fleet.pause()
    assert await fleet.send_heartbeat(member("m"), ttl_ms=TTL) == "pause"
    await fleet.resume()
    await fleet.drain_member(lease, "m")
    await fleet.drain_member(lease, "nobody")
    assert await fleet.send_heartbeat(member("m"), ttl_ms=TTL) == "drain"
    assert known(await fleet.state()) == [member("m", state="draining", is_drain_ordered=True)]


async def test_a_member_without_heartbeats_is_lost_and_if_it_was_given_up_it_is_told_so(crawl, fleet):
    lease = await begin(fleet)
    await fleet.add_member(lease, member("m"), ttl_ms=TTL)
    await crawl.skip(TTL)
    assert [each.state for each in (await fleet.state()).members] == ["lost"]
    assert await fleet.send_heartbeat(member("m"), ttl_ms=TTL) == "run"
    assert [each.state for each in (await fleet.state()).members] == ["running"]
    await fleet.remove_members(lease, ["m"])  # a controller that saw it lost, and was slow
    assert await fleet.send_heartbeat(member("m"), ttl_ms=TTL) == "run"
    await crawl.skip(TTL)
    lease = await begin(fleet)
    await fleet.remove_members(lease, ["m"])
    assert (await fleet.state()).members == ()
    assert await fleet.send_heartbeat(member("m"), ttl_ms=TTL) == "gone"
    assert (await fleet.state()).members == ()


async def test_how_a_member_ended_is_kept_until_its_controller_sees_it_off(fleet):
    lease = await begin(fleet)
    await fleet.add_member(lease, member("m"), ttl_ms=TTL)
    end = MemberEnd(name="m", kind="crawler", restarts=3, has_crashed=True, reason="exit code -9")
    await fleet.end(end)
    await fleet.end(replace(end, name="nobody"))
    state = await fleet.state()
    assert (state.members, state.ended) == ((), (end,))
    assert await fleet.send_heartbeat(member("m"), ttl_ms=TTL) == "gone"
    await fleet.remove_members(lease, ["m"])
    assert (await fleet.state()).ended == ()


async def test_members_are_listed_by_kind_and_start(fleet):
    lease = await begin(fleet)
    for each in (
        member("b", kind="processor"),
        member("c", started_at_ms=2),
        member("a", started_at_ms=3),
        member("e", kind="exporter"),
    ):
        await fleet.add_member(lease, each, ttl_ms=TTL)
    assert [each.name for each in (await fleet.state()).members] == ["c", "a", "b", "e"]


async def test_a_paused_fleet_leases_nothing_to_anybody(crawl, fleet, worker, found):
    await begin(fleet)
    await crawl.frontier.add(numbered(found, "a.test", 3))
    await fleet.pause()
    granted = await worker.take()
    assert (granted, granted.soonest_ms) == ([], None)
    await fleet.resume()
    assert len(await worker.take()) == 1


async def test_a_paused_fleet_claims_nothing(fleet):
    lease = await begin(fleet)
    await fleet.add_member(lease, member("p"), ttl_ms=TTL)
    await fleet.pause()
    assert await fleet.claim("p", ["1"], 1) == set()
    await fleet.resume()
    assert await fleet.claim("p", ["1"], 1) == {"1"}


async def test_of_a_drained_crawl_no_crawler_is_expected(fleet):
    lease = await begin(fleet)
    await fleet.add_member(lease, member("p", kind="processor"), ttl_ms=TTL)
    state = await fleet.state()
    assert (state.expected("crawler"), state.running("crawler"), state.running("processor")) == (2, 0, 1)
    await fleet.renew(lease, ttl_ms=TTL, is_drained=True)
    state = await fleet.state()
    assert (state.expected("crawler"), state.expected("processor")) == (0, 1)
    await fleet.stop()
    assert (await fleet.state()).expected("processor") == 0


async def test_a_part_is_claimed_by_one_live_member(crawl, fleet):
    lease = await begin(fleet)
    for name in ("p", "q"):
        await fleet.add_member(lease, member(name, kind="processor"), ttl_ms=TTL)
    assert await fleet.claim("p", ["1", "2", "3"], 2) == {"1", "2"}
    assert await fleet.claim("p", ["1", "2", "3"], 2) == {"1", "2"}
    assert await fleet.claim("q", ["1", "2", "3"], 2) == {"3"}
    assert await fleet.claim("q", [], 2) == set()
    await fleet.release_claims("q", ["1"])
    await fleet.release_claims("p", ["1"])
    assert await fleet.claim("q", ["1", "2"], 9) == {"1"}
    await crawl.skip(TTL - 1)
    await fleet.send_heartbeat(member("q", kind="processor"), ttl_ms=TTL)
    await crawl.skip(1)
    assert await fleet.claim("q", ["2"], 9) == {"2"}
    lease = await begin(fleet)
    await fleet.end(MemberEnd(name="q", kind="processor", restarts=0, has_crashed=False, reason=""))
    await fleet.remove_members(lease, ["q"])
    await fleet.add_member(lease, member("r", kind="processor"), ttl_ms=TTL)
    assert await fleet.claim("r", ["1", "2", "3"], 9) == {"1", "2", "3"}


async def test_hosts_that_may_be_asked_now_are_counted(crawl, fleet, worker, found):
    assert await fleet.ready_hosts() == 0
    await crawl.frontier.add([known for host in "abc" for known in numbered(found, f"{host}.test", 2)])
    assert await fleet.ready_hosts() == 3
    await worker.pages(1, delay=1_000)
    assert await fleet.ready_hosts() < 3


async def test_an_export_is_remembered(fleet):
    lease = await begin(fleet, exporter=2)
    await fleet.record_export("nobody", pages=1)
    await fleet.add_member(lease, member("e", kind="exporter"), ttl_ms=TTL)
    for _ in range(2):
        await fleet.record_export("e", pages=50_000)
    state = await fleet.state()
    assert (state.exported_pages, state.wanted.exporters) == (50_000, 1)
    assert state.exported_at_ms > 0


async def test_a_forgotten_crawl_has_no_fleet(crawl, fleet):
    lease = await begin(fleet)
    await fleet.add_member(lease, member("m"), ttl_ms=TTL)
    await fleet.claim("m", ["1"], 1)
    await crawl.frontier.crawl.forget()
    await crawl.frontier.open()
    assert await fleet.state() is None
    await fleet.add_member(await begin(fleet), member("n"), ttl_ms=TTL)
    assert await fleet.claim("n", ["1"], 1) == {"1"}
