"""Settings belong to the crawl: a caller with other settings is refused by name, or updates them for all workers."""

from dataclasses import replace

import pytest

from tests.frontier import contract
from tests.frontier.contract import HOUR, MINUTE, numbered
from tests.frontier.fixed_clock import Crawl
from thresher.core import InputError
from thresher.frontier import Budget, HostSwitch, StorageId, UrlPolicy

budget, crawl, policy, worker = contract.budget, contract.crawl, contract.policy, contract.worker


async def test_settings_are_those_of_who_came_first_and_others_are_refused_by_name(crawl: Crawl):
    frontier, mine = crawl.frontier, crawl.frontier.crawl.settings
    others = replace(mine, contact="mailto:a@b.c", min_delay_ms=500, budget=Budget(domain=7))
    with pytest.raises(InputError) as refused:
        await frontier.open(others)
    said = "has other settings: crawler.min_delay is 0, here 0.5; crawler.max_pages_per_domain is not set, here 7. All"
    assert said in str(refused.value)
    assert "contact" not in str(refused.value)  # the crawl had none
    assert frontier.crawl.settings == mine
    await frontier.open(mine)
    await frontier.open(others, update=True)
    assert frontier.crawl.settings == others
    with pytest.raises(InputError, match=r"project\.contact"):
        await frontier.open(replace(others, contact="mailto:c@b.c"))
    await frontier.open(replace(others, contact=""))  # says nothing of it
    assert frontier.crawl.settings == others


async def test_whoever_takes_other_pages_for_one_or_for_traps_is_refused_and_names_the_host(crawl: Crawl):
    frontier, mine = crawl.frontier, crawl.frontier.crawl.settings
    its = UrlPolicy(
        traps=HostSwitch(on=False), query_order=HostSwitch(on=False, hosts={"a.test": True, "b.test": True})
    )
    await frontier.open(replace(mine, policy=its), update=True)
    own = UrlPolicy(
        traps=HostSwitch(on=True), query_order=HostSwitch(on=False, hosts={"b.test": False, "a.test": True})
    )
    with pytest.raises(InputError) as refused:
        await frontier.open(replace(mine, policy=own))
    said = 'has other settings: crawler.traps is false, here true; crawler.hosts."b.test".query_order is true, here false. All'
    assert said in str(refused.value)
    with pytest.raises(InputError, match=r'hosts\."a\.test"\.query_order is true, here not set'):
        await frontier.open(mine)
    assert frontier.crawl.settings.policy == its


async def test_a_contact_is_the_crawls_from_the_first_who_says_it(crawl: Crawl):
    mine = crawl.frontier.crawl.settings
    await crawl.frontier.open(replace(mine, contact="mailto:a@b.c"))
    await crawl.frontier.open(mine)
    assert crawl.frontier.crawl.settings.contact == "mailto:a@b.c"


async def test_what_is_updated_holds_for_the_next_lease_and_the_next_discovery(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 4))
    (page,) = await worker.pages(1)
    await worker.settle([page])
    await worker.frontier.crawl.update_settings(
        replace(worker.frontier.crawl.settings, min_delay_ms=MINUTE, budget=Budget(host=5))
    )
    leased = {"worker": "w", "lease_ms": HOUR}
    assert await worker.frontier.lease(9, **leased) == []
    await worker.crawl.skip(MINUTE + 1)
    assert len(await worker.frontier.lease(9, **leased)) == 1
    added = await worker.frontier.add([found(f"http://a.test/more/{i}") for i in range(3)])
    assert (added.added, added.discarded) == (1, {"host_budget": 2})


async def test_a_crawl_has_one_storage(crawl: Crawl):
    frontier, here = crawl.frontier, StorageId(id="1", uri="file:/here")
    assert frontier.crawl.storage is None
    await frontier.open(storage=here)
    await frontier.open(storage=StorageId(id="1", uri="file:/moved"))
    with pytest.raises(
        InputError, match=r"in the storage file:/here, and project\.storage here is file:/there"
    ):
        await frontier.open(storage=StorageId(id="2", uri="file:/there"), update=True)
    await frontier.open()
    assert frontier.crawl.storage == here
