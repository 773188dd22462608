"""What a frontier on a real server knows of URLs, and in which order it grants them."""

import asyncio

import pytest
from redis.asyncio import Redis

from tests.expect import expect
from tests.frontier.settlements import over, settled
from thresher.core import CorruptData, InputError, Unavailable
from thresher.frontier import Discovery, Frontier, Kind, RobotsRecord, Scope, canonicalize, crawl_names
from thresher.frontier.link.call import Link
from thresher.frontier.link.connect import connect

HOUR = 3_600_000


def texts(leases):
    return [lease.url.text for lease in leases]


async def test_an_unknown_url_waits_and_a_known_one_changes_nothing(frontier: Frontier, found):
    first = await frontier.add([found("http://a.test/1"), found("http://a.test/%31")])
    assert (first.added, first.known) == (1, 1)
    again = await frontier.add([found("http://a.test/1", priority=9), found("http://a.test/2")])
    assert (again.added, again.known) == (1, 1)
    stats = await frontier.stats()
    assert (stats.seen, stats.waiting, stats.hosts) == (2, 2, 1)
    assert repr(frontier) == f"Frontier('{frontier.crawl.name}')"


async def test_more_than_a_batch_is_added_whole(frontier: Frontier, found):
    added = await frontier.add([found(f"http://a.test/{i % 2500}") for i in range(3000)])
    assert (added.added, added.known) == (2500, 500)


async def test_nothing_added_is_nothing(frontier: Frontier, link: Link):
    assert (await frontier.add([])).added == 0
    assert frontier.crawl.name not in await crawl_names(link)
    assert (await frontier.stats()).is_drained


async def test_a_lease_carries_what_was_discovered(frontier: Frontier, grants):
    url = canonicalize("http://a.test:8080/%7ex?")
    known = Discovery(url=url, scope=Scope.of("prefix", url), depth=2, max_depth=5, hops=3, priority=1)
    await frontier.add([known])
    (lease,) = await grants(frontier).pages()
    assert (lease.url, lease.scope, lease.depth, lease.max_depth, lease.hops) == (
        url,
        known.scope,
        2,
        5,
        3,
    )
    assert (lease.kind, lease.worker, lease.attempt, lease.robots_version) == (Kind.PAGE, "w", 0, 1)


async def test_a_host_gives_its_lowest_level_first_and_within_it_the_oldest(
    frontier: Frontier, found, grants
):
    await frontier.add(
        [
            found("http://a.test/deep", depth=3),
            found("http://a.test/mid-1", depth=1),
            found("http://a.test/mid-2", depth=1),
            found("http://a.test/seed"),
            found("http://a.test/wanted", depth=3, priority=2),
            found("http://a.test/urgent", depth=1, priority=300),
        ]
    )
    order = [
        "http://a.test/urgent",
        "http://a.test/seed",
        "http://a.test/mid-1",
        "http://a.test/mid-2",
        "http://a.test/wanted",
        "http://a.test/deep",
    ]
    assert texts(await grants(frontier).pages()) == order


@pytest.mark.parametrize("frontier", [1], indirect=True)
async def test_hosts_take_turns(frontier, found, grants):
    await frontier.add([found(f"http://{host}.test/{i}") for host in "abc" for i in range(3)])
    leases = await grants(frontier).pages()
    hosts = [lease.url.host for lease in leases]
    assert [sorted(hosts[i : i + 3]) for i in (0, 3, 6)] == [["a.test", "b.test", "c.test"]] * 3


@pytest.mark.parametrize("frontier", [1], indirect=True)
async def test_a_host_that_had_its_turn_goes_to_the_end_of_the_line(frontier, found, grants):
    await frontier.add([found(f"http://{host}.test/{i}") for host in "ab" for i in range(3)])
    worker = grants(frontier)
    for robots in await worker.take():
        await worker.allow(robots)
    hosts = []
    for _ in range(6):
        await asyncio.sleep(0.003)
        hosts += [lease.url.host for lease in await worker.take(1)]
    assert hosts[:2] * 3 == hosts
    assert len(set(hosts)) == 2


async def test_robots_txt_of_an_origin_comes_before_its_pages(frontier: Frontier, found, grants):
    await frontier.add([found("http://a.test:8080/x"), found("http://a.test:8080/y")])
    worker = grants(frontier)
    (robots,) = await worker.take()
    assert (robots.kind, robots.url.text) == (Kind.ROBOTS, "http://a.test:8080/robots.txt")
    assert (robots.robots_version, robots.attempt) == (0, 0)
    assert await worker.take() == []
    await frontier.release(over([robots]))
    assert await worker.take() == []
    assert await frontier.origins.robots(robots.url.origin) is None
    await frontier.origins.settle_robots(robots, rule="rules", body=b"\0bytes\n", ttl_ms=HOUR, delay_ms=None)
    record = expect(RobotsRecord, await frontier.origins.robots(robots.url.origin))
    assert (record.origin, record.version, record.rule, record.body) == (
        "http://a.test:8080",
        1,
        "rules",
        b"\0bytes\n",
    )
    assert [lease.robots_version for lease in await worker.take()] == [1, 1]


async def test_each_origin_of_a_host_has_its_own_robots_txt(frontier: Frontier, found, grants):
    await frontier.add([found("http://a.test/"), found("https://a.test/"), found("http://a.test:81/")])
    worker = grants(frontier)
    for origin in ("http://a.test", "https://a.test", "http://a.test:81"):
        robots = next(lease for lease in await worker.take() if lease.kind is Kind.ROBOTS)
        assert robots.url.origin == origin
        await worker.allow(robots)
    assert len(await worker.take()) == 1


async def test_a_stale_robots_txt_is_asked_for_again(frontier: Frontier, found, grants):
    await frontier.add([found("http://a.test/1")])
    worker = grants(frontier)
    (robots,) = await worker.take()
    await worker.allow(robots, ttl_ms=0)
    (again,) = await worker.take()
    assert (again.kind, again.robots_version) == (Kind.ROBOTS, 1)
    await worker.allow(again)
    assert expect(RobotsRecord, await frontier.origins.robots("http://a.test")).version == 2
    assert len(await worker.take()) == 1


async def test_a_robots_txt_that_cannot_be_had_holds_its_host(crawl, found, grants):
    frontier = crawl.frontier
    await frontier.add([found("http://a.test/1"), found("http://b.test/1")])
    worker = grants(frontier)
    a, b = sorted(await worker.take(), key=lambda lease: lease.url.host)
    await frontier.origins.retry_robots(a, after_ms=300)
    await frontier.origins.retry_robots(b, after_ms=HOUR)
    assert await worker.take() == []
    await crawl.skip(301)
    (again,) = await worker.take()
    assert (again.url, again.kind, again.attempt) == (a.url, Kind.ROBOTS, 1)


async def test_crawls_of_one_server_do_not_meet(frontier: Frontier, found, grants, link: Link, redis: Redis):
    other = await Frontier(link, "another").open()
    await frontier.add([found("http://a.test/")])
    await other.add([found("http://a.test/"), found("http://a.test/2")])
    assert "another" in await crawl_names(link)
    assert len(await grants(frontier).pages()) == 1
    await other.crawl.forget()
    assert "another" not in await crawl_names(link)
    assert not [key async for key in redis.scan_iter("thresher:{another*")]
    with pytest.raises(CorruptData, match="crawl another: its frontier is gone"):
        await other.stats()
    assert (await frontier.stats()).seen == 1


async def test_every_key_of_a_crawl_carries_the_tag_of_its_partition_or_of_its_home(
    frontier: Frontier, found, grants, redis: Redis
):
    await frontier.add([found(f"http://{host}.test/") for host in "abcdefgh"])
    await frontier.settle(settled(await grants(frontier).pages(), reason="x"))
    keys = [key.decode() async for key in redis.scan_iter(f"thresher:{{{frontier.crawl.name}*")]
    tags = {key.partition("{")[2].partition("}")[0] for key in keys}
    number = frontier.crawl.partitions.number
    assert tags == {
        frontier.crawl.name,
        *(f"{frontier.crawl.name}:{partition}" for partition in range(number)),
    }


async def test_the_library_is_loaded_once_and_replaced_when_it_differs(frontier: Frontier, redis: Redis):
    async def loads() -> int:
        return (await redis.info("commandstats")).get("cmdstat_function|load", {"calls": 0})["calls"]

    before = await loads()
    await frontier.open()
    assert await loads() == before
    await redis.function_load(
        "#!lua name=thresher\nredis.register_function('thresher_add', function() return 0 end)", replace=True
    )
    await frontier.open()
    assert (await frontier.stats()).seen == 0


@pytest.mark.parametrize("name", ["", "a b", "a{b}", "../x", ".hidden"])
def test_a_crawl_needs_a_plain_name(name):
    with pytest.raises(InputError, match="a name is"):
        Frontier(None, name)  # type: ignore[arg-type]


async def test_a_server_that_evicts_is_refused(frontier: Frontier, redis: Redis):
    await redis.config_set("maxmemory", "1gb")
    await redis.config_set("maxmemory-policy", "allkeys-lru")
    try:
        with pytest.raises(Unavailable, match="evicts keys"):
            await frontier.open()
    finally:
        await redis.config_set("maxmemory-policy", "noeviction")
        await redis.config_set("maxmemory", "0")


async def test_a_server_that_is_full_is_unavailable_in_one_line(frontier: Frontier, found, redis: Redis):
    await redis.config_set("maxmemory", "1")
    try:
        with pytest.raises(Unavailable, match=r"maxmemory.*run again$"):
            await frontier.add([found("http://a.test/")])
    finally:
        await redis.config_set("maxmemory", "0")


@pytest.mark.parametrize(
    ("address", "error", "text"),
    [
        (
            "redis://u:secret@127.0.0.1:1/",
            Unavailable,
            r"Redis at redis://127.0.0.1:1/ does not answer: .*start it",
        ),
        ("unix:///nonexistent.sock", Unavailable, "does not answer"),
        ("http://127.0.0.1/", InputError, "is not an address"),
        ("localhost", InputError, "is not an address"),
        ("redis://localhost:port", InputError, "is not an address"),
    ],
)
async def test_an_address_that_does_not_answer_is_named_without_its_password(address, error, text):
    with pytest.raises(error, match=text) as raised:
        await connect(address)
    assert "secret" not in str(raised.value)
    assert "\n" not in str(raised.value)
