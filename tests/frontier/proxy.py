"""`Proxy`: stands between clients and a server that speaks RESP, and does to their talk what networks do.

1. A connection is asked and answered in turns: what a client sends at once (a call, or a pipeline of them) is one
   request, and goes on whole, or not at all; so do the replies to it.
2. What is done to a request is drawn by the seed, the number of its connection and its number there, and by nothing
   else: the same talk meets the same trouble.
3. A request that was taken in is carried out unless it is dropped, even where its client has gone meanwhile: one
   that was delayed or frozen comes late, perhaps after the client's next try.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random

from hiredis import ProtocolError, Reader

_CHUNK = 1 << 18
_MORE = object()
_MARK = b"+no server says this\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyFaults:
    """Per cent of requests that meet each; the rest goes through."""

    drop: float = 0.0
    """The connection is cut before the server has seen the request."""
    lose: float = 0.0
    """The server carries it out; the connection is cut instead of an answer."""
    twice: float = 0.0
    """The server carries it out twice; the second answer is swallowed."""
    again: float = 0.0
    """The same, but it is the first answer that is swallowed: what a client sees that asked again."""
    delay: float = 0.0
    """It reaches the server after up to `delay_s`."""
    freeze: float = 0.0
    """It reaches the server after `freeze_s`, in which the connection stays open and says nothing."""
    delay_s: float = 0.05
    freeze_s: float = 1.0

    def fault_for(self, draw: float) -> str:
        """What meets a request, for a number in [0, 100)."""
        for name in ("drop", "lose", "twice", "again", "delay", "freeze"):
            draw -= getattr(self, name)
            if draw < 0:
                return name
        return "pass"


@dataclass(kw_only=True)
class Proxy:
    """One that runs. `trouble` may be changed at any time."""

    server: Path
    """Unix socket of the server."""
    trouble: ProxyFaults
    seed: int
    fault_counts: Counter[str] = field(default_factory=Counter)
    """Requests, by what met them."""
    _serial: "count[int]" = field(default_factory=count)
    _talks: set[asyncio.Task[None]] = field(default_factory=set)

    async def serve(self, client: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
        """One connection of a client, to its end."""
        task = asyncio.current_task()
        assert task is not None
        self._talks.add(task)
        try:
            # CancelledError: the proxy closes; a task of the stream server may not end cancelled.
            with suppress(OSError, EOFError, asyncio.CancelledError):
                await self._talk(client, answers, Random(f"{self.seed} {next(self._serial)}"))
        finally:
            self._talks.discard(task)
            answers.transport.abort()

    async def close(self) -> None:
        """Cut every connection."""
        talks = list(self._talks)
        for task in talks:
            task.cancel()
        await asyncio.gather(*talks, return_exceptions=True)

    async def _talk(
        self, client: asyncio.StreamReader, answers: asyncio.StreamWriter, random: Random
    ) -> None:
        replies, server = await asyncio.open_unix_connection(str(self.server), limit=_CHUNK)
        try:
            while True:
                request, calls = await _read_whole(client, 1)
                trouble = self.trouble
                met = trouble.fault_for(random.random() * 100)
                moment = random.random()
                self.fault_counts[met] += 1
                if met == "drop":
                    return
                if met in {"delay", "freeze"}:
                    await asyncio.sleep(trouble.freeze_s if met == "freeze" else moment * trouble.delay_s)
                server.write(request)
                answer, _ = await _read_whole(replies, calls)
                if met in {"twice", "again"}:
                    server.write(request)  # both are carried out before the client hears of one
                    second, _ = await _read_whole(replies, calls)
                    answer = second if met == "again" else answer
                if met == "lose":
                    return
                answers.write(answer)
                await answers.drain()
        finally:
            server.transport.abort()


async def _read_whole(stream: asyncio.StreamReader, least: int) -> tuple[bytes, int]:
    """Read until at least so many messages are there and the last is whole; the bytes, and how many they are."""
    text = b""
    while (messages := _messages(text)) < least:
        part = await stream.read(_CHUNK)
        if not part:
            raise EOFError
        text += part
    return text, messages


def _messages(text: bytes) -> int:
    """How many messages `text` is; -1 where the last is not whole."""
    reader = Reader(notEnoughData=_MORE)
    reader.feed(text)
    reader.feed(_MARK)  # read as a message of its own only where none is open
    messages, last = -1, None
    with suppress(ProtocolError):  # the mark came into the middle of a length
        while (message := reader.gets()) is not _MORE:
            messages, last = messages + 1, message
    return messages if last == _MARK[1:-2] else -1


@asynccontextmanager
async def proxy(server: Path, listen: Path, trouble: ProxyFaults, *, seed: int) -> AsyncIterator[Proxy]:
    """Listen on a Unix socket for clients of the server on another."""
    made = Proxy(server=server, trouble=trouble, seed=seed)
    listener = await asyncio.start_unix_server(made.serve, str(listen), limit=_CHUNK)
    try:
        yield made
    finally:
        listener.close()
        await made.close()
