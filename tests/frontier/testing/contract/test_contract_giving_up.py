"""Pages that notify are granted once more when every frontier has given them up."""

from tests.frontier.contract import DAY, HOUR, SECOND, numbered, texts
from tests.frontier.testing.contract.deaths import fail_until_dead
from thresher.frontier import Fault, HostRelease, Outcome, Scope


async def heard(worker):
    """What is granted as given up: paths by failure. Each is settled, as anything."""
    told = {}
    while leases := await worker.take():
        for lease in leases:
            assert lease.failure, lease
            told.setdefault(lease.failure, []).append(lease.url.text.rpartition("/")[2])
        assert await worker.settle(leases, Outcome.RETRY, fault=Fault.TIMEOUT, hold_ms=HOUR) == len(leases)
    return told


async def test_waiting_pages_that_notify_are_granted_as_given_up_at_a_dead_host(worker, found):
    await worker.frontier.add(
        [
            *numbered(found, "a.test", 10),
            *(found(f"http://a.test/heard-{i}", notify=True) for i in range(10)),
        ]
    )
    for robots in [*await worker.take()]:
        await worker.frontier.origins.retry_robots(robots, after_ms=0, fault=Fault.CONNECT, reason="refused")
    while not (await worker.stats()).dead:
        await worker.crawl.skip(HOUR + 1)
        (robots,) = await worker.take()
        await worker.frontier.origins.retry_robots(robots, after_ms=0, fault=Fault.CONNECT, reason="refused")
    assert await heard(worker) == {"failed:dead_refused": [f"heard-{i}" for i in range(10)]}
    stats = await worker.stats()
    assert (stats.is_drained, stats.dead, stats.reasons) == (True, 1, {"failed:dead_refused": 20})


async def test_all_pages_of_a_dead_host_are_given_up_at_once_if_none_notifies(worker, found):
    await worker.frontier.add([*numbered(found, "a.test", 20), found("http://b.test/heard", notify=True)])
    (silent,) = [lease for lease in await worker.take() if lease.url.host == "a.test"]
    await worker.frontier.origins.retry_robots(silent, after_ms=0, fault=Fault.CONNECT, reason="refused")
    while not (await worker.stats()).dead:
        assert not (await worker.stats()).reasons
        await worker.crawl.skip(HOUR + 1)
        (silent,) = [lease for lease in await worker.take() if lease.url.host == "a.test"]
        await worker.frontier.origins.retry_robots(silent, after_ms=0, fault=Fault.CONNECT, reason="refused")
    assert (await worker.stats()).reasons == {"failed:dead_refused": 20}


async def test_a_page_that_notifies_is_let_in_at_a_dead_host(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 20))
    await fail_until_dead(worker)
    more = await worker.frontier.add(
        [found("http://a.test/silent"), found("http://a.test/heard", notify=True)]
    )
    assert (more.added, more.discarded) == (1, {"dead_connect": 1})
    assert await heard(worker) == {"failed:dead_connect": ["heard"]}
    assert (await worker.stats()).is_drained


async def test_a_page_that_comes_back_to_a_dead_host_is_granted_as_given_up(worker, found):
    await worker.frontier.add([found(f"http://a.test/{i}", notify=True) for i in range(12)])
    later, expired = await worker.pages(2, lease_ms=DAY)
    await worker.settle([later], Outcome.RETRY, retry_after_ms=DAY, fault=Fault.TIMEOUT)
    await worker.frontier.release([HostRelease(lease=expired)])
    failed = await fail_until_dead(worker)
    await worker.crawl.skip(2 * DAY)
    told = await heard(worker)
    assert len(told["failed:dead_connect"]) == 12 - failed
    assert {lease.url.text.rpartition("/")[2] for lease in (later, expired)} <= set(
        told["failed:dead_connect"]
    )
    assert (await worker.stats()).is_drained


async def test_a_page_that_waits_in_a_trap_is_granted_as_given_up(worker, found):
    await worker.frontier.add([found(f"http://a.test/{i}", notify=True) for i in range(400)])
    told = fetched = 0
    while leases := await worker.pages():
        trapped = [lease for lease in leases if lease.failure]
        assert {lease.failure for lease in trapped} <= {"refused:trap"}
        told, fetched = told + len(trapped), fetched + len(leases) - len(trapped)
        await worker.settle(leases, sketch=7)
    assert told > 250
    assert told + fetched == 400
    assert (await worker.stats()).reasons == {"refused:trap": told}


async def test_a_page_that_its_workers_do_not_survive_is_granted_as_given_up_and_then_fails_for_good(
    worker, found
):
    await worker.frontier.add([found("http://a.test/", notify=True)])
    await worker.pages(lease_ms=SECOND)
    for death in range(1, 10):
        await worker.crawl.skip(SECOND)
        (lease,) = await worker.take(lease_ms=SECOND)
        assert lease.failure == ("failed:lease_expired" if death >= 5 else "")
    await worker.crawl.skip(SECOND)
    assert await worker.take() == []
    assert (await worker.stats()).reasons == {"failed:lease_expired": 1}


async def test_what_is_given_up_is_held_like_any_lease_but_no_exchange_of_its_host(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 20))
    await fail_until_dead(worker)
    await worker.frontier.add([found(f"http://a.test/heard-{i}", notify=True) for i in range(3)])
    one, two, three = await worker.take()
    held = await worker.frontier.workers.leases("w")
    assert [(lease.token, lease.failure) for lease in held] == [
        (lease.token, "failed:dead_connect") for lease in (one, two, three)
    ]
    assert await worker.frontier.postpone(one, HOUR) is False
    await worker.frontier.release([HostRelease(lease=two)])
    assert (await worker.stats()).leased == 3
    assert await worker.frontier.workers.reclaim("w", is_worker_dead=True) == 3
    again = await worker.take()
    assert texts(again) == texts([one, two, three])
    assert {lease.failure for lease in again} == {"failed:dead_connect"}
    await worker.frontier.workers.reclaim("w")
    assert await worker.frontier.operator.resume("a.test")
    assert not any(lease.failure for lease in await worker.pages())


async def test_dropped_pages_notify_nobody(worker, found):
    everything = [found(f"http://a.test/{path}", notify=True) for path in ("x/1", "x/2", "y")]
    await worker.frontier.add(everything)
    await worker.frontier.operator.drop(Scope.parse("prefix:http://a.test/x/"))
    assert texts(await worker.pages()) == ["http://a.test/y"]
    assert (await worker.stats()).reasons == {"refused:dropped": 2}
    assert (await worker.frontier.add([found("http://a.test/x/3", notify=True)])).discarded == {"dropped": 1}
