"""Rows 20 to 22 and 30: responses that never come or never end, and connections that go away."""

import asyncio

from tests.crawler.server import page
from tests.hostile.host import Exchange, send
from tests.hostile.rows.row import ABSENT, Row, WebAddress

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
TIMEOUT = "failed:timeout*"
MOST = 100 << 20
"""Bytes that an endless response may send before it is certain that the client does not stop it."""


async def silence(exchange: Exchange):
    await exchange.wait_closed()


def drip(before: bytes, piece: bytes, pause: float):
    async def answer(exchange: Exchange):
        await exchange.send(before)
        for _ in range(600):
            await exchange.send(piece)
            await asyncio.sleep(pause)

    return answer


def flood(before: bytes, piece: bytes):
    async def answer(exchange: Exchange):
        exchange.sent = bytearray()
        await send(exchange.writer, before)
        sent = len(before)
        while sent < MOST:
            await send(exchange.writer, piece)
            sent += len(piece)
            if len(exchange.sent) < (4 << 20):
                exchange.sent += before * (not exchange.sent) + piece
        exchange.sent += b"--nobody minded--"

    return answer


def client_closed(path):
    """Return a check that the client closed the connection long before the server gave up."""

    def judge(seen):
        for one in seen.host.log:
            assert one.path != path or not one.sent.endswith(b"--nobody minded--"), (
                f"{path} was read to its end"
            )

    return judge


def stalls() -> list[Row]:
    async def after_head(exchange: Exchange):
        await exchange.send(HEAD + b"Content-Length: 100\r\n\r\nhello")
        await exchange.wait_closed()

    async def half_a_line(exchange: Exchange):
        await exchange.send(b"HTTP/1.1 20")
        await exchange.wait_closed()

    async def nothing(_, reader, __):
        await reader.read(1)
        await asyncio.sleep(600)

    return [
        Row(
            number=20,
            name="never answers",
            answers={"/bad": silence},
            ended={"/bad": TIMEOUT},
            asked={"/bad": (1, 4)},
            kept={"/bad": ABSENT},
        ),
        Row(number=20, name="never answers anything", talk=nothing, good=False, ended={"/": "failed:*"}),
        Row(
            number=20,
            name="stops in the status line",
            answers={"/bad": half_a_line},
            ended={"/bad": TIMEOUT},
            kept={"/bad": ABSENT},
        ),
        Row(
            number=20,
            name="stops in the body",
            answers={"/bad": after_head},
            ended={"/bad": "*:*time*"},
            kept={"/bad": "time"},
        ),
        Row(
            number=21,
            name="drips a body",
            answers={"/bad": drip(HEAD + b"Content-Length: 100000\r\n\r\n", b"x", 0.2)},
            ended={"/bad": "*:*time*"},
            kept={"/bad": "time"},
        ),
        Row(
            number=21,
            name="drips a body without a length",
            answers={"/bad": drip(HEAD + b"\r\n", b"x", 0.2)},
            ended={"/bad": "*:*time*"},
            kept={"/bad": "time"},
        ),
        Row(
            number=21,
            name="drips chunks",
            answers={"/bad": drip(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", 0.2)},
            ended={"/bad": "*:*time*"},
            kept={"/bad": "time"},
        ),
        Row(
            number=21,
            name="drips a head",
            answers={"/bad": drip(HEAD, b"X: y\r\n", 0.2)},
            ended={"/bad": TIMEOUT},
            kept={"/bad": ABSENT},
        ),
    ]


def floods() -> list[Row]:
    piece = b"0123456789abcdef" * 4096
    chunk = b"%x\r\n%b\r\n" % (len(piece), piece)

    def row(name, before, piece, ended, kept):
        return Row(
            number=22,
            name=name,
            answers={"/bad": flood(before, piece)},
            ended={"/bad": ended},
            kept={"/bad": kept},
            extra_check=client_closed("/bad"),
        )

    length = ("fetched:truncated_length", "length")
    return [
        row("endless body", HEAD + b"\r\n", piece, *length),
        row("endless body with a length", HEAD + b"Content-Length: 9999999999999\r\n\r\n", piece, *length),
        row("endless chunks", HEAD + b"Transfer-Encoding: chunked\r\n\r\n", chunk, *length),
        row(
            "one chunk without an end",
            HEAD + b"Transfer-Encoding: chunked\r\n\r\nfffffffffff\r\n",
            piece,
            *length,
        ),
        row("endless head", HEAD, b"X-Filler: " + b"y" * 8000 + b"\r\n", "failed:protocol", ABSENT),
        row("a header line without an end", HEAD + b"X-Filler: ", piece, "failed:protocol", ABSENT),
        row(
            "endless interim responses",
            b"",
            b"HTTP/1.1 103 Early Hints\r\n\r\n" * 500,
            "failed:protocol",
            ABSENT,
        ),
        row(
            "a chunk extension without an end",
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;",
            piece,
            "*:*",
            "length",
        ),
        row(
            "trailers without an end",
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n",
            b"X-Filler: " + b"y" * 8000 + b"\r\n",
            "*:*",
            "length",
        ),
    ]


def keep_alive() -> list[Row]:
    async def refuses_the_second(host, reader, writer):
        """Serve one request on every connection; answer the next one with RST."""
        raw = await reader.readuntil(b"\r\n\r\n")
        await host.answer(Exchange(raw, len(host.connected), 0.0, reader, writer))
        await reader.read(1)
        writer.transport.abort()

    async def closes_quietly(host, reader, writer):
        raw = await reader.readuntil(b"\r\n\r\n")
        await host.answer(Exchange(raw, len(host.connected), 0.0, reader, writer))

    async def goes(exchange: Exchange):
        exchange.close()

    async def breaks(exchange: Exchange):
        exchange.reset()

    names = {f"/k{number}": page(f"kept {number}") for number in range(5)}
    once = dict.fromkeys(names, (1, 1))
    return [
        Row(
            number=30,
            name="keep-alive broken at the second request",
            talk=refuses_the_second,
            answers=names,
            asked=once,
        ),
        Row(number=30, name="closes without saying so", talk=closes_quietly, answers=names, asked=once),
        Row(
            number=30,
            name="closes instead of answering",
            answers={"/bad": goes},
            ended={"/bad": "failed:reset"},
            asked={"/bad": (1, 6)},
            kept={"/bad": ABSENT},
        ),
        Row(
            number=30,
            name="resets instead of answering",
            answers={"/bad": breaks},
            ended={"/bad": "failed:reset"},
            asked={"/bad": (1, 6)},
            kept={"/bad": ABSENT},
        ),
    ]


def rows(_: WebAddress) -> list[Row]:
    return [*stalls(), *floods(), *keep_alive()]
