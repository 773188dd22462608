"""What every frontier does about a template of URLs whose pages all say the same."""

from dataclasses import replace
from itertools import count

import pytest

from tests.frontier.contract import numbered
from thresher.frontier import HostSwitch, UrlPolicy


async def test_a_template_that_says_the_same_again_and_again_is_starved_and_another_goes_on(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 120))
    while leases := await worker.pages():
        await worker.settle(leases, sketch=7, discoveries=(found("http://a.test/0"),))
    asked = (await worker.stats()).outcomes["fetched"]
    maze = await worker.frontier.add([found(f"http://a.test/{i}") for i in range(200, 840)])
    assert maze.discarded["trap"] == 640 - maze.added
    assert 0 < maze.added < 40
    assert asked < 100
    honest = await worker.frontier.add([found(f"http://a.test/about/{word}.html") for word in "abcdef"])
    assert honest.added == 6


async def test_what_waits_in_a_trap_is_refused_but_for_a_trickle(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 700))
    while leases := await worker.pages():
        await worker.settle(leases, sketch=7)
    stats = await worker.stats()
    assert stats.is_drained
    assert stats.reasons["refused:trap"] > 550
    assert stats.outcomes["fetched"] + stats.reasons["refused:trap"] == 700


async def test_what_was_listed_is_no_trap_however_much_it_says_the_same(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 700, listed=True))
    while leases := await worker.pages():
        await worker.settle(leases, sketch=7, discoveries=(found("http://a.test/0"),))
    assert (await worker.stats()).outcomes["fetched"] == 700
    assert (
        await worker.frontier.add([found("http://a.test/link")])
    ).added == 1  # nor did it cost anybody anything


async def test_what_was_listed_is_let_in_where_others_are_starved(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 700))
    while leases := await worker.pages():
        await worker.settle(leases, sketch=7)
    listed = await worker.frontier.add([found(f"http://a.test/{i}", listed=True) for i in range(900, 1_000)])
    assert listed.added == 100
    before = (await worker.stats()).outcomes["fetched"]
    while leases := await worker.pages():
        assert all(lease.listed for lease in leases)
        await worker.settle(leases)
    assert (await worker.stats()).outcomes["fetched"] == before + 100


@pytest.mark.parametrize("policy", [UrlPolicy(traps=HostSwitch(on=True, hosts={"a.test": False}))])
async def test_where_traps_are_not_looked_for_nothing_is_refused_and_nobody_else_pays(worker, found):
    await worker.frontier.add(
        [page for host in ("www.a.test", "b.test") for page in numbered(found, host, 700)]
    )
    while leases := await worker.pages():
        await worker.settle(leases, sketch=7, discoveries=(found("http://c.test/"),))
    stats = await worker.stats()
    assert stats.outcomes["fetched"] + stats.reasons["refused:trap"] == 1_401
    assert 550 < stats.reasons["refused:trap"] < 700
    more = [found(f"http://{host}/{i}") for host in ("www.a.test", "b.test") for i in range(800, 1_000)]
    assert 200 < (await worker.frontier.add(more)).added < 220


async def test_traps_that_are_not_looked_for_any_more_let_go_what_waits(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 800))
    while not (await worker.stats()).reasons:
        await worker.settle(await worker.pages(4), sketch=7)
    trusting = replace(worker.frontier.crawl.settings, policy=UrlPolicy(traps=HostSwitch(on=False)))
    await worker.frontier.crawl.update_settings(trusting)
    while leases := await worker.pages():
        await worker.settle(leases, sketch=7)
    stats = await worker.stats()
    assert stats.outcomes["fetched"] == 800 - stats.reasons["refused:trap"] > 400


async def test_a_host_that_says_new_things_is_never_starved(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 300))
    sketches = count()
    while leases := await worker.pages():
        for lease in leases:
            await worker.settle([lease], sketch=next(sketches))
    assert (await worker.stats()).outcomes["fetched"] == 300
