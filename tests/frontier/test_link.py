"""What every link promises: replies in their order, each call carried out, nothing acknowledged that can be lost.

The functions are the tests' own: `once` remembers a name, `both` does so twice, `echo` gives back what it was given, `fail` refuses.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from typing import Self

import pytest
from redis.asyncio import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from core import Unavailable
from frontier.cluster import Cluster
from frontier.link import Call, Link
from frontier.single import Single
from tests.frontier.valkey_cluster import Member, ValkeyCluster, valkey, valkey_cluster, wait_until

CODE = """#!lua name=thresher
server.register_function('thresher_once', function(keys, args) return server.call('SADD', keys[1], args[1]) end)
server.register_function('thresher_both', function(keys, args)
  return {server.call('SADD', keys[1], args[1]), server.call('SADD', keys[1] .. ':b', args[1])}
end)
server.register_function('thresher_echo', function(keys, args) return args end)
server.register_function('thresher_fail', function(keys, args) return server.error_reply('ERR ' .. args[1]) end)
"""
TAGS = 12
_serial = count()


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory) -> Iterator[ValkeyCluster]:
    with valkey_cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture
def cluster(unbroken) -> Iterator[ValkeyCluster]:
    yield unbroken
    unbroken.heal()


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Member]:
    with valkey(tmp_path_factory.mktemp("server") / "0") as found:
        yield found


@pytest.fixture(params=["single", "cluster"])
async def link(request) -> AsyncIterator[Link]:
    async with linked(request.getfixturevalue("server" if request.param == "single" else "cluster")) as found:
        await found.open(CODE)
        yield found


@asynccontextmanager
async def linked(to: Member | ValkeyCluster, patience_s: float = 30.0) -> AsyncIterator[Link]:
    if isinstance(to, ValkeyCluster):
        link: Link = Cluster(to.addresses[:2], patience_s=patience_s)
    else:
        link = Single(
            Redis(host="127.0.0.1", port=to.port, retry=Retry(NoBackoff(), 0)), patience_s=patience_s
        )
    try:
        yield link
    finally:
        await link.aclose()


class Writers:
    """Tasks that go on remembering names, some to a call, and know which of them were acknowledged."""

    def __init__(self, link: Link, tags: int = TAGS, tasks: int = 8) -> None:
        self.link = link
        self.prefix = f"writers-{next(_serial)}"
        self.tags = tags
        self.tasks = tasks
        self.acknowledged: set[tuple[int, str]] = set()

    def call(self, name: int) -> Call:
        return Call("once", (self.key(name % self.tags),), (str(name),))

    def key(self, tag: int) -> str:
        return f"{{{self.prefix}:{tag}}}:names"

    async def __aenter__(self) -> Self:
        self.stopped = False
        self.names = count()
        self.running = [asyncio.create_task(self._write()) for _ in range(self.tasks)]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stopped = True
        await asyncio.gather(*self.running)

    async def more(self, n: int = 200) -> None:
        """Return when `n` more are acknowledged."""
        wanted = len(self.acknowledged) + n
        while len(self.acknowledged) < wanted:
            await asyncio.sleep(0.005)
            if any(task.done() for task in self.running):
                await asyncio.gather(*self.running)

    async def lost(self) -> list[tuple[int, str]]:
        """What was acknowledged and is not there."""
        again = [self.call(int(name)) for _, name in sorted(self.acknowledged)]
        added = await self.link.call(again)
        return [known for known, new in zip(sorted(self.acknowledged), added, strict=True) if new]

    async def _write(self) -> None:
        while not self.stopped:
            names = [next(self.names) for _ in range(5)]
            await self.link.call([self.call(name) for name in names])
            self.acknowledged |= {(name % self.tags, str(name)) for name in names}


def echo(tag: object, *args: object) -> Call:
    return Call("echo", (f"{{{tag}}}:k",), args)


def other_than(cluster: ValkeyCluster, slot: int) -> Member:
    """A master that does not have the slot."""
    source = cluster.master_of(slot)
    return next(cluster.master_of(other) for other in (1, 16_380) if cluster.master_of(other) is not source)


# Every link


async def test_replies_come_in_the_order_of_their_calls(link):
    calls = [echo(i % 7, i, f"é{i}", b"\xff\0") for i in range(500)]
    told = await link.call(calls)
    assert told == [[str(i).encode(), f"é{i}".encode(), b"\xff\0"] for i in range(500)]


async def test_no_calls_have_no_replies(link):
    assert await link.call([]) == []


async def test_many_tasks_share_a_link(link):
    async def ask(task: int) -> None:
        for i in range(5):
            assert await link.call([echo(i, task, i)]) == [[str(task).encode(), str(i).encode()]]

    await asyncio.gather(*(ask(task) for task in range(300)))


async def test_a_refusal_says_in_one_line_what_was_refused_and_by_whom(link):
    with pytest.raises(Unavailable, match=r"^the frontier's server \S+ failed: no such thing; see") as caught:
        await link.call([echo(1, 1), Call("fail", ("{1}",), ("no such\nthing",)), echo(2, 2)])
    assert "\n" not in str(caught.value)


async def test_crawls_are_listed_until_they_are_not(link):
    await link.list_name("a")
    await link.list_name("b")
    await link.list_name("b")
    assert await link.names() >= {"a", "b"}
    await link.unlist_name("a")
    await link.unlist_name("a")
    assert "a" not in await link.names()


async def test_unlinked_keys_are_gone(link):
    write = Call("once", ("{gone}:names",), ("x",))
    assert await link.call([write]) == [1]
    assert await link.call([write]) == [0]
    await link.unlink(["{gone}:names", "{gone}:never"])
    assert await link.call([write]) == [1]


async def test_a_task_that_is_cancelled_leaves_no_reply_to_another(link):
    for i in range(60):
        task = asyncio.create_task(link.call([echo(i, "theirs") for i in range(3)]))
        for _ in range(i % 12):
            await asyncio.sleep(0)
        task.cancel()
        assert await link.call([echo(i, "ours", i) for i in range(3)]) == [
            [b"ours", str(i).encode()] for i in range(3)
        ]


# The function library


async def test_another_text_of_the_library_takes_its_place_and_the_same_is_left_alone(server):
    async with linked(server) as link:
        await link.open(CODE)
        await link.open(CODE + "server.register_function('thresher_new', function() return 1 end)")
        assert await link.call([Call("new", ("k",))]) == [1]
        await link.open(CODE)
        with pytest.raises(Unavailable, match="Function not found"):
            async with linked(server, patience_s=0.1) as other:
                await other.call([Call("new", ("k",))])


async def test_a_server_that_has_lost_the_library_is_given_it_again(link, cluster, server):
    await link.call([echo(i, i) for i in range(TAGS)])
    for member in [server, *{cluster.master_of(slot) for slot in (0, 8_000, 16_000)}]:
        member.run("FUNCTION", "FLUSH")
    assert await link.call([echo(i, i) for i in range(TAGS)]) == [[str(i).encode()] for i in range(TAGS)]


async def test_servers_that_cannot_keep_a_frontier_are_refused(cluster):
    member = cluster.master_of(9_000)
    member.run("CONFIG", "SET", "maxmemory", "1gb", "maxmemory-policy", "allkeys-lru")
    try:
        async with linked(cluster) as link:
            with pytest.raises(
                Unavailable, match=rf"{member.port}: the server evicts keys \(allkeys-lru\); set"
            ):
                await link.open(CODE)
    finally:
        member.run("CONFIG", "SET", "maxmemory", "0", "maxmemory-policy", "noeviction")


# Patience


async def test_where_nothing_answers_patience_ends(tmp_path):
    with valkey(tmp_path / "0") as member:
        async with linked(member, patience_s=0.3) as link:
            await link.open(CODE)
            member.kill()
            with pytest.raises(
                Unavailable, match=rf"{member.port} has failed for 0 s: .*; see to it and run again$"
            ):
                await link.call([echo(1, 1)])


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
    link = Cluster(["redis://127.0.0.1:1", "redis://127.0.0.1:2"], patience_s=0.2)
    yield link
    await link.aclose()


async def test_a_wrong_password_is_told_at_once(tmp_path):
    with valkey(tmp_path / "0") as member:
        member.run("CONFIG", "SET", "requirepass", "right")
        link = Single(
            Redis(host="127.0.0.1", port=member.port, password="wrong", retry=Retry(NoBackoff(), 0))
        )
        with pytest.raises(Unavailable, match="password") as caught:
            await link.open(CODE)
        assert "wrong" not in str(caught.value)
        await link.aclose()


async def test_a_server_that_wants_replicas_and_has_none_is_waited_for_and_told_of(tmp_path):
    with valkey(tmp_path / "0") as member:
        async with linked(member, patience_s=0.3) as link:
            await link.open(CODE)
            member.run("CONFIG", "SET", "min-replicas-to-write", 1)
            with pytest.raises(Unavailable, match="has failed for 0 s: NOREPLICAS Not enough good replicas"):
                await link.call([Call("once", ("k",), (1,))])
            asyncio.get_running_loop().call_later(
                0.1, member.run, "CONFIG", "SET", "min-replicas-to-write", 0
            )
            assert await link.call([Call("once", ("k",), (1,))]) == [1]


async def test_a_server_that_is_started_again_is_waited_for(tmp_path):
    with valkey(tmp_path / "0", appendfsync="always") as member:
        async with linked(member) as link:
            await link.open(CODE)
            async with Writers(link) as writers:
                for _ in range(3):
                    await writers.more()
                    member.kill()
                    await asyncio.to_thread(member.start)
                await writers.more()
            assert await writers.lost() == []


async def test_a_server_that_loads_its_data_is_waited_for(tmp_path):
    with valkey(tmp_path / "0", enable_debug_command="local") as member:
        async with linked(member) as link:
            await link.open(CODE)
            await link.call([Call("once", ("k",), (i,)) for i in range(3_000)])
            member.run("CONFIG", "SET", "key-load-delay", "300")  # µs for each command
            loading = asyncio.create_task(asyncio.to_thread(member.run, "DEBUG", "LOADAOF"))
            await asyncio.sleep(0.05)
            assert await link.call([Call("once", ("k",), (1,))]) == [0]
            await loading


# Replicas


async def test_masters_change_places_with_their_replicas_under_calls(cluster):
    async with linked(cluster) as link:
        await link.open(CODE)
        async with Writers(link) as writers:
            for slot in (0, 8_192, 16_380):
                await writers.more()
                master = cluster.master_of(slot)
                (replica,) = cluster.replicas_of(master)
                replica.run("CLUSTER", "FAILOVER")
                await asyncio.to_thread(
                    wait_until,
                    lambda slot=slot, to=replica: cluster.master_of(slot) is to,
                    "a change of places",
                )
            await writers.more()
        assert await writers.lost() == []


async def test_calls_go_on_where_a_replica_is_gone_and_wait_for_it_again_when_it_is_back(cluster):
    async with linked(cluster) as link:
        await link.open(CODE)
        (replica,) = cluster.replicas_of(cluster.master_of(0))
        async with Writers(link) as writers:
            await writers.more()
            replica.kill()
            await writers.more()
            await asyncio.to_thread(cluster.heal)
            await writers.more()
        assert await writers.lost() == []


async def test_a_server_alone_with_its_replica_is_waited_for_too(tmp_path):
    with valkey(tmp_path / "0") as master, valkey(tmp_path / "1") as replica:
        replica.run("REPLICAOF", "127.0.0.1", master.port)
        async with linked(master) as link:
            await link.open(CODE)
            wait_until(lambda: "online" in str(master.info("replication").get("slave0")), "the replica")
            replica.pause()
            waiting = asyncio.create_task(link.call([Call("once", ("k",), ("x",))]))
            await asyncio.sleep(0.3)
            assert not waiting.done()
            replica.resume()
            assert await waiting == [1]
            assert replica.run("SMEMBERS", "k") == {"x"}


async def test_a_server_that_is_a_replica_for_a_while_is_waited_for(tmp_path):
    with valkey(tmp_path / "0") as member:
        async with linked(member) as link:
            await link.open(CODE)
            member.run("REPLICAOF", "127.0.0.1", 1)
            waiting = asyncio.create_task(link.call([Call("once", ("k",), (1,))]))
            await asyncio.sleep(0.2)
            assert not waiting.done()
            member.run("REPLICAOF", "NO", "ONE")
            assert await waiting == [1]


# A cluster that changes


async def test_what_no_replica_took_is_not_acknowledged_and_so_not_lost_with_its_master(cluster):
    async with linked(cluster) as link:
        await link.open(CODE)
        master = cluster.master_of(0)
        (replica,) = cluster.replicas_of(master)
        async with Writers(link, tasks=32) as writers:
            await writers.more()
            replica.pause()
            master.run("CLIENT", "KILL", "TYPE", "replica")  # what is on its way to a replica may yet arrive
            await asyncio.sleep(0.5)
            master.kill()
            replica.resume()
            await asyncio.to_thread(wait_until, lambda: cluster.master_of(0) is replica, "a promotion")
            await writers.more()
        assert await writers.lost() == []


async def test_no_acknowledged_write_is_lost_when_a_replica_takes_its_masters_place(cluster):
    async with linked(cluster) as link:
        await link.open(CODE)
        async with Writers(link) as writers:
            await writers.more()
            dead = await cluster.fail_over(0)
            await writers.more()
            await asyncio.to_thread(dead.start)
            await asyncio.to_thread(cluster.wait_settled)
            await writers.more()
        assert await writers.lost() == []


@pytest.mark.parametrize("how", ["move", "move_whole"])
async def test_slots_move_while_calls_go_on(cluster, how):
    move: Callable = getattr(cluster, how)
    async with linked(cluster) as link:
        await link.open(CODE)
        async with Writers(link, tags=6) as writers:
            slots = [int(cluster.members[0].run("CLUSTER", "KEYSLOT", writers.key(tag))) for tag in range(6)]
            targets = [cluster.master_of(slot) for slot in (1, 8_192, 16_380)]
            for number, slot in enumerate(slots * 3):
                await writers.more(30)
                await move(slot, targets[number % 3])
            await writers.more()
        assert await writers.lost() == []


async def test_a_call_is_carried_out_whole_or_not_at_all_while_its_slot_moves_key_by_key(cluster):
    """`both` names one key and uses another: the server alone would break it off between its two writes."""
    async with linked(cluster) as link:
        await link.open(CODE)
        named, unnamed = "{half}:a", "{half}:a:b"
        both = Call("both", (named,), ("x",))
        assert await link.call([both]) == [[1, 1]]
        slot = int(cluster.members[0].run("CLUSTER", "KEYSLOT", "{half}"))
        source, target = cluster.master_of(slot), other_than(cluster, slot)
        target.run("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id)
        source.run("CLUSTER", "SETSLOT", slot, "MIGRATING", target.id)
        for moved in (unnamed, named):
            source.run("MIGRATE", "127.0.0.1", target.port, moved, 0, 5_000)
            waiting = asyncio.create_task(link.call([replace(both, args=(moved,))]))
            await asyncio.sleep(0.1)
            assert not waiting.done()
            holder = source if moved is unnamed else target
            assert holder.client.execute_command("ASKING")
            assert set(holder.run("SMEMBERS", named)) == {"x"}
            waiting.cancel()
        waiting = asyncio.create_task(link.call([replace(both, args=("y",))]))
        for member in (target, source):
            member.run("CLUSTER", "SETSLOT", slot, "NODE", target.id)
        assert await waiting == [[1, 1]]
        assert set(target.run("SMEMBERS", named)) == set(target.run("SMEMBERS", unnamed)) == {"x", "y"}


async def test_a_node_that_never_had_the_library_is_given_it_when_a_slot_comes_to_it(cluster):
    async with linked(cluster) as link:
        await link.open(CODE)
        slot = int(cluster.members[0].run("CLUSTER", "KEYSLOT", "{new}"))
        source = cluster.master_of(slot)
        target = next(
            cluster.master_of(other) for other in (1, 16_380) if cluster.master_of(other) is not source
        )
        await link.call([Call("once", ("{new}",), ("x",))])
        target.run("FUNCTION", "FLUSH")
        await cluster.move(slot, target)
        assert await link.call([Call("once", ("{new}",), ("x",)), echo("new", 1)]) == [0, [b"1"]]


@pytest.mark.slow
async def test_a_paused_master_is_left_for_its_replica_and_takes_nothing_along_when_it_wakes(cluster):
    async with linked(cluster) as link:
        await link.open(CODE)
        master = cluster.master_of(0)
        async with Writers(link) as writers:
            await writers.more()
            master.pause()
            await asyncio.to_thread(wait_until, lambda: cluster.master_of(0) is not master, "a promotion")
            await writers.more()
            master.resume()
            await writers.more()
            await asyncio.to_thread(cluster.wait_settled)
            await writers.more()
        assert await writers.lost() == []


@pytest.mark.slow
async def test_masters_die_one_after_another_while_slots_move(cluster):
    async with linked(cluster) as link:
        await link.open(CODE)
        async with Writers(link, tasks=16) as writers:
            for slot in (0, 8_192, 16_380, 0, 8_192, 16_380):
                dead = await cluster.fail_over(slot)
                await writers.more()
                await asyncio.to_thread(dead.start)
                await asyncio.to_thread(cluster.wait_settled)
                tag = int(cluster.members[0].run("CLUSTER", "KEYSLOT", writers.key(slot % TAGS)))
                await cluster.move_whole(tag, cluster.master_of((slot + 8_192) % 16_384))
                await writers.more()
        assert await writers.lost() == []
