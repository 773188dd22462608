"""A worker holds few decoded bytes, however many bombs it is sent at once."""

import asyncio
import gzip
import threading
import tracemalloc
from contextlib import suppress
from types import SimpleNamespace

import pytest

import crawler.decoded
from crawler.activity import Activity
from crawler.aside import HEAVY
from crawler.decoded import MOST, SMALL, DecodedBytes
from crawler.options import USUAL, PageOptions
from crawler.steward import Fetched, Steward
from storage.payload import TOO_LONG, content_decoded
from storage.records import PAYLOAD_LIMIT
from tests.crawler.leases import lease
from tests.crawler.test_page import HTML, capture

GZIP = ("Content-Encoding", "gzip")
ANY = ("Content-Type", "application/json")
MANY = 4


@pytest.fixture(scope="module")
def bomb():
    return gzip.compress(b"<html><body><p>" + bytes(PAYLOAD_LIMIT), 1)


class Waiting:
    """The process of its own, before it has its turn; counts who waits."""

    def __init__(self):
        self.asked, self.turn = 0, asyncio.Event()

    async def call(self, *_, returns, accepts):
        self.asked += 1
        await self.turn.wait()


def steward(aside, screen=None, options=USUAL):
    made = Steward(
        crawl="c",
        worker="w",
        client=None,
        entrance=None,
        loop=None,
        settler=SimpleNamespace(known=frozenset()),
        screen=screen,
        renderer=None,
        activity=Activity.make(),
        decoded=DecodedBytes(),
        options=lambda: options,
    )
    made._aside = aside
    return made


async def settle():
    for _ in range(10):
        await asyncio.sleep(0)


PRIVATE = ("X-Robots-Tag", "noarchive")


@pytest.mark.parametrize(
    ("headers", "screen", "obey"),
    [
        ((HTML,), None, USUAL.obey),
        ((ANY,), lambda _: None, USUAL.obey),
        ((ANY, PRIVATE), None, ("noarchive",)),
    ],
    ids=["pages", "what is screened", "what is not to be archived"],
)
async def test_bombs_that_wait_to_be_read_are_not_held(bomb, headers, screen, obey):
    aside = Waiting()
    reader = steward(aside, screen, PageOptions(obey=obey))
    tracemalloc.start()
    try:
        found = Fetched(found=capture(bomb, *headers, GZIP))
        reading = [asyncio.create_task(reader.read(lease(), found)) for _ in range(MANY)]
        await settle()
        assert aside.asked == MANY
        assert tracemalloc.get_traced_memory()[1] < MANY * 4 * HEAVY
    finally:
        tracemalloc.stop()
        aside.turn.set()
    assert [ended.answer.reason for ended in await asyncio.gather(*reading)] == ["parser_crash"] * MANY


async def test_what_is_short_is_read_at_once():
    aside = Waiting()
    body = gzip.compress(b"<html><body><p>" + b"x" * HEAVY)
    page = capture(body, HTML, GZIP)
    short = capture(gzip.compress(b"<html><p>short"), HTML, GZIP)
    ended = await steward(aside).read(lease(), Fetched(found=short))
    assert (ended.answer.outcome, aside.asked) == ("fetched", 0)
    waiting = asyncio.create_task(steward(aside).read(lease(), Fetched(found=page)))
    await settle()
    assert aside.asked == 1
    aside.turn.set()
    await waiting


async def test_long_bodies_wait_until_there_is_room(bomb):
    held = DecodedBytes()
    tasks = [asyncio.create_task(held.decode(capture(bomb, HTML, GZIP))) for _ in range(5)]
    await asyncio.wait(tasks[:2])
    await settle()
    done = [task.result() for task in tasks if task.done()]
    assert sum(found.held for found in done) == MOST
    assert all((len(found.body), found.problem) == (PAYLOAD_LIMIT, TOO_LONG) for found in done)
    assert [task.done() for task in tasks] == [True, True, False, False, False]
    held.give_back(done[0].held)
    await tasks[2]
    await settle()
    assert [task.done() for task in tasks] == [True, True, True, False, False]  # in their order
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for found in (done[1], tasks[2].result()):
        held.give_back(found.held)
    assert held.free == MOST


async def test_what_a_body_does_not_need_is_free_for_others():
    held, body = DecodedBytes(), gzip.compress(bytes(2 * SMALL))
    found = [await held.decode(capture(body, HTML, GZIP)) for _ in range(10)]
    assert held.free == MOST - sum(each.held for each in found) == MOST - 20 * SMALL


async def test_short_and_plain_bodies_wait_for_nobody(bomb):
    held = DecodedBytes()
    for _ in range(2):
        await held.decode(capture(bomb, HTML, GZIP))
    assert held.free == 0
    for body, headers in ((b"<p>a", ()), (gzip.compress(b"<p>a"), (GZIP,)), (bytes(3 * SMALL), ())):
        found = await asyncio.wait_for(held.decode(capture(body, HTML, *headers)), 1)
        assert (found.held, found.problem) == (0, None)


async def test_whoever_leaves_with_the_turn_in_hand_gives_it_back(bomb):
    held = DecodedBytes()
    first = [await held.decode(capture(bomb, HTML, GZIP)) for _ in range(2)]
    waits = asyncio.create_task(held.decode(capture(bomb, HTML, GZIP)))
    await settle()
    held.give_back(first[0].held)  # its turn; it has not heard of it yet
    waits.cancel()
    with suppress(asyncio.CancelledError):
        await waits
    held.give_back(first[1].held)
    assert held.free == MOST


async def test_a_context_gives_back_what_it_held(bomb):
    held = DecodedBytes()
    async with held.decoded(capture(bomb, HTML, GZIP)) as body:
        assert (len(body), held.free) == (PAYLOAD_LIMIT, MOST - PAYLOAD_LIMIT)
    assert held.free == MOST


async def test_a_large_body_is_decoded_beside_the_event_loop(bomb, monkeypatch):
    threads = []

    def decoded(payload, encodings, limit):
        threads.append((limit, threading.current_thread()))
        return content_decoded(payload, encodings, limit)

    monkeypatch.setattr(crawler.decoded, "content_decoded", decoded)
    async with DecodedBytes().decoded(capture(bomb, HTML, GZIP)) as body:
        assert len(body) == PAYLOAD_LIMIT
    assert [thread is threading.main_thread() for limit, thread in threads if limit > SMALL] == [False]
