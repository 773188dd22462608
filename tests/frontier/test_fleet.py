"""A fleet under which everything breaks, and what proves that: the proxy, the judge, and both together."""

from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as Cut
from redis.exceptions import TimeoutError as Silence

from tests.frontier.proxy import Trouble, _messages, proxy


@pytest.fixture
def socket(address):
    return Path(address.removeprefix("unix://"))


@asynccontextmanager
async def through(socket, folder, trouble=Trouble(), *, seed=1, retries=0, patience=5.0):  # noqa: B008 - frozen
    """A proxy before the server, and a client of it."""
    async with proxy(socket, folder / "proxy", trouble, seed=seed) as between:
        client = Redis(
            unix_socket_path=str(folder / "proxy"),
            retry=Retry(NoBackoff(), retries),
            socket_timeout=patience,
            driver_info=None,
        )
        await client.ping()  # connected, before there is trouble
        between.met.clear()
        yield between, client
        await client.aclose()


async def test_requests_and_replies_go_through_unchanged_whatever_their_size(socket, redis, tmp_path):
    async with through(socket, tmp_path) as (_, client):
        big = b"\r\n*2\r\n$" * 300_000
        assert await client.set("proxied", big)
        assert await client.get("proxied") == big
        pipeline = client.pipeline(transaction=False)
        for i in range(3_000):
            pipeline.rpush("proxied-list", f"{i}\r\n" * 40)
        assert await pipeline.execute() == list(range(1, 3_001))
        assert len(await client.lrange("proxied-list", 0, -1)) == 3_000
    await redis.delete("proxied", "proxied-list")


def test_messages_are_counted_only_when_the_last_is_whole():
    whole = [b"*2\r\n$1\r\na\r\n$2\r\nbc\r\n", b"*1\r\n$0\r\n\r\n", b":1\r\n", b"-ERR no\r\n", b"#f\r\n"]
    text = b"".join(whole)
    ends = {sum(map(len, whole[:n])): n for n in range(len(whole) + 1)}
    assert {i: n for i in range(len(text) + 1) if (n := _messages(text[:i])) >= 0} == ends


async def test_what_is_dropped_was_never_carried_out(socket, redis, tmp_path):
    async with through(socket, tmp_path) as (between, client):
        between.trouble = Trouble(drop=100)
        with pytest.raises(Cut):
            await client.incr("dropped")
        assert between.met == {"drop": 1}
    assert await redis.get("dropped") is None


async def test_an_answer_that_is_lost_leaves_the_request_carried_out(socket, redis, tmp_path):
    async with through(socket, tmp_path) as (between, client):
        between.trouble = Trouble(lose=100)
        with pytest.raises(Cut):
            await client.incr("lost")
        assert between.met == {"lose": 1}
    assert await redis.getdel("lost") == b"1"


@pytest.mark.parametrize(("how", "told"), [("twice", 1), ("again", 2)])
async def test_a_request_carried_out_twice_is_answered_once(socket, redis, tmp_path, how, told):
    async with through(socket, tmp_path) as (between, client):
        between.trouble = Trouble(**{how: 100})
        assert await client.incr(how) == told
        between.trouble = Trouble()
        assert await client.incr(how) == 3
    await redis.delete(how)


async def test_a_frozen_request_comes_late_though_its_client_has_gone(socket, redis, tmp_path):
    async with through(socket, tmp_path, patience=0.05) as (between, client):
        between.trouble = Trouble(freeze=100, freeze_s=0.3)
        with pytest.raises(Silence):
            await client.rpush("late", "come")
        assert await redis.llen("late") == 0
        assert await redis.blpop("late", timeout=5) == (b"late", b"come")


async def test_a_delayed_request_is_answered(socket, redis, tmp_path):
    async with through(socket, tmp_path) as (between, client):
        between.trouble = Trouble(delay=100, delay_s=0.02)
        assert await client.incr("delayed") == 1
        assert between.met == {"delay": 1}
    await redis.delete("delayed")


async def test_the_same_seed_makes_the_same_trouble(socket, tmp_path):
    async def met(seed):
        async with through(socket, tmp_path, seed=seed, retries=99) as (between, client):
            between.trouble = Trouble(drop=20, lose=20, twice=20, again=5)
            told = []
            for _ in range(40):
                before = between.met.copy()
                await client.ping()
                told.append(between.met - before)
            return told

    first, again, other = await met(1), await met(1), await met(2)
    assert first == again != other


async def test_where_the_server_is_away_its_clients_are_told_so(tmp_path):
    async with proxy(tmp_path / "nobody", tmp_path / "proxy", Trouble(), seed=1):
        client = Redis(unix_socket_path=str(tmp_path / "proxy"), retry=Retry(NoBackoff(), 0))
        with pytest.raises(Cut):
            await client.ping()
        await client.aclose()


def test_shares_of_trouble_are_per_cent():
    trouble = Trouble(drop=10, lose=20, freeze=30)
    assert [trouble.of(draw) for draw in (0, 9.9, 10, 29.9, 30, 59.9, 60, 99.9)] == [
        *["drop"] * 2,
        *["lose"] * 2,
        *["freeze"] * 2,
        *["pass"] * 2,
    ]
    assert replace(trouble, drop=0).of(0) == "lose"
