"""What a page asks for is fetched by our client, once where once will do, and within bounds."""

import asyncio
from dataclasses import replace

import pytest

from crawler.decoded import DecodedBytes
from crawler.render import parts as module
from crawler.render.kept import MOST_ONE, Kept
from crawler.render.parts import Hosts, Parts
from crawler.wire import Client, at_once, networks
from frontier import canonical
from tests.crawler.server import Server, page, redirect

FOREVER = 3_600.0


class Asked:
    """The parts of one page of a server."""

    def __init__(self, server, client, *, enter=None, kept=None, seconds=FOREVER, hosts=None):
        self.server = server
        self.parts = Parts(
            client,
            origin=server.url,
            enter=enter or (lambda _: at_once),
            allowed=self.allowed,
            hosts=hosts if hosts is not None else Hosts(),
            kept=Kept(lambda: 0) if kept is None else kept,
            decoded=DecodedBytes(),
            until=asyncio.get_running_loop().time() + seconds,
        )

    async def allowed(self, url):
        return "private" not in url.text

    async def get(self, path, *, kind="fetch", headers=(), method="GET"):
        found = await self.parts.fetch(self.server.url + path, method=method, headers=headers, kind=kind)
        return found if isinstance(found, str) else found.payload


@pytest.fixture
async def client():
    made = Client(user_agent="test", max_body=1 << 20, timeout_s=5, allow=networks(("127.0.0.1/32",)))
    yield made
    await made.close()


async def test_the_headers_of_the_page_go_with_the_request(client):
    async with Server({"/a": page("x")}).serve() as server:
        assert await Asked(server, client).get("/a", headers=[("x-token", "7"), ("accept", "text/x")]) == b"x"
        assert b"\r\nx-token: 7\r\n" in server.requests[0].lower()
        assert server.requests[0].lower().count(b"\r\naccept: ") == 1


async def test_redirects_are_followed_each_hop_a_part_and_not_for_ever(client):
    async with Server(
        {"/a": redirect("/b"), "/b": page("b"), "/round": redirect("/round")}
    ).serve() as server:
        asked = Asked(server, client)
        assert [await asked.get(path) for path in ("/a", "/round")] == [b"b", "too_many_hops"]
        assert [part.capture.status for part in asked.parts.fetched] == [301, 200, *[301] * 6]


async def test_robots_and_the_guard_are_asked_on_every_hop(client):
    answers = {
        "/a": redirect("/private"),
        "/b": redirect("http://127.9.9.9/"),
        "/c": redirect("file:///etc/passwd"),
    }
    async with Server(answers).serve() as server:
        asked = Asked(server, client)
        found = [await asked.get(path) for path in ("/private", "/a", "/b", "/c")]
        assert found == ["robots", "robots", "address_blocked", "bad_url"]
        assert "/private" not in server.paths


async def test_a_host_is_asked_one_thing_at_a_time_by_all_pages(client):
    under_way, most = 0, 0

    async def slowly(_, writer):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.02)
        under_way -= 1
        writer.write(page("x"))

    async with Server({f"/{n}": slowly for n in range(6)}).serve() as server:
        hosts = Hosts()
        pages = [Asked(server, client, hosts=hosts) for _ in range(2)]
        await asyncio.gather(*(pages[n % 2].get(f"/{n}") for n in range(6)))
    assert most == 1


async def test_the_turn_of_an_address_is_waited_for_if_it_is_near(client):
    told = []

    def enter(waited):
        async def ask(_):
            told.append(waited)
            return 0 if waited else wait_ms

        return ask

    async with Server({"/a": page("a")}).serve() as server:
        wait_ms = 20
        assert await Asked(server, client, enter=enter).get("/a") == b"a"
        wait_ms = 60_000
        assert await Asked(server, client, enter=enter).get("/a") == "not_its_turn"
    assert told == [False, True, False]


async def test_a_page_has_so_many_parts_and_bytes_and_asks_for_one_thing_so_often(client, monkeypatch):
    monkeypatch.setattr(module, "MOST_PARTS", 4)
    async with Server({f"/{n}": page("x") for n in range(9)}).serve() as server:
        asked = Asked(server, client)
        assert [await asked.get("/0") for _ in range(4)] == [b"x", b"x", b"x", "repeated"]
        assert [await asked.get(f"/{n}") for n in (1, 2)] == [b"x", "too_many"]
        monkeypatch.setattr(module, "MOST_BYTES", 150)
        asked = Asked(server, client)
        found = [await asked.get(f"/{n}") for n in (1, 2, 3)]
        assert (found[0], found[-1]) == (b"x", "too_large")


async def test_nobody_there_is_a_reason_and_so_is_a_deadline(client):
    async with Server({"/a": page("a")}).serve() as server:
        late = Asked(server, client, seconds=-1)
        assert await late.get("/a") == "late"
    assert await Asked(server, client).get("/a") == "unreachable"


def answered(capture, *headers, status=200):
    return replace(capture, headers=tuple(headers), status=status)


@pytest.fixture
async def capture(client):
    async with Server({"/a": page("x")}).serve() as server:
        return await client.get(canonical(server.url + "/a"))


@pytest.mark.parametrize(
    ("headers", "kind", "fresh_s"),
    [
        ([], "script", 600),
        ([], "stylesheet", 600),
        ([], "fetch", 0),
        ([("Cache-Control", "public, max-age=60")], "fetch", 60),
        ([("Cache-Control", "max-age=31536000, immutable")], "script", 3_600),
        ([("Cache-Control", "max-age=0")], "script", 0),
        ([("Cache-Control", "no-store")], "script", 0),
        ([("Cache-Control", "private, max-age=60")], "script", 0),
        ([("Vary", "Accept-Encoding, Origin")], "script", 600),
        ([("Vary", "Cookie")], "script", 0),
        ([("Set-Cookie", "a=b")], "script", 0),
    ],
)
async def test_an_answer_is_used_again_for_as_long_as_it_is_fresh(capture, headers, kind, fresh_s):
    now = 0
    kept = Kept(lambda: now)
    kept.put("u", [], answered(capture, *headers), kind)
    assert (kept.get("u", []) is not None) is (fresh_s > 0)
    now = fresh_s * 1000
    assert kept.get("u", []) is None


async def test_what_is_personal_broken_or_huge_is_not_kept_and_the_least_used_goes_first(
    capture, monkeypatch
):
    kept = Kept(lambda: 0)
    kept.put("a", [("Cookie", "x")], capture, "script")
    kept.put("b", [], answered(capture, status=404), "script")
    kept.put("c", [], replace(capture, truncated="time"), "script")
    kept.put("d", [], replace(capture, response=b"x" * (MOST_ONE + 1)), "script")
    assert len(kept) == 0
    size = len(capture.request) + len(capture.response) + len(capture.payload)
    monkeypatch.setattr("crawler.render.kept.MOST_BYTES", 2 * size)
    for url in ("a", "b"):
        kept.put(url, [], capture, "script")
    kept.get("a", [])
    kept.put("c", [], capture, "script")
    assert [kept.get(url, []) is not None for url in "abc"] == [True, False, True]
    assert kept.get("a", [("authorization", "x")]) is None


async def test_a_part_that_is_kept_is_not_asked_for_again(client):
    async with Server({"/a.js": page("x", kind="text/javascript")}).serve() as server:
        kept = Kept(lambda: 0)
        first, second = (Asked(server, client, kept=kept) for _ in range(2))
        assert [await one.get("/a.js", kind="script") for one in (first, second)] == [b"x", b"x"]
        assert [len(one.parts.fetched) for one in (first, second)] == [1, 0]
        assert server.paths == {"/a.js": 1}
