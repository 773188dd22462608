"""Answers of a server as text, in turn, or broken."""

import asyncio

from tests.crawler.server import page
from tests.hostile.host import Exchange

TEXT = "text/plain"


def text(body, *headers, status="200 OK"):
    return page(body, *headers, status=status, kind=TEXT)


def in_turn(*answers):
    """Return a response that differs each time, and then stays the last."""
    left = list(answers)

    async def answer(exchange: Exchange):
        now = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(now, bytes):
            await exchange.send(now)
        else:
            await now(exchange)

    return answer


async def silence(exchange: Exchange):
    await exchange.wait_closed()


async def torn(exchange: Exchange):
    await exchange.send(text("User-agent: *\nDisallow:\n")[:-5])
    exchange.close()


async def dripping(exchange: Exchange):
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5000\r\n\r\n")
    for _ in range(5_000):
        await exchange.send(b"#")
        await asyncio.sleep(0.2)


async def halved(exchange: Exchange):
    await exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nUser-agent: *\n")
    exchange.close()


async def broken(exchange: Exchange):
    exchange.reset()
