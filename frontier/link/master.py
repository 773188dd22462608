"""`Node`: one server that carries out calls, alone or as a master of a cluster.

1. Calls that are carried together go down one connection in one write, and their replies come back in their order.
2. Where the server has replicas, the replies count only once one of them has the writes: WAIT is on the same
   connection, because it is this connection's writes that it waits for. Until then nobody is told that they are done.
3. A connection that anything went wrong on, a cancelled task included, is closed: no reply is ever taken for another's.
4. A server that says nothing for `ANSWER_S`, or something that is no reply, is taken for lost.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as Lost
from redis.exceptions import ResponseError

from core import Unavailable
from frontier.link.call_retry import RetryDeadline
from frontier.link.link import LIBRARY, Arg
from frontier.link.redis_client import TimeoutReset, reply_timeout
from frontier.link.replication import Replication

_OLDEST = 7  # Redis Functions came with 7.0
_LOOK_S = 1.0
"""How often a server is asked for its replicas, beside calls; they tell it themselves once a second that they live."""
_WAIT_MS = 500
"""One wait for a replica, after which the server is asked whether it still has one; well below `REPLY_TIMEOUT_S`."""
_CONNECTIONS = 32
"""At once from one link to one server: calls beyond that wait for a connection, which costs a server 20 KB."""

Command: TypeAlias = tuple[Arg, ...]


class Master:
    """One server. Make it with a client that `frontier.link.redis_client` made."""

    def __init__(self, name: str, redis: Redis) -> None:
        self.name = name
        self.redis = redis
        self._replication = Replication()
        self._clustered = False
        self._looked = 0.0
        self._code: str | None = None
        self._loading = asyncio.Lock()
        self._room = asyncio.Semaphore(_CONNECTIONS)

    async def execute(
        self, commands: Sequence[Command], patience: RetryDeadline, *, asking: bool = False
    ) -> list[Any]:
        """Carry out commands; their replies, a refusal in the place of the command that was refused.

        With `asking`, on a server that is only just taking their slot over (ASK). Raises `Lost` and its like where it
        is not known whether they were carried out, or no replica had them when patience was over.
        """
        async with self._room, reply_timeout() as heard, self._connection() as connection:
            asked = [part for command in commands for part in (("ASKING",), command)] if asking else commands
            now = time.monotonic()
            looks = [("INFO", "replication")] if now - self._looked >= _LOOK_S else []
            waits = [("WAIT", 1, _WAIT_MS)] if self._replication.is_replica_required(now) else []
            replies = await _exchange(connection, [*asked, *looks, *waits], heard)
            if looks:
                self._looked = now
                self._read_replication(replies[len(asked)])
            acknowledged = waits and self._acknowledged(replies[-1])
            if not acknowledged and self._replication.is_replica_required(now):
                await self._wait_for_replica(connection, patience, heard)
            return replies[1 : len(asked) : 2] if asking else replies[: len(asked)]

    async def load_library(self, code: str) -> None:
        """Load the function library if need be: its own text is its version, the same is left alone."""
        async with self._loading:
            if self._code == code:
                return
            async with reply_timeout():
                loaded = await self.redis.function_list(LIBRARY, withcode=True)
                is_loaded = any(code.encode() in _flat(library) for library in loaded)
            if not is_loaded:
                async with reply_timeout():
                    await self.redis.function_load(code, replace=True)
            self._code = code

    def mark_promoted(self, *, listed: bool, grace_s: float) -> None:
        """Say that it has become a master of a cluster; whether the cluster lists a replica of it."""
        self._clustered = True
        self._replication.mark_promoted(listed=listed, grace_s=grace_s)

    def mark_library_lost(self) -> None:
        """Have the library looked for before the next calls."""
        self._code = None

    async def check_compatibility(self) -> None:
        """Raise `Unavailable` where the server cannot keep a frontier: it is old, or evicts keys when it is full."""
        async with reply_timeout():
            info = await self.redis.info()
            version = str(info["redis_version"])
            major = int(version.partition(".")[0])
        if major < _OLDEST:
            raise Unavailable(f"{self.name}: Redis {version} has no functions; run 7.0 or later, or Valkey")
        policy = info.get("maxmemory_policy", "noeviction")
        if info.get("maxmemory") and policy != "noeviction":
            raise Unavailable(
                f"{self.name}: the server evicts keys ({policy}); set maxmemory-policy to noeviction"
            )

    async def reset_connections(self) -> None:
        """Have the next calls made on new connections: the address may lead to another server by now."""
        await self.redis.connection_pool.disconnect(inuse_connections=False)

    async def aclose(self) -> None:
        """Close the connections."""
        await self.redis.aclose()

    def __repr__(self) -> str:
        return f"Node({self.name!r})"

    async def _wait_for_replica(self, connection: Any, patience: RetryDeadline, heard: TimeoutReset) -> None:
        """Return when a replica has what this connection wrote, or the server has been without any for long enough."""
        while True:
            state: Command = ("CLUSTER", "INFO") if self._clustered else ("PING",)
            wanted = self._replication.is_replica_required(time.monotonic())
            info, lives, replicas = await _exchange(
                connection, [("INFO", "replication"), state, ("WAIT", 1, _WAIT_MS)], heard
            )
            if not self._read_replication(info):
                raise Lost("it is no master any more")
            if self._acknowledged(replicas):
                return
            if isinstance(lives, ResponseError):
                raise Lost(str(lives))
            if not wanted and (not self._clustered or b"cluster_state:ok" in lives):
                return
            if not patience.remaining_s:
                raise Lost("no replica takes what is written")

    def _read_replication(self, info: Any) -> bool:
        if isinstance(info, ResponseError):
            raise Lost(str(info))
        return self._replication.read_info(info, time.monotonic())

    def _acknowledged(self, replicas: Any) -> bool:
        if isinstance(replicas, ResponseError):  # UNBLOCKED: it has become a replica
            raise Lost(str(replicas))
        if replicas:
            self._replication.mark_acknowledged()
        return bool(replicas)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        pool = self.redis.connection_pool
        connection = await pool.get_connection()  # type: ignore[no-untyped-call]
        try:
            yield connection
        except BaseException:
            await connection.disconnect(nowait=True)
            raise
        finally:
            await pool.release(connection)


async def _exchange(connection: Any, commands: Sequence[Command], heard: TimeoutReset) -> list[Any]:
    heard()
    await connection.send_packed_command(connection.pack_commands(commands))
    replies: list[Any] = []
    for _ in commands:
        heard()
        try:
            replies.append(await connection.read_response())
        except ResponseError as refusal:
            replies.append(refusal)
    return replies


def _flat(library: Any) -> list[Any]:
    """One library of FUNCTION LIST: pairs in a list (RESP 2) or a mapping (RESP 3)."""
    return list(library.values()) if isinstance(library, dict) else list(library)
