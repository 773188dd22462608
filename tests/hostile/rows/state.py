"""Rows 51 to 55: cookies, validators, digests, streams."""

import asyncio

from tests.crawler.server import page
from tests.hostile.host import Exchange
from tests.hostile.rows.framing import then_close
from tests.hostile.rows.row import Row, WebAddress


def no_cookie(seen):
    assert not [one.raw for one in seen.host.log if one.header("cookie")]


def cookies() -> list[Row]:
    def row(name, *cookies):
        lines = [f"Set-Cookie: {cookie}" for cookie in cookies]
        return Row(
            number=51,
            name=name,
            answers={"/bad": page("cookies", *lines), "/after-1": page("one"), "/after-2": page("two")},
            kept={"/bad": None},
            extra_check=no_cookie,
        )

    return [
        row("a cookie", "a=b; Path=/"),
        row("two thousand cookies", *(f"c{number}=v; Path=/" for number in range(2_000))),
        row("a cookie of 60 KB", "a=" + "b" * 60_000),
        row("cookies of others", "a=b; Domain=example.com", "__Host-a=b", "a=b; Domain=127.0.0.1", "=;;;"),
    ]


def unconditional(seen):
    """Check that every revisit record refers to a response record that exists."""
    ids = {record.id for record in seen.records if record.type == "response"}
    for record in seen.records:
        if record.type == "revisit":
            assert record.get("WARC-Refers-To") in ids, record.head


def same_bytes(seen):
    one, two = (seen.payload_digests(path) for path in ("/same-1", "/same-2"))
    assert one
    assert one == two, (one, two)
    unconditional(seen)


def streams() -> list[Row]:
    async def events(exchange: Exchange):
        await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        for number in range(1_000):
            await exchange.send(f"data: {number}\n\n".encode())
            await asyncio.sleep(0.1)

    part = (
        b"HTTP/1.1 206 Partial Content\r\nContent-Type: video/mp4\r\n"
        b"Content-Range: bytes 0-4/5000\r\nContent-Length: 5\r\n\r\nmovie"
    )
    multi = page(
        "--x\r\n\r\none\r\n--x--", status="206 Partial Content", kind="multipart/byteranges; boundary=x"
    )
    upgrade = (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x05hello"
    )
    return [
        Row(
            number=55,
            name="server-sent events",
            answers={"/bad": events},
            ended={"/bad": "*:*"},
            kept={"/bad": "time"},
        ),
        Row(
            number=55,
            name="206 that nobody asked for",
            answers={"/bad": part},
            kept={"/bad": None},
            ended={"/bad": "*:status_206"},
        ),
        Row(number=55, name="206 of several parts", answers={"/bad": multi}, kept={"/bad": None}),
        Row(
            number=55,
            name="a WebSocket",
            answers={"/bad": then_close(upgrade)},
            ended={"/bad": "*:*"},
            asked={"/bad": (1, 3)},
        ),
    ]


def rows(_: WebAddress) -> list[Row]:
    same = page("the very same bytes " * 50)
    return [
        *cookies(),
        Row(
            number=52,
            name="304 without a copy",
            answers={"/bad": b'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n'},
            ended={"/bad": "*:*"},
            asked={"/bad": (1, 3)},
            extra_check=unconditional,
        ),
        Row(
            number=52,
            name="validators that are strange",
            answers={
                "/bad": page(
                    "x", 'ETag: W/"\x01"', "ETag: unquoted", "Last-Modified: Fri, 31 Feb 2999 25:00:00 GMT"
                )
            },
            kept={"/bad": None},
        ),
        Row(
            number=53,
            name="the same bytes under two names",
            answers={"/same-1": same, "/same-2": same},
            extra_check=same_bytes,
        ),
        *streams(),
    ]
