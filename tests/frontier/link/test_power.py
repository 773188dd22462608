"""A server that loses power forgets up to a second of the calls that it had confirmed."""

import time
from pathlib import Path

import pytest

from tests.frontier.power_loss import PowerLossLink, PowerLossServer
from thresher.frontier import Frontier, HostRelease, Outcome, Settlement
from thresher.frontier.link.connect import connect
from thresher.storage.directory_store import DirectoryStore

MS = 1_000_000


@pytest.fixture
async def lost(powerless: PowerLossServer):
    """Makes the client of one crawl anew, which is to be done after each crash."""

    async def made(link=None):
        return await Frontier(link or await connect(powerless.address), "lost").open()

    return made


async def test_what_a_page_led_to_is_known_once_it_is_settled_though_power_was_lost_meanwhile(
    powerless: PowerLossServer, lost, found, grants
):
    frontier = await lost()
    await frontier.add([found("http://a.test/")])
    (lease,) = await grants(frontier).pages()
    crash = await lost(PowerLossLink(await connect(powerless.address), "settle", powerless, powerless.size()))
    links = (found("http://b.test/"), found("http://c.test/"))
    settlement = Settlement(lease=lease, outcome=Outcome.FETCHED, discoveries=links)
    assert await crash.settle([settlement]) == 1
    assert (await (await lost()).add(links)).known == len(links)


async def test_power_that_is_lost_twice_repeats_no_token(powerless: PowerLossServer, lost, found, grants):
    await (await lost()).add([found("http://a.test/"), found("http://b.test/")])
    durable = powerless.size()
    tokens = []
    for _ in range(3):
        tokens += [lease.token for lease in await grants(await lost()).take()]
        powerless.lose_power(durable)
    assert len(set(tokens)) == len(tokens)


async def test_a_delay_is_not_short_by_a_part_of_a_millisecond(frontier: Frontier, found, grants):
    rounds, delay_ms = 150, 3
    await frontier.add([found(f"http://a.test/{page}") for page in range(rounds)])
    worker = grants(frontier, delay_ms=delay_ms)
    await worker.allow((await worker.take())[0])
    gaps = []
    ended = None
    while len(gaps) < rounds - 1:
        leases = await worker.take()
        came = time.monotonic_ns()
        if leases:
            if ended is not None:
                gaps.append(came - ended)
            ended = time.monotonic_ns()
            await frontier.release([HostRelease(lease=lease) for lease in leases])
    assert min(gaps) >= delay_ms * MS


async def all_pages(frontier, worker, tail):
    """The texts of all pages, as they are granted and settled."""
    texts = []
    while not (await frontier.stats()).is_drained:
        leases = await worker.pages()
        texts += [lease.url.text for lease in leases]
        await frontier.settle([Settlement(lease=lease, outcome=Outcome.FETCHED) for lease in leases])
        await tail.refill()
    return texts


async def test_what_was_read_before_power_was_lost_does_not_take_the_place_of_what_came_after(
    powerless: PowerLossServer, lost, found, grants, tmp_path: Path
):
    frontier, shelf = await lost(), DirectoryStore(tmp_path / "shelf")
    early = [found(f"http://a.test/early-{page}") for page in range(100)]
    late = [found(f"http://a.test/late-{page}") for page in range(40)]
    await frontier.add(early)

    async def meanwhile():
        await (await lost()).add(late)

    crash = PowerLossLink(await connect(powerless.address), "spill", powerless, powerless.size(), meanwhile)
    await frontier.add([found(f"http://a.test/lost-{page}") for page in range(30)])
    await (await lost(crash)).tail(shelf, max_in_memory=0).spill()
    frontier = await lost()
    texts = await all_pages(frontier, grants(frontier), frontier.tail(shelf, max_in_memory=0))
    assert {page.url.text for page in (*early, *late)} <= set(texts)
    assert len(set(texts)) == len(texts)


class Old(DirectoryStore):
    """Storage of which everything was made an hour ago."""

    def age_ms(self, name):
        return 3_600_000 + super().age_ms(name)


async def test_a_segment_that_was_read_back_is_there_for_a_server_that_has_forgotten_that_it_was(
    powerless: PowerLossServer, lost, found, grants, tmp_path: Path
):
    frontier = await lost()
    await frontier.add([found(f"http://a.test/{page}") for page in range(100)])
    tail, worker = frontier.tail(Old(tmp_path / "shelf"), max_in_memory=0), grants(frontier)
    await tail.spill()
    while True:
        durable = powerless.size()
        if (await tail.refill()) and not (await frontier.stats()).tail:
            break
        leases = await worker.pages(8)
        await frontier.settle([Settlement(lease=lease, outcome=Outcome.FETCHED) for lease in leases])
    await tail.sweep()
    powerless.lose_power(durable)
    frontier = await lost()
    await all_pages(frontier, grants(frontier), frontier.tail(Old(tmp_path / "shelf"), max_in_memory=0))
    assert (await frontier.stats()).reasons == {}
