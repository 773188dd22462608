"""The client records what the server sent and received, byte for byte, whatever the server does."""

import asyncio
import gzip

import pytest

from tests.crawler.server import Server, page
from thresher.core import Capture, Unavailable
from thresher.crawler.wire import FetchFailure
from thresher.frontier import canonicalize

OK = b"HTTP/1.1 200 OK\r\n"


def sends(*pieces, then="close", between=0.0):
    async def answer(_, writer):
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(between)
        if then == "close":
            writer.close()
        elif then == "reset":
            writer.transport.abort()
        elif then == "hang":
            await asyncio.sleep(20)

    return answer


@pytest.fixture
def fetch(client):
    """GET one page of a server with that answer; return the result and the server."""

    async def fetched(answer, **options):
        async with Server({"/": answer}).serve() as server, client(**options) as http_client:
            return await http_client.get(canonicalize(server.url + "/")), server

    return fetched


WHOLE = {
    "content-length": (page("hello", "X-ODD-case: 1", "x-odd-CASE:2"), b"hello"),
    "chunked": (
        OK + b"Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nTrailer: x\r\n\r\n",
        b"hello!",
    ),
    "gzip": (page(gzip.compress(b"hello"), "Content-Encoding: gzip"), gzip.compress(b"hello")),
    "no body": (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    "no reason": (b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi", b"hi"),
    "unknown status": (b"HTTP/1.1 999 Go away\r\nContent-Length: 2\r\n\r\nhi", b"hi"),
    "bare line feeds": (b"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", b"hi"),
    "a line without colon": (OK + b"nonsense\r\nContent-Length: 2\r\n\r\nhi", b"hi"),
    "latin-1 header": (OK + b"X: \xe9\r\nContent-Length: 2\r\n\r\nhi", b"hi"),
    "thousands of headers": (OK + b"X: y\r\n" * 900 + b"Content-Length: 2\r\n\r\nhi", b"hi"),
    "chunks beside a length": (
        OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        b"abc",
    ),
}


@pytest.mark.parametrize("case", WHOLE)
async def test_bytes_of_both_directions_are_recorded(case, fetch):
    answer, payload = WHOLE[case]
    found, server = await fetch(answer)
    assert found.response == answer
    assert found.request == server.requests[0]
    assert found.payload == payload
    assert found.truncated is None
    assert found.response[: found.head_length].endswith((b"\r\n\r\n", b"\n\n"))
    assert found.peer == "127.0.0.1"


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
async def test_a_body_that_ends_with_the_connection_is_complete(version, fetch):
    found, _ = await fetch(sends(b"HTTP/" + version + b" 200 OK\r\n\r\nhel", b"lo", between=0.01))
    assert (found.payload, found.truncated) == (b"hello", None)


async def test_the_request_has_our_user_agent_and_only_the_usual_headers(fetch):
    found, server = await fetch(page("hi"))
    lines = found.request.decode().split("\r\n")
    assert lines[:3] == [
        "GET / HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        "User-Agent: thresher/test (+mailto:test@example.org)",
    ]
    assert [line.partition(":")[0] for line in lines[3:-2]] == ["Accept", "Accept-Encoding"]
    assert "Accept-Encoding: gzip, deflate" in lines


async def test_the_url_is_sent_as_it_is(client):
    path = "/a%2Fb/%7e//x;y=%zz?q=%41|`&a=+'&&"
    async with Server().serve() as server, client() as http_client:
        found = await http_client.get(canonicalize(server.url + path))
    assert found.request.split(b" ")[1].decode() == canonicalize(server.url + path).wire[len(server.url) :]
    assert found.request.split(b" ")[1].startswith(b"/a%2Fb/%7e//x;y=%zz?q=%41|`")


async def test_connections_are_used_again_and_each_exchange_is_recorded_separately(client):
    async with Server({"/a": page("aaa"), "/b": page("bbbb")}).serve() as server, client() as http_client:
        found = [await http_client.get(canonicalize(server.url + path)) for path in ("/a", "/b", "/a")]
    assert server.connections == 1
    assert [one.payload for one in found] == [b"aaa", b"bbbb", b"aaa"]
    assert [one.request for one in found] == server.requests
    assert [one.response for one in found] == server.sent


async def test_cookies_are_not_sent_back(client):
    async with Server({"/": page("x", "Set-Cookie: a=b; Path=/")}).serve() as server, client() as http_client:
        await http_client.get(canonicalize(server.url))
        await http_client.get(canonicalize(server.url))
    assert b"ookie" not in server.requests[1]


async def test_a_kept_connection_that_was_closed_is_replaced_once(client):
    async with Server({"/": page("x")}).serve() as server, client() as http_client:
        server.close_after.add("/")
        found = [await http_client.get(canonicalize(server.url)) for _ in range(5)]
    assert all(isinstance(one, Capture) and one.response == server.sent[0] for one in found)
    assert len(server.requests) == 5


BROKEN_OFF = {
    "length, known before": (page("x" * 5_000), "length"),
    "length, chunks": (OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 900, "length"),
    "length, one endless chunk extension": (
        sends(OK + b"Transfer-Encoding: chunked\r\n\r\n1;", *[b"x" * 65_536] * 9),
        "length",
    ),
    "time": (sends(page("hello")[:-2], then="hang"), "time"),
    "time, drop by drop": (sends(OK + b"Content-Length: 99\r\n\r\n", *[b"x"] * 99, between=0.05), "time"),
    "disconnect": (sends(page("hello")[:-2]), "disconnect"),
    "disconnect in a chunk": (
        sends(OK + b"Transfer-Encoding: chunked\r\n\r\n9\r\nhal", between=0.05),
        "disconnect",
    ),
    "reset": (sends(page("hello")[:-2], then="reset", between=0.05), "disconnect"),
    "chunks that are none": (OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\nzz\r\n", "unspecified"),
}


@pytest.mark.parametrize("case", BROKEN_OFF)
async def test_an_incomplete_response_is_recorded_with_the_reason(case, fetch):
    answer, why = BROKEN_OFF[case]
    found, _ = await fetch(answer, **({} if why == "time" else {"timeout_s": 20.0}))
    assert found.truncated == why
    assert found.status == 200
    assert len(found.response) - found.head_length <= 1_000
    if isinstance(answer, bytes):
        assert answer.startswith(found.response)


async def test_a_body_of_exactly_the_limit_is_complete(fetch):
    found, _ = await fetch(page("x" * 1_000))
    assert (len(found.payload), found.truncated) == (1_000, None)


async def test_an_endless_body_costs_no_more_than_the_limit(fetch):
    async def endless(_, writer):
        writer.write(OK + b"\r\n")
        while not writer.is_closing():
            writer.write(b"x" * 65_536)
            await writer.drain()

    found, _ = await fetch(endless, max_body=100_000, timeout_s=5)
    assert (len(found.payload), found.truncated) == (100_000, "length")


SILENT = {
    "nothing": (sends(then="hang"), "timeout_first_byte"),
    "half a head": (sends(b"HTTP/1.1 200 OK\r\nConte", then="hang"), "timeout"),
    "closed": (sends(), "reset"),
    "closed in the head": (sends(b"HTTP/1.1 200 OK\r\nConte"), "reset"),
    "not HTTP": (b"SSH-2.0-OpenSSH_9.9\r\n\r\n", "protocol"),
    "an endless head": (sends(OK, *[b"X: " + b"y" * 60_000 + b"\r\n"] * 9), "protocol"),
}


@pytest.mark.parametrize("case", SILENT)
async def test_no_response_is_a_failure_with_a_reason(case, fetch):
    answer, reason = SILENT[case]
    found, _ = await fetch(answer)
    assert isinstance(found, FetchFailure)
    assert found.reason == reason
    assert "\n" not in found.detail


async def test_bytes_behind_a_response_are_never_part_of_the_next_response(client):
    evil = OK + b"Content-Length: 4\r\n\r\nevil"
    for first in (OK + b"Content-Length: 3\r\n\r\nabc" + evil, b"HTTP/1.1 204 No Content\r\n\r\n" + evil):
        async with Server({"/": first, "/next": page("good")}).serve() as server, client() as http_client:
            await http_client.get(canonicalize(server.url + "/"))
            found = await http_client.get(canonicalize(server.url + "/next"))
            assert found.payload == b"good"


async def test_bytes_that_come_between_two_requests_close_the_connection(client):
    async def late(_, writer):
        writer.write(page("abc"))
        await writer.drain()
        await asyncio.sleep(0.1)
        writer.write(OK + b"Content-Length: 4\r\n\r\nevil")
        await writer.drain()

    async with Server({"/": late, "/next": page("good")}).serve() as server, client() as http_client:
        await http_client.get(canonicalize(server.url + "/"))
        await asyncio.sleep(0.2)
        found = await http_client.get(canonicalize(server.url + "/next"))
    assert found.payload == b"good"
    assert server.connections == 2


@pytest.mark.parametrize("headers", [(), ("Connection: close",)])
async def test_each_request_is_reported_before_it_is_sent(client, headers):
    happened = []

    async def answer(reader, writer):
        happened.append("request")
        writer.write(page("x", *headers))
        await writer.drain()

    async with Server({"/": answer}).serve() as server, client(on_request=happened.append) as http_client:
        for _ in range(3):
            assert isinstance(await http_client.get(canonicalize(f"{server.url}/")), Capture)
    assert happened == ["127.0.0.1", "request"] * 3


async def test_nothing_is_sent_if_the_report_of_a_request_raises(client):
    asked = []

    async def answer(reader, writer):
        asked.append("request")

    def refuse(_):
        raise Unavailable("given up")

    async with Server({"/": answer}).serve() as server, client(on_request=refuse) as http_client:
        with pytest.raises(Unavailable):
            await http_client.get(canonicalize(f"{server.url}/"))
    assert not asked


async def test_each_error_of_the_network_has_a_reason(client):
    async with client() as http_client:
        assert (await http_client.get(canonicalize("http://127.0.0.1:1/"))).reason == "refused"
        assert (await http_client.get(canonicalize("http://no-such-host.invalid/"))).reason == "dns"


async def test_a_failed_request_over_a_new_connection_is_not_repeated(client):
    async def hang_up(_, writer):
        writer.close()

    async with Server({"/": hang_up}).serve() as server, client() as http_client:
        assert (await http_client.get(canonicalize(server.url))).reason == "reset"
    assert server.connections == len(server.requests) == 1


async def test_a_post_is_not_repeated(client):
    async with Server({"/": page("x")}).serve() as server, client() as http_client:
        server.close_after.add("/")
        found = await http_client.get(
            canonicalize(server.url), method="POST", body=b"a=b", headers=[("Content-Type", "text/x")]
        )
    assert found.request == server.requests[0] + b"a=b"
    assert server.requests[0].endswith(b"Content-Type: text/x\r\nContent-Length: 3\r\n\r\n")


async def test_headers_of_the_caller_take_the_place_of_ours(client):
    asked = [("accept", "image/*"), ("If-None-Match", '"x"'), ("Host", "evil.test"), ("Connection", "close")]
    async with Server({"/": page("x")}).serve() as server, client() as http_client:
        found = await http_client.get(canonicalize(server.url), headers=asked)
        with pytest.raises(ValueError, match="cannot have the header 'X'"):
            await http_client.get(canonicalize(server.url), headers=[("X", "a\r\nb: c")])
    assert found.request == server.requests[0]
    lines = found.request.decode().split("\r\n")
    assert lines[1] == f"Host: 127.0.0.1:{server.port}"
    assert lines[4:6] == ["accept: image/*", 'If-None-Match: "x"']
    assert not any(line.startswith(("Accept: ", "Connection")) for line in lines)


async def test_a_head_request_waits_for_no_body(client):
    async with Server({"/": OK + b"Content-Length: 5\r\n\r\n"}).serve() as server, client() as http_client:
        found = await http_client.get(canonicalize(server.url), method="HEAD")
    assert (found.payload, found.truncated) == (b"", None)
    assert found.request.startswith(b"HEAD / ")


async def test_limits_may_be_set_for_one_request(client):
    async with (
        Server({"/": page("x" * 500), "/late": sends(then="hang")}).serve() as server,
        client() as http_client,
    ):
        cut = await http_client.get(canonicalize(server.url), max_body=10)
        late = await http_client.get(canonicalize(server.url + "/late"), timeout_s=0.1)
    assert (len(cut.payload), cut.truncated, late.reason) == (10, "length", "timeout_first_byte")


@pytest.mark.parametrize(
    "response",
    [
        page("hello", "X: y"),
        OK + b"Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nTrailer: x\r\n\r\n",
        b"HTTP/1.1 103 Early\r\n\r\n" + OK + b"Content-Length: 1\r\n\r\nx",
    ],
    ids=["length", "chunks", "interim"],
)
async def test_a_response_may_be_cut_at_any_byte(client, response):
    """Each beginning has its own result, at once; only the whole is complete."""
    answers = {f"/{at}": sends(response[:at]) for at in range(len(response) + 1)}
    body = response.rindex(b"HTTP/1.1")
    head_end = response.index(b"\r\n\r\n", body) + 4
    async with Server(answers).serve() as server, client(timeout_s=5) as http_client:
        for at in range(len(response) + 1):
            async with asyncio.timeout(2):
                found = await http_client.get(canonicalize(f"{server.url}/{at}"))
            if at < head_end:
                assert found.reason == "reset"
                continue
            assert found.response == response[body:at]
            whole = at == len(response) or b"\r\n0\r\n" in response[:at]
            assert found.truncated == (None if whole else "disconnect")


async def test_broken_chunks_end_with_a_silence(fetch):
    found, _ = await fetch(
        sends(
            OK + b"Transfer-Encoding: chunked\r\n\r\n<html>",
            b"no chunks\n",
            b"at all",
            between=0.1,
            then="hang",
        ),
        timeout_s=5,
    )
    assert (found.payload, found.truncated) == (b"<html>no chunks\nat all", "unspecified")


async def test_each_part_of_an_exchange_is_timed(client, names):
    names["a.test"] = ["127.0.0.1"]

    async def answer(request, writer):
        await asyncio.sleep(0.1)
        writer.write(page("x"))

    async with (
        Server({"/": answer}).serve() as server,
        client(nameservers=names.servers) as http_client,
    ):
        found = [await http_client.get(canonicalize(f"http://a.test:{server.port}/")) for _ in range(2)]
    assert found[0].timing.connect_ms is not None
    assert (found[1].timing.connect_ms, found[1].timing.tls_ms) == (None, None)
    assert all(one.timing.first_byte_ms >= 90 and one.timing.dns_ms is not None for one in found)
    assert [one.protocol for one in found] == ["http/1.1"] * 2


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
async def test_the_protocol_is_what_the_server_speaks(fetch, version):
    found, _ = await fetch(b"HTTP/" + version + b" 200 OK\r\nContent-Length: 0\r\n\r\n")
    assert found.protocol == f"http/{version.decode()}"


async def test_idle_connections_are_bounded_and_closed_after_a_while(client, monkeypatch):
    monkeypatch.setattr("thresher.crawler.wire.http.pool.KEEP_ALIVE_S", 0.1)
    monkeypatch.setattr("thresher.crawler.wire.http.pool.MAX_IDLE", 2)
    async with client() as http_client:
        for address in ("127.0.0.1", "127.0.0.2", "127.0.0.3"):
            async with Server({"/": page("x")}, address=address).serve() as server:
                await http_client.get(canonicalize(server.url))
                assert len(http_client._pool) <= 2
        async with Server({"/": page("x")}).serve() as server:
            await http_client.get(canonicalize(server.url))
            assert len(http_client._pool) >= 1
            await asyncio.sleep(0.3)
            assert len(http_client._pool) == 0
