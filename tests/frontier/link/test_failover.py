"""Nothing that was acknowledged is lost: masters and replicas die, are paused and change places, and slots move."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.frontier.links import CODE, TAGS, Writers, echo, open_link, other_than
from tests.frontier.valkey_cluster import valkey, wait_until
from thresher.core import Unavailable
from thresher.frontier.link.call import Call

# Replicas


def is_master(cluster, slot, node):
    return cluster.master_of(slot) is node


async def test_masters_change_places_with_their_replicas_under_calls(cluster):
    async with open_link(cluster) as link:
        await link.open(CODE)
        async with Writers(link) as writers:
            for slot in (0, 8_192, 16_380):
                await writers.wait_for()
                master = cluster.master_of(slot)
                (replica,) = cluster.replicas_of(master)
                replica.run("CLUSTER", "FAILOVER")
                await asyncio.to_thread(
                    wait_until,
                    partial(is_master, cluster, slot, replica),
                    "a change of places",
                )
            await writers.wait_for()
        assert await writers.missing_names() == []


async def test_calls_go_on_where_a_replica_is_gone_and_wait_for_it_again_when_it_is_back(cluster):
    async with open_link(cluster) as link:
        await link.open(CODE)
        (replica,) = cluster.replicas_of(cluster.master_of(0))
        async with Writers(link) as writers:
            await writers.wait_for()
            replica.kill()
            await writers.wait_for()
            await asyncio.to_thread(cluster.heal)
            await writers.wait_for()
        assert await writers.missing_names() == []


async def test_a_server_alone_with_its_replica_is_waited_for_too(tmp_path: Path):
    with valkey(tmp_path / "0") as master, valkey(tmp_path / "1") as replica:
        replica.run("REPLICAOF", "127.0.0.1", master.port)
        async with open_link(master) as link:
            await link.open(CODE)
            wait_until(lambda: "online" in str(master.info("replication").get("slave0")), "the replica")
            replica.pause()
            waiting = asyncio.create_task(link.call([Call("once", ("k",), ("x",))]))
            await asyncio.sleep(0.3)
            assert not waiting.done()
            async with open_link(master, patience_s=0.3) as impatient:
                with pytest.raises(
                    Unavailable, match="has failed for 0 s: no replica takes what is written; see"
                ):
                    await impatient.call([Call("once", ("k",), ("y",))])
            replica.resume()
            assert await waiting == [1]
            assert replica.run("SMEMBERS", "k") >= {"x"}


async def test_a_server_that_is_a_replica_for_a_while_is_waited_for(tmp_path: Path):
    with valkey(tmp_path / "0") as member:
        async with open_link(member) as link:
            await link.open(CODE)
            member.run("REPLICAOF", "127.0.0.1", 1)
            waiting = asyncio.create_task(link.call([Call("once", ("k",), (1,))]))
            await asyncio.sleep(0.2)
            assert not waiting.done()
            member.run("REPLICAOF", "NO", "ONE")
            assert await waiting == [1]


# A cluster that changes


async def test_what_no_replica_took_is_not_acknowledged_and_so_not_lost_with_its_master(cluster):
    async with open_link(cluster) as link:
        await link.open(CODE)
        master = cluster.master_of(0)
        (replica,) = cluster.replicas_of(master)
        async with Writers(link, tasks=32) as writers:
            await writers.wait_for()
            replica.pause()
            master.run("CLIENT", "KILL", "TYPE", "replica")  # what is on its way to a replica may yet arrive
            await asyncio.sleep(0.5)
            master.kill()
            replica.resume()
            await asyncio.to_thread(wait_until, lambda: cluster.master_of(0) is replica, "a promotion")
            await writers.wait_for()
        assert await writers.missing_names() == []


async def test_no_acknowledged_write_is_lost_when_a_replica_takes_its_masters_place(cluster):
    async with open_link(cluster) as link:
        await link.open(CODE)
        async with Writers(link) as writers:
            await writers.wait_for()
            dead = await cluster.fail_over(0)
            await writers.wait_for()
            await asyncio.to_thread(dead.start)
            await asyncio.to_thread(cluster.wait_settled)
            await writers.wait_for()
        assert await writers.missing_names() == []


@pytest.mark.parametrize("how", ["move", "move_whole"])
async def test_slots_move_while_calls_go_on(cluster, how):
    move: Callable = getattr(cluster, how)
    async with open_link(cluster) as link:
        await link.open(CODE)
        async with Writers(link, tags=6) as writers:
            slots = [int(cluster.members[0].run("CLUSTER", "KEYSLOT", writers.key(tag))) for tag in range(6)]
            targets = [cluster.master_of(slot) for slot in (1, 8_192, 16_380)]
            for number, slot in enumerate(slots * 3):
                await writers.wait_for(30)
                await move(slot, targets[number % 3])
            await writers.wait_for()
        assert await writers.missing_names() == []


async def test_a_call_is_carried_out_whole_or_not_at_all_while_its_slot_moves_key_by_key(cluster):
    """`both` names one key and uses another: the server alone would break it off between its two writes."""
    async with open_link(cluster) as link:
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
    async with open_link(cluster) as link:
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
    async with open_link(cluster) as link:
        await link.open(CODE)
        master = cluster.master_of(0)
        async with Writers(link) as writers:
            await writers.wait_for()
            master.pause()
            await asyncio.to_thread(wait_until, lambda: cluster.master_of(0) is not master, "a promotion")
            await writers.wait_for()
            master.resume()
            await writers.wait_for()
            await asyncio.to_thread(cluster.wait_settled)
            await writers.wait_for()
        assert await writers.missing_names() == []


@pytest.mark.slow
async def test_masters_die_one_after_another_while_slots_move(cluster):
    async with open_link(cluster) as link:
        await link.open(CODE)
        async with Writers(link, tasks=16) as writers:
            for slot in (0, 8_192, 16_380, 0, 8_192, 16_380):
                dead = await cluster.fail_over(slot)
                await writers.wait_for()
                await asyncio.to_thread(dead.start)
                await asyncio.to_thread(cluster.wait_settled)
                moving = int(cluster.members[0].run("CLUSTER", "KEYSLOT", writers.key(slot % TAGS)))
                await cluster.move_whole(moving, cluster.master_of((slot + 8_192) % 16_384))
                await writers.wait_for()
        assert await writers.missing_names() == []
