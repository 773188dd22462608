"""`Pool`: idle connections that wait for another exchange.

A connection is used again only for the same scheme, host, port and address, and through the same proxy. The pool keeps
it for `KEEP_ALIVE_S`; if there are too many, it closes those first that have waited longest.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Hashable

from thresher.crawler.wire.http.http1 import Http1
from thresher.crawler.wire.http.http2 import Http2

KEEP_ALIVE_S = 15.0
"""Seconds that an idle connection is kept; servers keep one for times like this (nginx 75 s, Apache 5 s)."""
MAX_IDLE = 1_000
"""Idle connections at most."""

Connection = Http1 | Http2


class Pool:
    """Keeps idle connections; create it inside a running event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._idle: OrderedDict[Connection, tuple[Hashable, float]] = OrderedDict()
        self._by_key: dict[Hashable, list[Connection]] = {}
        self._sweep: asyncio.TimerHandle | None = None

    def take(self, key: Hashable) -> Connection | None:
        """Return the connection for `key` that was used last and is still open; None if there is none."""
        while waiting := self._by_key.get(key):
            connection = waiting[-1]
            self._forget(connection)
            if connection.is_quiet():
                return connection
            connection.close()
        return None

    def put(self, key: Hashable, connection: Connection) -> None:
        """Keep a connection whose exchange is over."""
        self._idle[connection] = (key, self._loop.time())
        self._by_key.setdefault(key, []).append(connection)
        connection.on_close = lambda: self._forget(connection)
        if len(self._idle) > MAX_IDLE:
            self._drop(next(iter(self._idle)))
        if self._sweep is None:
            self._sweep = self._loop.call_later(KEEP_ALIVE_S, self._drop_old)

    def close(self) -> None:
        """Close all connections."""
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        for connection in list(self._idle):
            self._drop(connection)

    def _drop_old(self) -> None:
        self._sweep = None
        while self._idle:
            connection, (_, since) = next(iter(self._idle.items()))
            wait_s = since + KEEP_ALIVE_S - self._loop.time()
            if wait_s > 0:
                self._sweep = self._loop.call_later(wait_s, self._drop_old)
                return
            self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        self._forget(connection)
        connection.close()

    def _forget(self, connection: Connection) -> None:
        connection.on_close = None
        entry = self._idle.pop(connection, None)
        if entry is not None:
            waiting = self._by_key[entry[0]]
            waiting.remove(connection)
            if not waiting:
                del self._by_key[entry[0]]

    def __len__(self) -> int:
        return len(self._idle)

    def __repr__(self) -> str:
        return f"<{len(self)} idle connections>"
