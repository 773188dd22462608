"""The client speaks h2 if the server can, records it in the syntax of HTTP/1.1, and gives it up if it breaks."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from h2.errors import ErrorCodes
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    HeadersFrame,
    PingFrame,
    PushPromiseFrame,
    SettingsFrame,
)

from tests.crawler.h2server import H2Server
from tests.crawler.server import page
from thresher.core import Capture
from thresher.frontier import canonicalize

HEAD = [
    (b":status", b"200"),
    (b"Content-Type", b"text/html"),
    (b"x-Odd", b"caf\xe9"),
    (b"set-cookie", b"a=b"),
    (b"set-cookie", b"c=d"),
]


@asynccontextmanager
async def served(authority, answers, plain=None):
    server = H2Server(answers, plain)
    context = authority.server("localhost", alpn=("h2", "http/1.1"))
    async with server.over(context):
        yield server, canonicalize(f"https://localhost:{server.port}/")


async def test_an_exchange_is_recorded_in_the_syntax_of_http_1_1(authority, client):
    async with (
        served(authority, {"/?q=1": (HEAD, b"hello")}) as (server, url),
        client(tls=authority.trust) as http_client,
    ):
        found = await http_client.get(canonicalize(url.text + "?q=1"))
    lines = found.request.decode().split("\r\n")
    assert lines[:2] == ["GET /?q=1 HTTP/1.1", f"host: localhost:{server.port}"]
    sent = [(name, value) for name, value in server.asked[0] if not name.startswith(":")]
    assert [tuple(line.split(": ", 1)) for line in lines[2:-2]] == sent
    assert found.response == (
        b"HTTP/1.1 200 \r\ncontent-type: text/html\r\nx-odd: caf\xe9\r\nset-cookie: a=b\r\nset-cookie: c=d\r\n\r\nhello"
    )
    assert found.response[found.head_length :] == found.payload == b"hello"
    assert (found.status, found.protocol, found.truncated) == (200, "h2", None)
    assert found.header("X-Odd") == "caf\xe9"
    assert found.tls.trust == "trusted"


async def test_a_connection_is_used_for_one_exchange_after_the_other(authority, client):
    answers = {f"/{n}": (HEAD, b"x" * n * 100_000) for n in range(4)}
    async with (
        served(authority, answers) as (server, url),
        client(tls=authority.trust, max_body=10**6, timeout_s=5) as http_client,
    ):
        found = [await http_client.get(canonicalize(f"{url.text}{n}")) for n in range(4)]
    assert [len(one.payload) for one in found] == [0, 100_000, 200_000, 300_000]
    assert server.connections_of_h2 == 1
    assert (found[0].timing.connect_ms is None, found[3].timing.connect_ms is None) == (False, True)


async def test_a_body_is_cut_at_the_limit(authority, client):
    async with (
        served(authority, {"/": (HEAD, b"x" * 60_000)}) as (_, url),
        client(tls=authority.trust, max_body=1_000) as http_client,
    ):
        found = await http_client.get(url)
    assert (len(found.payload), found.truncated) == (1_000, "length")


async def test_a_posted_body_arrives_with_its_headers(authority, client):
    async with (
        served(authority, {"/": (HEAD, b"")}) as (server, url),
        client(tls=authority.trust) as http_client,
    ):
        found = await http_client.get(
            url, method="POST", body=b"a=b", headers=[("Content-Type", "text/x"), ("Host", "evil")]
        )
    assert found.request.endswith(b"content-type: text/x\r\ncontent-length: 3\r\n\r\na=b")
    assert dict(server.asked[0])[":method"] == "POST"
    assert b"evil" not in found.request


async def test_interim_responses_and_trailers_are_not_recorded(authority, client):
    async def answer(connection, stream, _):
        connection.send_headers(stream, [(":status", "103"), ("link", "x")])
        connection.send_headers(stream, HEAD)
        connection.send_data(stream, b"hi")
        connection.send_headers(stream, [("checksum", "1")], end_stream=True)

    async with served(authority, {"/": answer}) as (_, url), client(tls=authority.trust) as http_client:
        found = await http_client.get(url)
    assert (found.payload, found.truncated) == (b"hi", None)
    assert b"link" not in found.response
    assert b"checksum" not in found.response


def raw(*frames, then=b""):
    async def answer(_, stream, writer):
        for frame in frames:
            made = frame(stream) if callable(frame) else frame
            writer.write(made if isinstance(made, bytes) else made.serialize())
        writer.write(then)
        await writer.drain()

    return answer


async def goaway(connection, _, writer):
    connection.close_connection(ErrorCodes.ENHANCE_YOUR_CALM, last_stream_id=0)
    writer.write(connection.data_to_send())
    writer.close()


async def reset(connection, stream, _):
    connection.reset_stream(stream, ErrorCodes.HTTP_1_1_REQUIRED)


async def hang_up(_, __, writer):
    writer.transport.abort()


async def without_a_status(connection, stream, writer):
    writer.write(
        HeadersFrame(
            stream, connection.encoder.encode([("x", "y")]), flags=["END_HEADERS", "END_STREAM"]
        ).serialize()
    )


async def line_break(connection, stream, writer):
    block = connection.encoder.encode([(":status", "200"), ("x", "y\r\nset-cookie: z")])
    writer.write(HeadersFrame(stream, block, flags=["END_HEADERS", "END_STREAM"]).serialize())


BREAKS = {
    "GOAWAY": goaway,
    "RST_STREAM": reset,
    "the end of the connection": hang_up,
    "no status": without_a_status,
    "a line break in a header": line_break,
    "HTTP/1.1 in spite of ALPN": raw(page("plain")),
    "a flood of PING": raw(*[PingFrame(0, b"12345678")] * 3_000),
    "a flood of SETTINGS": raw(*[SettingsFrame(0, {1: 4096})] * 3_000),
    "huge SETTINGS": raw(SettingsFrame(0, dict.fromkeys(range(100, 5_000), 1))),
    "a flood of empty DATA": raw(*[DataFrame] * 3_000),
    "a flood of CONTINUATION": raw(
        lambda stream: HeadersFrame(stream, b"\x88"),
        *[lambda stream: ContinuationFrame(stream, b"\x88")] * 300,
    ),
    "PUSH_PROMISE": raw(lambda stream: PushPromiseFrame(stream, 2, b"\x88", flags=["END_HEADERS"])),
    "a header block that is none": raw(
        lambda stream: HeadersFrame(stream, b"\xff" * 99, flags=["END_HEADERS"])
    ),
    "a frame too large": b"\xff\xff\xff\x00\x00\x00\x00\x00\x01" + b"x" * 9_000,
}


@pytest.mark.parametrize("case", BREAKS)
async def test_a_server_that_breaks_h2_is_requested_in_http_1_1_from_then_on(authority, client, case):
    answer = BREAKS[case] if callable(BREAKS[case]) else raw(BREAKS[case])
    plain = {"/": page("plain"), "/next": page("next")}
    async with (
        served(authority, {"/": answer, "/next": (HEAD, b"h2")}, plain) as (server, url),
        client(tls=authority.trust, timeout_s=5) as http_client,
    ):
        found = [await http_client.get(url), await http_client.get(canonicalize(url.text + "next"))]
    assert [(one.payload, one.protocol) for one in found] == [(b"plain", "http/1.1"), (b"next", "http/1.1")]
    assert server.connections_of_h2 == 1
    assert len(server.asked) == 1


async def test_a_kept_connection_that_says_goodbye_is_replaced(authority, client):
    async def last(connection, stream, writer):
        connection.send_headers(stream, HEAD, end_stream=True)
        writer.write(connection.data_to_send())
        writer.close()

    async with served(authority, {"/": last}) as (server, url), client(tls=authority.trust) as http_client:
        found = []
        for _ in range(3):
            found.append(await http_client.get(url))
            await asyncio.sleep(0.02)
    assert all(isinstance(one, Capture) and one.protocol == "h2" for one in found)
    assert server.connections_of_h2 == len(server.asked) == 3


@pytest.mark.parametrize(
    ("then", "truncated"),
    [
        (
            lambda connection, stream, _: connection.reset_stream(stream, ErrorCodes.INTERNAL_ERROR),
            "disconnect",
        ),
        (lambda _, __, writer: writer.close(), "disconnect"),
        (lambda *_: None, "time"),
    ],
)
async def test_an_incomplete_response_is_recorded_with_the_reason(authority, client, then, truncated):
    async def answer(connection, stream, writer):
        connection.send_headers(stream, HEAD)
        connection.send_data(stream, b"half")
        writer.write(connection.data_to_send())
        await writer.drain()
        await asyncio.sleep(0.05)
        then(connection, stream, writer)

    async with served(authority, {"/": answer}) as (server, url), client(tls=authority.trust) as http_client:
        found = await http_client.get(url)
    assert (found.payload, found.truncated) == (b"half", truncated)
    assert server.requests == []


async def test_a_stream_without_a_response_times_out(authority, client):
    async with served(authority, {"/": raw()}) as (server, url), client(tls=authority.trust) as http_client:
        found = await http_client.get(url)
    assert found.reason == "timeout_first_byte"
    assert len(server.asked) == 1
    assert server.requests == []
