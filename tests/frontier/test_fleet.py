"""A fleet under which everything breaks, and the tests of its parts: the proxy, the judge, and both together."""

import json
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as Cut
from redis.exceptions import TimeoutError as Silence

from bench.frontier.facts import Fact, FactLog, Kind, Span
from bench.frontier.fleet import run_fleet
from bench.frontier.fleet_judge import facts, judge, read
from bench.frontier.scenario import Scenario, crawl_delay_ms, least_delay_ms
from tests.frontier.proxy import ProxyFaults, _messages, proxy

MS = 1_000_000
LEASE_MS = 1_000


# The proxy


@pytest.fixture
def socket(address):
    return Path(address.removeprefix("unix://"))


@pytest.fixture
async def direct(socket: Path):
    async with Redis(unix_socket_path=str(socket)) as client:
        yield client


@asynccontextmanager
async def through(socket, folder, trouble=ProxyFaults(), *, seed=1, retries=0, patience=5.0):  # noqa: B008 - frozen
    """A proxy before the server, and a client of it."""
    async with proxy(socket, folder / "proxy", trouble, seed=seed) as between:
        client = Redis(
            unix_socket_path=str(folder / "proxy"),
            retry=Retry(NoBackoff(), retries),
            socket_timeout=patience,
            driver_info=None,
        )
        await client.ping()  # connected, before there is trouble
        between.fault_counts.clear()
        yield between, client
        await client.aclose()


async def test_requests_and_replies_go_through_unchanged_whatever_their_size(
    socket: Path, direct, tmp_path: Path
):
    async with through(socket, tmp_path) as (_, client):
        big = b"\r\n*2\r\n$" * 300_000
        assert await client.set("proxied", big)
        assert await client.get("proxied") == big
        pipeline = client.pipeline(transaction=False)
        for i in range(3_000):
            pipeline.rpush("proxied-list", f"{i}\r\n" * 40)
        assert await pipeline.execute() == list(range(1, 3_001))
        assert len(await client.lrange("proxied-list", 0, -1)) == 3_000
    await direct.delete("proxied", "proxied-list")


def test_messages_are_counted_only_when_the_last_is_whole():
    whole = [b"*2\r\n$1\r\na\r\n$2\r\nbc\r\n", b"*1\r\n$0\r\n\r\n", b":1\r\n", b"-ERR no\r\n", b"#f\r\n"]
    text = b"".join(whole)
    ends = {sum(map(len, whole[:n])): n for n in range(len(whole) + 1)}
    assert {i: n for i in range(len(text) + 1) if (n := _messages(text[:i])) >= 0} == ends


async def test_what_is_dropped_was_never_carried_out(socket: Path, direct, tmp_path: Path):
    async with through(socket, tmp_path) as (between, client):
        between.trouble = ProxyFaults(drop=100)
        with pytest.raises(Cut):
            await client.incr("dropped")
        assert between.fault_counts == {"drop": 1}
    assert await direct.get("dropped") is None


async def test_an_answer_that_is_lost_leaves_the_request_carried_out(socket: Path, direct, tmp_path: Path):
    async with through(socket, tmp_path) as (between, client):
        between.trouble = ProxyFaults(lose=100)
        with pytest.raises(Cut):
            await client.incr("lost")
        assert between.fault_counts == {"lose": 1}
    assert await direct.getdel("lost") == b"1"


@pytest.mark.parametrize(("how", "told"), [("twice", 1), ("again", 2)])
async def test_a_request_carried_out_twice_is_answered_once(socket: Path, direct, tmp_path: Path, how, told):
    async with through(socket, tmp_path) as (between, client):
        between.trouble = ProxyFaults(**{how: 100})
        assert await client.incr(how) == told
        between.trouble = ProxyFaults()
        assert await client.incr(how) == 3
    await direct.delete(how)


async def test_a_frozen_request_comes_late_though_its_client_has_gone(socket: Path, direct, tmp_path: Path):
    async with through(socket, tmp_path, patience=0.05) as (between, client):
        between.trouble = ProxyFaults(freeze=100, freeze_s=0.3)
        with pytest.raises(Silence):
            await client.rpush("late", "come")
        assert await direct.llen("late") == 0
        assert await direct.blpop("late", timeout=5) == (b"late", b"come")


async def test_a_delayed_request_is_answered(socket: Path, direct, tmp_path: Path):
    async with through(socket, tmp_path) as (between, client):
        between.trouble = ProxyFaults(delay=100, delay_s=0.02)
        assert await client.incr("delayed") == 1
        assert between.fault_counts == {"delay": 1}
    await direct.delete("delayed")


async def test_the_same_seed_makes_the_same_trouble(socket: Path, tmp_path: Path):
    async def met(seed):
        async with through(socket, tmp_path, seed=seed, retries=99) as (between, client):
            between.trouble = ProxyFaults(drop=20, lose=20, twice=20, again=5)
            told = []
            for _ in range(40):
                before = between.fault_counts.copy()
                await client.ping()
                told.append(between.fault_counts - before)
            return told

    first, again, other = await met(1), await met(1), await met(2)
    assert first == again != other


async def test_clients_get_an_error_while_the_server_is_away(tmp_path: Path):
    async with proxy(tmp_path / "nobody", tmp_path / "proxy", ProxyFaults(), seed=1):
        client = Redis(unix_socket_path=str(tmp_path / "proxy"), retry=Retry(NoBackoff(), 0))
        with pytest.raises(Cut):
            await client.ping()
        await client.aclose()


def test_shares_of_trouble_are_per_cent():
    trouble = ProxyFaults(drop=10, lose=20, freeze=30)
    assert [trouble.fault_for(draw) for draw in (0, 9.9, 10, 29.9, 30, 59.9, 60, 99.9)] == [
        *["drop"] * 2,
        *["lose"] * 2,
        *["freeze"] * 2,
        *["pass"] * 2,
    ]
    assert replace(trouble, drop=0).fault_for(0) == "lose"


# The judge


def grant(token, at_ms, *, worker=1, host=1, url=None, wait=50, took_ms=0.5):
    """A grant at a moment that both clocks count alike."""
    moment = at_ms * MS
    return Fact(
        Kind.GRANT,
        worker=worker,
        host=host,
        wait=wait,
        url=token if url is None else url,
        token=token,
        at=at_ms,
        before=moment,
        after=moment + int(took_ms * MS),
    )


def said(kind, at_ms, token, **fields):
    return Fact(kind, token=token, before=at_ms * MS, after=at_ms * MS + MS // 2, **fields)


def accepted(at_ms, token, **fields):
    url = fields.pop("url", token)
    return [
        said(Kind.SETTLE, at_ms, token, url=url, **fields),
        said(Kind.ACCEPTED, at_ms, token, url=url, **fields),
    ]


def broken(*rows, **known):
    """What the judge has against a story, each in a few words."""
    return [found.partition(":")[0] for found in judge(facts(rows), lease_ms=LEASE_MS, **known).violations]


def test_a_fleet_that_keeps_the_promises_has_nothing_against_it():
    story = [
        grant(1, 1000),
        said(Kind.END, 1010, 1),
        *accepted(1012, 1, final=True),
        grant(2, 1060),
        *accepted(1065, 2, host=1, wait=100),
        grant(3, 1165, url=2),
        grant(4, 1001, host=2),
    ]
    verdict = judge(facts(story), lease_ms=LEASE_MS)
    assert verdict.violations == []
    assert verdict.figures["grants"] == 4
    assert verdict.figures["gap_slack_min_ms_frontier"] == 10
    assert 0 <= verdict.figures["gap_slack_min_ms_workers"] <= 1.5
    assert verdict.figures["urls_settled"] == 1
    assert verdict.figures["grants_again"] == 1


def test_a_token_is_granted_once():
    assert broken(grant(1, 1000), grant(1, 3000, host=2)) == ["a token was granted twice"]


def test_two_grants_are_a_delay_apart_by_the_frontiers_clock():
    late = grant(2, 1049)._replace(after=9000 * MS)  # by the worker's clock it may have been
    story = grant(1, 1000), said(Kind.END, 1000, 1), late
    assert broken(*story, breaks=[2000 * MS]) == [
        "two grants of a host came within its delay, by the frontier's clock"
    ]


WITHIN = "a host was granted within its delay after an exchange, by the workers' clock"


@pytest.mark.parametrize("kind", [Kind.END, Kind.SETTLE])
def test_a_grant_comes_a_delay_after_the_end_of_the_exchange_before(kind):
    assert broken(grant(1, 1000), said(kind, 1020, 1), grant(2, 1068)) == [WITHIN]
    assert broken(grant(1, 1000), said(kind, 1020, 1), grant(2, 1071)) == []


def test_an_exchange_that_nobody_ended_lasts_until_its_deadline():
    assert broken(grant(1, 1000), grant(2, 2040)) == [WITHIN]
    assert broken(grant(1, 1000), grant(2, 2051)) == []


def test_an_exchange_is_over_when_its_worker_was_given_up():
    reclaim = Fact(Kind.RECLAIM, worker=1, before=1300 * MS)
    assert broken(grant(1, 1000), reclaim, grant(2, 1340, worker=2)) == [WITHIN]
    assert broken(grant(1, 1000), reclaim, grant(2, 1351, worker=2)) == []


def test_a_grant_that_was_given_back_unused_is_no_exchange():
    story = grant(1, 1000), said(Kind.END, 1000, 1), grant(2, 1060), said(Kind.POSTPONE, 1061, 2)
    assert broken(*story, grant(3, 1062)) == []
    assert broken(*story[:2], grant(2, 1040), story[3]) != []
    assert broken(grant(1, 1000), said(Kind.END, 1055, 1), *story[2:], grant(3, 1100)) != []


def test_an_answer_that_came_late_does_not_hide_a_grant_that_came_early():
    early = grant(2, 1040, took_ms=500)
    story = grant(1, 1000), said(Kind.END, 1010, 1), early, grant(9, 1001, host=2)
    assert WITHIN in broken(*story)
    assert WITHIN not in broken(*story, breaks=[1041 * MS])  # the clocks may have gone apart then


def test_a_clock_that_was_set_forward_makes_a_delay_shorter_by_as_much():
    story = grant(1, 1000), said(Kind.END, 1020, 1), grant(2, 1068)
    assert broken(*story, leaps_ns=MS // 2) == [WITHIN]
    assert broken(*story, leaps_ns=2 * MS) == []


def test_a_host_that_is_held_is_not_granted():
    story = grant(1, 1000), *accepted(1001, 1, host=1, wait=200)
    assert broken(*story, grant(2, 1199, url=1)) == ["a host was granted while it was held"]
    assert broken(*story, grant(2, 1201, url=1)) == []


def test_a_url_is_settled_once_and_not_granted_after():
    once = grant(1, 1000, url=7), *accepted(1001, 1, url=7, final=True)
    assert broken(*once, grant(2, 1002, url=7, host=2)) == ["a URL was granted after it was settled"]
    told = accepted(1001, 2, url=7, final=True)
    assert broken(*once, grant(2, 1000, url=7, host=2), *told) == ["a URL was settled twice"]
    retried = grant(1, 1000, url=7), *accepted(1001, 1, url=7)
    assert broken(*retried, grant(2, 1100, url=7)) == []


def test_two_requests_to_an_address_are_a_delay_apart():
    def enter(begin_ms, end_ms):
        return Fact(Kind.ENTER, host=3, wait=20, before=begin_ms * MS, after=end_ms * MS)

    lone = grant(1, 1000)
    assert broken(lone, enter(0, 1), enter(15, 18)) == ["an address was entered twice within its delay"]
    assert broken(lone, enter(0, 1), enter(15, 21)) == []
    assert broken(lone, enter(0, 40), enter(15, 18)) == []  # the second may have been first


def test_a_loss_of_power_excuses_what_was_done_twice_and_nothing_else():
    loss = Span(1005 * MS, 1500 * MS)
    settled = grant(1, 1000, url=7), said(Kind.END, 1001, 1), *accepted(1010, 1, url=7, final=True)
    again = grant(9, 1600, url=7), said(Kind.END, 1601, 9), *accepted(1602, 9, url=7, final=True)
    assert broken(*settled, *again, losses=[loss]) == []
    assert broken(*settled, *again, losses=[Span(1100 * MS, 1500 * MS)]) != []
    assert broken(*settled, *again[:-1], grant(1, 1700, host=2), losses=[loss]) == [
        "a token was granted twice"
    ]
    forgotten = grant(3, 1450)
    assert broken(forgotten, grant(4, 1540), losses=[loss]) == [WITHIN]
    assert broken(forgotten, grant(4, 1551), losses=[loss]) == []


def test_what_a_killed_process_wrote_last_is_read_as_far_as_it_is_whole(tmp_path: Path):
    rows = [grant(1, 1000), grant(2, 2000)]
    FactLog(tmp_path / "whole").write(rows)
    FactLog(tmp_path / "cut").write(rows)
    text = (tmp_path / "cut").read_bytes()
    (tmp_path / "cut").write_bytes(text[:-3])
    found = read([tmp_path / "whole", tmp_path / "cut"])
    assert found["token"].tolist() == [1, 2, 1]
    assert tuple(found[1]) == tuple(rows[1])


# The fleet


def test_rules_are_held_to_the_shortest_delay_that_any_of_their_versions_asked_for(tmp_path: Path):
    """A settlement that is told again counts as a version more, and its delay is that of the version before."""
    chosen = Scenario(dir=tmp_path)
    assert [crawl_delay_ms(chosen, 188, version) for version in range(4)] == [0, 170, 189, 199]
    assert [least_delay_ms(chosen, 188, version) for version in range(4)] == [0, 170, 170, 170]


def play(folder, **fields):
    """Processes are killed, the server too, and one request in fifty meets trouble."""
    trouble = dict.fromkeys(("drop", "lose", "twice", "again"), 0.4) | {"delay": 0.5, "freeze": 0.05}
    return Scenario(dir=folder / "fleet", lease_ms=1_500, **(trouble | {"limit_s": 200.0} | fields))


def holds(chosen, **least):
    """Everything came to its end as promised, and things did go wrong meanwhile."""
    report = run_fleet(chosen)
    assert report["violations"] == [], json.dumps(report)
    assert report["drained"], json.dumps(report)
    assert all(report["broken"].get(name, 0) >= number for name, number in least.items()), json.dumps(report)
    assert report["requests"]["pass"] < sum(report["requests"].values())
    return report


def test_a_small_fleet_settles_everything_once_whatever_dies(tmp_path: Path):
    chosen = play(tmp_path, urls=300, hosts=60, processes=2, workers=4, kill=5, restart=2, crawl_delay_ms=60)
    assert holds(chosen)["grants"] >= 360


@pytest.mark.slow
def test_sixty_four_workers_settle_everything_once_whatever_dies(tmp_path: Path):
    report = holds(play(tmp_path, urls=15_000, hosts=1_000, kill=3, restart=3), kill=1, restart=1)
    assert report["gaps"] >= 15_000
    assert report["deaths"] > 0


@pytest.mark.slow
def test_a_server_that_forgot_its_last_second_is_polite_and_repeats_no_token(tmp_path: Path):
    report = holds(play(tmp_path, urls=10_000, hosts=1_000, kill=5, loss=2.5), loss=1)
    assert report["grants_again"] > 0


@pytest.mark.slow
def test_a_clock_that_jumps_by_an_hour_makes_no_burst(tmp_path: Path):
    pytest.importorskip("libfaketime")
    holds(play(tmp_path, urls=10_000, hosts=1_000, restart=4, jump=1), jump=1)
