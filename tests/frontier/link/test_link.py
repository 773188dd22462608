"""What every link promises: replies in their order, each call carried out, patience with servers that come back."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.frontier.links import CODE, TAGS, Writers, echo, open_link
from tests.frontier.valkey_cluster import ValkeyServer, valkey
from thresher.core import Unavailable
from thresher.frontier.link.call import Call, Link
from thresher.frontier.link.cluster import ClusterLink
from thresher.frontier.link.redis_client import redis_client
from thresher.frontier.link.single import SingleLink


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeyServer]:
    with valkey(tmp_path_factory.mktemp("server") / "0") as found:
        yield found


@pytest.fixture(params=["single", "cluster"])
async def link(request: pytest.FixtureRequest) -> AsyncIterator[Link]:
    async with open_link(
        request.getfixturevalue("server" if request.param == "single" else "cluster")
    ) as found:
        await found.open(CODE)
        yield found


# Every link


async def test_replies_come_in_the_order_of_their_calls(link: Link):
    calls = [echo(i % 7, i, f"é{i}", b"\xff\0") for i in range(500)]
    told = await link.call(calls)
    assert told == [[str(i).encode(), f"é{i}".encode(), b"\xff\0"] for i in range(500)]


async def test_no_calls_have_no_replies(link: Link):
    assert await link.call([]) == []


async def test_many_tasks_share_a_link(link: Link):
    async def ask(task: int) -> None:
        for i in range(5):
            assert await link.call([echo(i, task, i)]) == [[str(task).encode(), str(i).encode()]]

    await asyncio.gather(*(ask(task) for task in range(300)))


async def test_a_refusal_says_in_one_line_what_was_refused_and_by_whom(link: Link):
    with pytest.raises(Unavailable, match=r"^the frontier's server \S+ failed: no such thing; see") as caught:
        await link.call([echo(1, 1), Call("fail", ("{1}",), ("no such\nthing",)), echo(2, 2)])
    assert "\n" not in str(caught.value)


async def test_crawls_are_listed_until_they_are_not(link: Link):
    await link.add_crawl_name("a")
    await link.add_crawl_name("b")
    await link.add_crawl_name("b")
    assert await link.crawl_names() >= {"a", "b"}
    await link.remove_crawl_name("a")
    await link.remove_crawl_name("a")
    assert "a" not in await link.crawl_names()


async def test_unlinked_keys_are_gone(link: Link):
    write = Call("once", ("{gone}:names",), ("x",))
    assert await link.call([write]) == [1]
    assert await link.call([write]) == [0]
    await link.unlink(["{gone}:names", "{gone}:never"])
    assert await link.call([write]) == [1]


async def test_a_task_that_is_cancelled_leaves_no_reply_to_another(link: Link):
    for i in range(60):
        task = asyncio.create_task(link.call([echo(i, "theirs") for i in range(3)]))
        for _ in range(i % 12):
            await asyncio.sleep(0)
        task.cancel()
        assert await link.call([echo(i, "ours", i) for i in range(3)]) == [
            [b"ours", str(i).encode()] for i in range(3)
        ]


@pytest.mark.parametrize("known", [True, False], ids=["connected", "not yet connected"])
async def test_a_call_that_is_cancelled_ends_whatever_it_was_about_to_do(
    known, cluster, server: ValkeyServer
):
    for to in (server, cluster):
        for turns in range(60):
            async with open_link(to) as link:
                if known:
                    await link.open(CODE)
                task = asyncio.create_task(_forever(link) if known else link.open(CODE))
                for _ in range(turns):
                    await asyncio.sleep(0)
                cancelled = task.cancel()
                await asyncio.wait([task], timeout=5)
                assert task.cancelled() == cancelled, turns


async def _forever(link: Link) -> None:
    while True:
        await link.call([echo(i, i) for i in range(3)])


# The function library


async def test_another_text_of_the_library_takes_its_place_and_the_same_is_left_alone(server: ValkeyServer):
    async with open_link(server) as link:
        await link.open(CODE)
        await link.open(CODE + "server.register_function('thresher_new', function() return 1 end)")
        assert await link.call([Call("new", ("k",))]) == [1]
        await link.open(CODE)
        with pytest.raises(Unavailable, match="Function not found"):
            async with open_link(server, patience_s=0.1) as other:
                await other.call([Call("new", ("k",))])


async def test_a_server_that_has_lost_the_library_is_given_it_again(
    link: Link, cluster, server: ValkeyServer
):
    await link.call([echo(i, i) for i in range(TAGS)])
    for member in [server, *{cluster.master_of(slot) for slot in (0, 8_000, 16_000)}]:
        member.run("FUNCTION", "FLUSH")
    assert await link.call([echo(i, i) for i in range(TAGS)]) == [[str(i).encode()] for i in range(TAGS)]


async def test_servers_that_cannot_keep_a_frontier_are_refused(cluster):
    member = cluster.master_of(9_000)
    member.run("CONFIG", "SET", "maxmemory", "1gb", "maxmemory-policy", "allkeys-lru")
    try:
        async with open_link(cluster) as link:
            with pytest.raises(
                Unavailable, match=rf"{member.port}: the server evicts keys \(allkeys-lru\); set"
            ):
                await link.open(CODE)
    finally:
        member.run("CONFIG", "SET", "maxmemory", "0", "maxmemory-policy", "noeviction")


# Patience


async def test_where_nothing_answers_patience_ends(tmp_path: Path):
    with valkey(tmp_path / "0") as member:
        async with open_link(member, patience_s=0.3) as link:
            await link.open(CODE)
            member.kill()
            with pytest.raises(
                Unavailable, match=rf"{member.port} has failed for 0 s: .*; see to it and run again$"
            ):
                await link.call([echo(1, 1)])


async def test_a_server_that_says_nothing_is_called_again_while_there_is_patience(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("thresher.frontier.link.redis_client.REPLY_TIMEOUT_S", 0.2)
    with valkey(tmp_path / "0") as member:
        async with open_link(member, patience_s=0.1) as link, open_link(member, patience_s=0.1) as later:
            await link.open(CODE)
            member.pause()
            nothing = (
                rf"{member.port} has failed for 0 s: it has said nothing for 0.2 s; see to it and run again$"
            )
            for asked in (link.call([echo(1, 1)]), link.call([echo(1, 1)]), later.open(CODE)):
                with pytest.raises(Unavailable, match=nothing):
                    await asked
            member.resume()
            assert await link.call([echo(1, 2)]) == [[b"2"]]


async def test_a_server_that_answers_while_the_client_is_stopped_is_not_taken_for_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("thresher.frontier.link.redis_client.REPLY_TIMEOUT_S", 0.5)
    with valkey(tmp_path / "0") as member:
        async with open_link(member, patience_s=0.1) as link:
            await link.open(CODE)
            assert await link.call([echo(1, 1)]) == [[b"1"]]
            member.pause()
            reply = asyncio.create_task(link.call([echo(1, 2)]))
            await asyncio.sleep(0.1)  # the call is sent
            member.resume()
            time.sleep(2)  # noqa: ASYNC251 - as SIGSTOP, or a machine too busy to run this process
            assert await reply == [[b"2"]]


async def test_a_server_that_restarted_while_the_client_was_stopped_is_called_again(tmp_path: Path):
    with valkey(tmp_path / "0") as member:
        async with open_link(member, patience_s=0.2) as link:
            await link.open(CODE)
            assert await link.call([echo(1, 1)]) == [[b"1"]]
            member.pause()
            reply = asyncio.create_task(link.call([echo(1, 2)]))
            await asyncio.sleep(0.05)
            member.kill()
            member.start()
            time.sleep(0.3)  # noqa: ASYNC251 - the deadline passes
            assert await reply == [[b"2"]]


async def test_where_no_node_of_a_cluster_answers_patience_ends():
    async with _nowhere() as link:
        with pytest.raises(Unavailable, match=r"^the frontier's cluster has failed for 0 s: no node has"):
            await link.open(CODE)
        with pytest.raises(
            Unavailable, match=r"^the frontier's cluster has failed for 0 s: no node has slot"
        ):
            await link.call([echo(1, 1)])


@asynccontextmanager
async def _nowhere() -> AsyncIterator[Link]:
    link = ClusterLink(["redis://127.0.0.1:1", "redis://127.0.0.1:2"], retry_timeout_s=0.2)
    yield link
    await link.aclose()


async def test_a_wrong_password_is_reported_at_once(tmp_path: Path):
    with valkey(tmp_path / "0") as member:
        member.run("CONFIG", "SET", "requirepass", "right")
        link = SingleLink(redis_client({"host": "127.0.0.1", "port": member.port, "password": "wrong"}))
        with pytest.raises(Unavailable, match="password") as caught:
            await link.open(CODE)
        assert "wrong" not in str(caught.value)
        await link.aclose()


async def test_a_server_that_wants_replicas_and_has_none_is_waited_for_and_told_of(tmp_path: Path):
    with valkey(tmp_path / "0") as member:
        async with open_link(member, patience_s=0.3) as link:
            await link.open(CODE)
            member.run("CONFIG", "SET", "min-replicas-to-write", 1)
            with pytest.raises(Unavailable, match="has failed for 0 s: NOREPLICAS Not enough good replicas"):
                await link.call([Call("once", ("k",), (1,))])
            asyncio.get_running_loop().call_later(
                0.1, member.run, "CONFIG", "SET", "min-replicas-to-write", 0
            )
            assert await link.call([Call("once", ("k",), (1,))]) == [1]


async def test_a_server_that_is_started_again_is_waited_for(tmp_path: Path):
    with valkey(tmp_path / "0", appendfsync="always") as member:
        async with open_link(member) as link:
            await link.open(CODE)
            async with Writers(link) as writers:
                for _ in range(3):
                    await writers.wait_for()
                    member.kill()
                    await asyncio.to_thread(member.start)
                await writers.wait_for()
            assert await writers.missing_names() == []


async def test_a_server_that_loads_its_data_is_waited_for(tmp_path: Path):
    with valkey(tmp_path / "0", enable_debug_command="local") as member:
        async with open_link(member) as link:
            await link.open(CODE)
            await link.call([Call("once", ("k",), (i,)) for i in range(3_000)])
            member.run("CONFIG", "SET", "key-load-delay", "300")  # µs for each command
            loading = asyncio.create_task(asyncio.to_thread(member.run, "DEBUG", "LOADAOF"))
            await asyncio.sleep(0.05)
            assert await link.call([Call("once", ("k",), (1,))]) == [0]
            await loading
