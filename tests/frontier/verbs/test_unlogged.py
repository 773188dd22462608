"""The frontier returns pages that it settled without a worker until they are logged, with all that a retry needs."""

from tests.frontier import contract
from tests.frontier.contract import HOUR, SECOND, numbered
from thresher.frontier import Fault, Outcome, Scope
from thresher.frontier.request_state import RequestState

budget, crawl, policy, worker = contract.budget, contract.crawl, contract.policy, contract.worker


async def unlogged(frontier, n=1000):
    told = await frontier.unlogged_batch(n)
    found = [(page.discovery.url.text, page.outcome, page.reason, page.attempt) for page in told.settlements]
    return told, sorted(found)


async def test_what_no_worker_settles_is_told_until_it_is_logged(worker, found):
    page = found("http://a.test/1", referrer="http://a.test/", state=RequestState(etag="e"), depth=3)
    await worker.frontier.add([page])
    await worker.frontier.operator.drop(Scope.parse("host:a.test"))
    for _ in range(2):
        told, texts = await unlogged(worker.frontier)
        assert texts == [("http://a.test/1", Outcome.REFUSED, "dropped", 0)]
        assert told.settlements[0].discovery == page
    for _ in range(2):
        await worker.frontier.acknowledge_batch(told)
        assert (await unlogged(worker.frontier))[1] == []


async def test_a_batch_that_was_logged_twice_takes_nothing_of_the_next(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 5))
    await worker.frontier.operator.drop(Scope.parse("host:a.test"))
    first, some = await unlogged(worker.frontier, 2)
    await worker.frontier.acknowledge_batch(first)
    await worker.frontier.acknowledge_batch(first)
    _, others = await unlogged(worker.frontier)
    assert (len(some), len(others), len({*some, *others})) == (2, 3, 5)


async def test_all_waiting_pages_of_a_dead_host_are_returned(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 80))
    for _ in range(8):  # its robots.txt was answered: it has eight lives
        (page,) = await worker.pages(1)
        await worker.settle([page], Outcome.RETRY, reason="dns", fault=Fault.DNS, retry_after_ms=HOUR)
        await worker.crawl.skip(HOUR + 1)
    assert await worker.pages() == []
    _, told = await unlogged(worker.frontier)
    assert (await worker.stats()).reasons == {"failed:dead_dns": 80}
    assert [page[0] for page in told] == sorted(f"http://a.test/{i}" for i in range(80))
    assert {page[1:3] for page in told} == {(Outcome.FAILED, "dead_dns")}


async def test_a_page_that_outlives_its_workers_is_returned(worker, found):
    await worker.frontier.add([found("http://a.test/")])
    for _ in range(5):
        await worker.pages(lease_ms=SECOND)
        await worker.crawl.skip(SECOND + 1)
    assert await worker.pages() == []
    assert (await unlogged(worker.frontier))[1] == [("http://a.test/", Outcome.FAILED, "lease_expired", 0)]


async def test_pages_that_a_worker_settles_are_not_returned(worker, found):
    await worker.frontier.add(numbered(found, "a.test", 3))
    await worker.settle(await worker.pages(), Outcome.FAILED, reason="tls")
    assert (await unlogged(worker.frontier))[1] == []
