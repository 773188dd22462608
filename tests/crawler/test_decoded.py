"""A worker holds few decoded bytes, however many decompression bombs it receives at once."""

import asyncio
import gzip
import threading
import tracemalloc
from contextlib import suppress
from types import SimpleNamespace

import pytest

import thresher.crawler.decode_budget
from tests.crawler.leases import lease
from tests.crawler.reading.test_page_reading import HTML, capture
from thresher.crawler.decode_budget import MAX_BUDGET_BYTES, SMALL_BODY_BYTES, DecodeBudget
from thresher.crawler.lease_handler import FetchResult, LeaseHandler
from thresher.crawler.machine.activity import Activity
from thresher.crawler.reading.outcome import judge_capture
from thresher.crawler.reading.page_options import DEFAULT_OPTIONS, PageOptions
from thresher.crawler.reading.page_response import HEAVY_PAGE_BYTES
from thresher.frontier import CrawlSettings
from thresher.storage.warc.payload import TOO_LONG, decode_content
from thresher.storage.warc.records import PAYLOAD_LIMIT

GZIP = ("Content-Encoding", "gzip")
ANY = ("Content-Type", "application/json")
MANY = 4


@pytest.fixture(scope="module")
def bomb():
    return gzip.compress(b"<html><body><p>" + bytes(PAYLOAD_LIMIT), 1)


class Waiting:
    """A page process that never has its turn, and counts the calls that wait."""

    def __init__(self):
        self.asked, self.turn = 0, asyncio.Event()

    async def call(self, *_, returns, accepts):
        self.asked += 1
        await self.turn.wait()


def lease_handler(page_process, screen=None, options=DEFAULT_OPTIONS):
    made = LeaseHandler(
        SimpleNamespace(crawl=SimpleNamespace(settings=CrawlSettings())),  # type: ignore[arg-type]
        crawl="c",
        worker="w",
        client=None,  # type: ignore[arg-type]
        address_limiter=None,  # type: ignore[arg-type]
        scheduler=None,  # type: ignore[arg-type]
        queue=SimpleNamespace(known_urls=frozenset()),  # type: ignore[arg-type]
        archive_filter=screen,
        renderer=None,
        activity=Activity.make(),
        decode_budget=DecodeBudget(),
        options=options,
    )
    made._page_process = page_process
    return made


def fetched(found):
    return FetchResult(result=found, judgement=judge_capture(found))


async def settle():
    for _ in range(10):
        await asyncio.sleep(0)


PRIVATE = ("X-Robots-Tag", "noarchive")


@pytest.mark.parametrize(
    ("headers", "screen", "obey"),
    [
        ((HTML,), None, DEFAULT_OPTIONS.obey),
        ((ANY,), lambda _: None, DEFAULT_OPTIONS.obey),
        ((ANY, PRIVATE), None, ("noarchive",)),
    ],
    ids=["pages", "what is screened", "what is not to be archived"],
)
async def test_bombs_that_wait_to_be_read_take_no_memory(bomb, headers, screen, obey):
    page_process = Waiting()
    reader = lease_handler(page_process, screen, PageOptions(obey=obey))
    tracemalloc.start()
    try:
        found = fetched(capture(bomb, *headers, GZIP))
        reading = [asyncio.create_task(reader.read(lease(), found)) for _ in range(MANY)]
        await settle()
        assert page_process.asked == MANY
        assert tracemalloc.get_traced_memory()[1] < MANY * 4 * HEAVY_PAGE_BYTES
    finally:
        tracemalloc.stop()
        page_process.turn.set()
    assert [ended.decision.reason for ended in await asyncio.gather(*reading)] == ["parser_crash"] * MANY


async def test_short_bodies_are_read_at_once():
    page_process = Waiting()
    body = gzip.compress(b"<html><body><p>" + b"x" * HEAVY_PAGE_BYTES)
    page = capture(body, HTML, GZIP)
    short = capture(gzip.compress(b"<html><p>short"), HTML, GZIP)
    ended = await lease_handler(page_process).read(lease(), fetched(short))
    assert (ended.decision.outcome, page_process.asked) == ("fetched", 0)
    waiting = asyncio.create_task(lease_handler(page_process).read(lease(), fetched(page)))
    await settle()
    assert page_process.asked == 1
    page_process.turn.set()
    await waiting


async def test_long_bodies_wait_until_there_is_room(bomb):
    held = DecodeBudget()
    tasks = [asyncio.create_task(held.decode(capture(bomb, HTML, GZIP))) for _ in range(5)]
    await asyncio.wait(tasks[:2])
    await settle()
    done = [task.result() for task in tasks if task.done()]
    assert sum(found.reserved_bytes for found in done) == MAX_BUDGET_BYTES
    assert all((len(found.body), found.problem) == (PAYLOAD_LIMIT, TOO_LONG) for found in done)
    assert [task.done() for task in tasks] == [True, True, False, False, False]
    held.release(done[0].reserved_bytes)
    await tasks[2]
    await settle()
    assert [task.done() for task in tasks] == [
        True,
        True,
        True,
        False,
        False,
    ]  # in the order in which they came
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for found in (done[1], tasks[2].result()):
        held.release(found.reserved_bytes)
    assert held.free_bytes == MAX_BUDGET_BYTES


async def test_bytes_that_a_body_does_not_need_are_free_for_others():
    held, body = DecodeBudget(), gzip.compress(bytes(2 * SMALL_BODY_BYTES))
    found = [await held.decode(capture(body, HTML, GZIP)) for _ in range(10)]
    assert (
        held.free_bytes
        == MAX_BUDGET_BYTES - sum(each.reserved_bytes for each in found)
        == MAX_BUDGET_BYTES - 20 * SMALL_BODY_BYTES
    )


async def test_short_and_unencoded_bodies_do_not_wait(bomb):
    held = DecodeBudget()
    for _ in range(2):
        await held.decode(capture(bomb, HTML, GZIP))
    assert held.free_bytes == 0
    for body, headers in (
        (b"<p>a", ()),
        (gzip.compress(b"<p>a"), (GZIP,)),
        (bytes(3 * SMALL_BODY_BYTES), ()),
    ):
        found = await asyncio.wait_for(held.decode(capture(body, HTML, *headers)), 1)
        assert (found.reserved_bytes, found.problem) == (0, None)


async def test_a_task_that_is_cancelled_in_its_turn_releases_its_bytes(bomb):
    held = DecodeBudget()
    first = [await held.decode(capture(bomb, HTML, GZIP)) for _ in range(2)]
    waits = asyncio.create_task(held.decode(capture(bomb, HTML, GZIP)))
    await settle()
    held.release(first[0].reserved_bytes)  # it has its turn, and has not run yet
    waits.cancel()
    with suppress(asyncio.CancelledError):
        await waits
    held.release(first[1].reserved_bytes)
    assert held.free_bytes == MAX_BUDGET_BYTES


async def test_a_context_releases_its_bytes(bomb):
    held = DecodeBudget()
    async with held.hold(capture(bomb, HTML, GZIP)) as body:
        assert (len(body), held.free_bytes) == (PAYLOAD_LIMIT, MAX_BUDGET_BYTES - PAYLOAD_LIMIT)
    assert held.free_bytes == MAX_BUDGET_BYTES


async def test_a_large_body_is_decoded_beside_the_event_loop(bomb, monkeypatch):
    threads = []

    def decoded(payload, encodings, limit):
        threads.append((limit, threading.current_thread()))
        return decode_content(payload, encodings, limit)

    monkeypatch.setattr(thresher.crawler.decode_budget, "decode_content", decoded)
    async with DecodeBudget().hold(capture(bomb, HTML, GZIP)) as body:
        assert len(body) == PAYLOAD_LIMIT
    assert [thread is threading.main_thread() for limit, thread in threads if limit > SMALL_BODY_BYTES] == [
        False
    ]
