"""Our client fetches the subresources that a page requests, once if once is enough, and within bounds."""

import asyncio
from dataclasses import replace

import pytest

from tests.crawler.flat_settings import wire_client
from tests.crawler.render.browser_thread import UnlimitedPageLease
from tests.crawler.server import Server, page, redirect
from thresher.core import Capture
from thresher.crawler.decode_budget import DecodeBudget
from thresher.crawler.subresources import subresource_fetcher as module
from thresher.crawler.subresources.subresource_cache import MAX_ENTRY_BYTES, SubresourceCache
from thresher.crawler.subresources.subresource_fetcher import (
    MAX_REDIRECTS,
    HostLocks,
    SubresourceFetcher,
    SubresourceRequest,
)
from thresher.crawler.subresources.subresource_robots import Permission
from thresher.crawler.wire import WireSettings
from thresher.frontier import canonicalize

FOREVER = 3_600.0
PAGE = Capture(
    url=canonicalize("http://example.org/"),
    request=b"",
    response=b"HTTP/1.1 200 OK\r\n\r\n",
    head_length=19,
    status=200,
    headers=(),
    payload=b"",
    started_ms=0,
    elapsed_ms=0,
    peer="",
    truncated=None,
)


class Asked:
    """The subresources of one page of a server."""

    def __init__(
        self, server, client, *, lease=None, kept=None, seconds=FOREVER, hosts=None, peer="127.0.0.1"
    ):
        self.server = server
        url = canonicalize(server.url + "/")
        self.parts = SubresourceFetcher(
            client,
            page=replace(PAGE, url=url, peer=peer),
            lease=lease or UnlimitedPageLease(forbidden=("private",)),  # type: ignore[arg-type]
            host_locks=hosts if hosts is not None else HostLocks(),
            cache=SubresourceCache(lambda: 0) if kept is None else kept,
            decode_budget=DecodeBudget(),
            deadline=asyncio.get_running_loop().time() + seconds,
            wire=WireSettings(timeout=seconds, max_body=module.MAX_BYTES),
        )

    async def get(self, path, *, kind="xhr", headers=None, method="GET", hops=0, left_site=False):
        url = path if "://" in path else self.server.url + path
        wanted = SubresourceRequest(
            url=url, method=method, headers=headers or {}, kind=kind, hops=hops, has_left_site=left_site
        )
        found = await self.parts.fetch(wanted)
        return found if isinstance(found, str) else found.payload


@pytest.fixture
async def client():
    made = wire_client("test", max_body=1 << 20, timeout=5, allow_networks=("127.0.0.1/32",))
    yield made
    await made.close()


async def test_the_headers_of_the_page_go_with_the_request(client):
    async with Server({"/a": page("x")}).serve() as server:
        assert await Asked(server, client).get("/a", headers={"x-token": "7", "accept": "text/x"}) == b"x"
        assert b"\r\nx-token: 7\r\n" in server.requests[0].lower()
        assert server.requests[0].lower().count(b"\r\naccept: ") == 1


async def test_a_redirect_is_passed_on_up_to_a_number_of_hops(client):
    async with Server({"/a": redirect("/b"), "/b": page("b")}).serve() as server:
        asked = Asked(server, client)
        assert [await asked.get("/a"), await asked.get("/b", hops=MAX_REDIRECTS)] == [b"", b"b"]
        assert await asked.get("/b", hops=MAX_REDIRECTS + 1) == "too_many_hops"
        assert [part.capture.status for part in asked.parts.subresources] == [301, 200]


async def test_robots_rules_and_guard_apply_to_every_subresource(client):
    async with Server({}).serve() as server:
        asked = Asked(server, client)
        found = [
            await asked.get(url)
            for url in ("/private", "http://127.9.9.9/", "http:///", "file:///etc/passwd")
        ]
        assert found == ["robots", "address_blocked", "bad_url", "bad_url"]
        assert not server.paths


@pytest.mark.parametrize(
    ("peer", "found"),
    [
        ("127.0.0.1", b"x"),
        ("::ffff:127.0.0.1", b"x"),
        ("93.184.216.34", "address_blocked"),
        ("10.0.0.1", "address_blocked"),
        ("", "address_blocked"),
    ],
)
async def test_a_private_network_is_for_pages_of_that_network(client, peer, found):
    async with Server({"/a": page("x")}).serve() as server:
        assert await Asked(server, client, peer=peer).get("/a") == found
        assert server.connections == (found == b"x")


async def test_a_response_from_a_private_network_is_not_cached_for_the_open_web(client):
    async with Server({"/a.js": page("x", kind="text/javascript")}).serve() as server:
        kept = SubresourceCache(lambda: 0)
        found = [
            await Asked(server, client, kept=kept, peer=peer).get("/a.js", kind="script")
            for peer in ("127.0.0.1", "93.184.216.34")
        ]
        assert found == [b"x", "address_blocked"]


async def test_a_public_script_is_cached_for_all_sites_and_a_fetched_response_for_one(client, capture):
    kept = SubresourceCache(lambda: 0)
    async with Server({}).serve() as server:
        url = f"{server.url}/a.js"
        kept.put(url, [], capture, "script")
        asked = Asked(server, client, kept=kept, peer="93.184.216.34")
        assert [await asked.get(url, kind=kind) for kind in ("script", "xhr")] == [b"x", "address_blocked"]


async def test_all_pages_together_send_one_request_at_a_time_to_a_host(client):
    under_way, most = 0, 0

    async def slowly(_, writer):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.02)
        under_way -= 1
        writer.write(page("x"))

    async with Server({f"/{n}": slowly for n in range(6)}).serve() as server:
        hosts = HostLocks()
        pages = [Asked(server, client, hosts=hosts) for _ in range(2)]
        await asyncio.gather(*(pages[n % 2].get(f"/{n}") for n in range(6)))
    assert most == 1


async def test_a_fetch_waits_for_an_addresss_turn_if_it_is_near(client):
    told = []

    class Hurried(UnlimitedPageLease):
        def acquire(self, *, has_waited):
            async def ask(_):
                told.append(has_waited)
                return 0 if has_waited else wait_ms

            return ask

    async with Server({"/a": page("a")}).serve() as server:
        wait_ms = 20
        assert await Asked(server, client, lease=Hurried()).get("/a") == b"a"
        wait_ms = 60_000
        assert await Asked(server, client, lease=Hurried()).get("/a") == "not_its_turn"
    assert told == [False, True, False]


async def test_a_fetch_waits_for_a_hosts_turn_if_it_comes_in_time(client):
    class Line(UnlimitedPageLease):
        def __init__(self, wait_ms):
            super().__init__()
            self.wait_ms, self.told = wait_ms, []

        async def permission(self, url, fetch):
            return Permission(delay_ms=7)

        async def reserve_turn(self, host, *, delay_ms, max_wait_ms, may_burst):
            self.told.append((host, delay_ms, max_wait_ms))
            return self.wait_ms

        async def end_turn(self, host, *, delay_ms, answer=None):
            self.told.append((host, delay_ms))

    near, far = Line(20), Line(100_000)
    async with Server({"/a": page("a")}).serve() as server:
        assert await Asked(server, client, lease=near, seconds=100).get("/a") == b"a"
        assert await Asked(server, client, lease=far, seconds=100).get("/a") == "not_its_turn"
        assert server.paths == {"/a": 1}
    (turn, left), (refused,) = near.told, far.told
    assert (turn[:2], left) == (("127.0.0.1", 7), ("127.0.0.1", 7))
    assert turn[2] == pytest.approx(80_000, abs=2_000)  # the last fifth is the page's, to use what arrived
    assert refused[:2] == ("127.0.0.1", 7)


async def test_a_wait_for_a_hosts_turn_does_not_block_a_page_of_that_host(client):
    class Far(UnlimitedPageLease):
        async def reserve_turn(self, host, *, delay_ms, max_wait_ms, may_burst):
            return 2_000

    class Own(UnlimitedPageLease):
        def holds(self, host):
            return True

    hosts = HostLocks()
    async with Server({f"/{n}": page("x") for n in range(4)}).serve() as server:
        other = asyncio.create_task(Asked(server, client, lease=Far(), hosts=hosts).get("/0"))
        await asyncio.sleep(0.01)
        async with asyncio.timeout(1):
            own = Asked(server, client, lease=Own(), hosts=hosts)
            assert await asyncio.gather(*(own.get(f"/{n}") for n in (1, 2, 3))) == [b"x"] * 3
        assert not other.done()
        other.cancel()


async def test_after_enough_bytes_the_pages_own_host_gives_no_burst(client, monkeypatch):
    told = []

    class Own(UnlimitedPageLease):
        async def reserve_turn(self, host, *, delay_ms, max_wait_ms, may_burst):
            told.append(may_burst)
            return 0

    monkeypatch.setattr(module, "BURST_BYTES", 150)
    async with Server({f"/{n}": page("x" * 50) for n in range(4)}).serve() as server:
        asked = Asked(server, client, lease=Own())
        for n in range(4):
            await asked.get(f"/{n}")
    assert told == [True, True, False, False]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (page("x", "Retry-After: 7", status="429 Too Many Requests"), ("status_429", 7_000)),
        (page("x", status="503 Service Unavailable"), ("status_503", 0)),
        (page("x", status="500 Internal Server Error"), None),
        (page("x"), None),
    ],
)
async def test_a_host_that_is_too_busy_is_reported(client, answer, expected):
    told = []

    class Noting(UnlimitedPageLease):
        async def end_turn(self, host, *, delay_ms, answer=None):
            told.append(answer and (answer.reason, answer.hold_ms))

    async with Server({"/a": answer}).serve() as server:
        assert await Asked(server, client, lease=Noting()).get("/a") == b"x"
    assert told == [expected]


async def test_a_page_has_limits_of_subresources_bytes_and_repetitions(client, monkeypatch):
    monkeypatch.setattr(module, "MAX_EXCHANGES", 4)
    async with Server({f"/{n}": page("x") for n in range(9)}).serve() as server:
        asked = Asked(server, client)
        assert [await asked.get("/0") for _ in range(4)] == [b"x", b"x", b"x", "repeated"]
        assert [await asked.get(f"/{n}") for n in (1, 2)] == [b"x", "too_many"]
        monkeypatch.setattr(module, "MAX_BYTES", 150)
        asked = Asked(server, client)
        found = [await asked.get(f"/{n}") for n in (1, 2, 3)]
        assert (found[0], found[-1]) == (b"x", "too_large")


async def test_a_missing_server_is_a_reason_and_so_is_a_deadline(client):
    async with Server({"/a": page("a")}).serve() as server:
        late = Asked(server, client, seconds=-1)
        assert await late.get("/a") == "late"
    assert await Asked(server, client).get("/a") == "unreachable"


def answered(capture, *headers, status=200):
    return replace(capture, headers=tuple(headers), status=status)


@pytest.fixture
async def capture(client):
    async with Server({"/a": page("x")}).serve() as server:
        return await client.get(canonicalize(server.url + "/a"))


@pytest.mark.parametrize(
    ("headers", "kind", "fresh_s"),
    [
        ([], "script", 600),
        ([], "stylesheet", 600),
        ([], "xhr", 0),
        ([("Cache-Control", "public, max-age=60")], "xhr", 60),
        ([("Cache-Control", "max-age=31536000, immutable")], "script", 3_600),
        ([("Cache-Control", "max-age=0")], "script", 0),
        ([("Cache-Control", "no-store")], "script", 0),
        ([("Cache-Control", "private, max-age=60")], "script", 0),
        ([("Vary", "Accept-Encoding, Origin")], "script", 600),
        ([("Vary", "Cookie")], "script", 0),
        ([("Set-Cookie", "a=b")], "script", 0),
    ],
)
async def test_a_cached_response_is_used_as_long_as_it_is_fresh(capture, headers, kind, fresh_s):
    now = 0
    kept = SubresourceCache(lambda: now)
    kept.put("u", [], answered(capture, *headers), kind)
    assert (kept.get("u", []) is not None) is (fresh_s > 0)
    now = fresh_s * 1000
    assert kept.get("u", []) is None


async def test_personal_broken_or_huge_responses_are_not_cached_and_the_least_recently_used_is_evicted_first(
    capture, monkeypatch
):
    kept = SubresourceCache(lambda: 0)
    kept.put("a", [("Cookie", "x")], capture, "script")
    kept.put("b", [], answered(capture, status=404), "script")
    kept.put("c", [], replace(capture, truncated="time"), "script")
    kept.put("d", [], replace(capture, response=b"x" * (MAX_ENTRY_BYTES + 1)), "script")
    assert len(kept) == 0
    size = len(capture.request) + len(capture.response) + len(capture.payload)
    monkeypatch.setattr("thresher.crawler.subresources.subresource_cache.MAX_BYTES", 2 * size)
    for url in ("a", "b"):
        kept.put(url, [], capture, "script")
    kept.get("a", [])
    kept.put("c", [], capture, "script")
    assert [kept.get(url, []) is not None for url in "abc"] == [True, False, True]
    assert kept.get("a", [("authorization", "x")]) is None


async def test_a_cached_subresource_is_not_requested_again(client):
    async with Server({"/a.js": page("x", kind="text/javascript")}).serve() as server:
        kept = SubresourceCache(lambda: 0)
        first, second = (Asked(server, client, kept=kept, peer="127.0.0.1") for _ in range(2))
        assert [await one.get("/a.js", kind="script") for one in (first, second)] == [b"x", b"x"]
        assert [len(one.parts.subresources) for one in (first, second)] == [1, 0]
        assert server.paths == {"/a.js": 1}
