"""`Master`: one server that carries out calls, alone or as a master of a cluster.

1. Calls that are executed together go down one connection in one write, and their replies come back in their order.
2. If the server has replicas, the replies count only once one replica has the writes. WAIT is sent on the same
   connection, because it waits for the writes of this connection. Until then no caller gets the replies.
3. A connection on which anything went wrong, a cancelled task included, is closed, so no reply is ever taken for
   another call's.
4. A server that sends nothing for `REPLY_TIMEOUT_S`, or something that is no reply, is taken for lost.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as Lost
from redis.exceptions import ResponseError

from thresher.core import Unavailable
from thresher.frontier.link.call import LIBRARY, Arg
from thresher.frontier.link.call_retry import NoReplicaError, RetryDeadline
from thresher.frontier.link.redis_client import TimeoutReset, reply_timeout
from thresher.frontier.link.replication import Replication

_OLDEST = 7  # Redis Functions came with 7.0
_LOOK_S = 1.0
"""Seconds between two questions for the server's replicas, sent along with calls; replicas report
to it once a second.
"""
_WAIT_MS = 500
"""Milliseconds of one wait for a replica, after which the server is asked whether it still has one; well below
`REPLY_TIMEOUT_S`.
"""
_CONNECTIONS = 32
"""Connections at once from one link to one server; further calls wait for one. A connection costs a server 20 KB."""

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
        self._connection_slots = asyncio.Semaphore(_CONNECTIONS)

    async def execute(
        self, commands: Sequence[Command], patience: RetryDeadline, *, asking: bool = False
    ) -> list[Any]:
        """Carry out commands and return their replies; a refusal takes the place of the reply of its command.

        With `asking`, the server is only just taking their slot over (ASK). Raise `Lost` or another of
        `NO_REPLY_ERRORS` if it is not known whether they were carried out, or if no replica had them by the deadline.
        """
        async with self._connection_slots, reply_timeout() as reset_timeout, self._connection() as connection:
            asked = [part for command in commands for part in (("ASKING",), command)] if asking else commands
            now = time.monotonic()
            looks = [("INFO", "replication")] if now - self._looked >= _LOOK_S else []
            waits = [("WAIT", 1, _WAIT_MS)] if self._replication.is_replica_required(now) else []
            replies = await _exchange(connection, [*asked, *looks, *waits], reset_timeout)
            if looks:
                self._looked = now
                self._read_replication(replies[len(asked)])
            acknowledged = waits and self._acknowledged(replies[-1])
            if not acknowledged and self._replication.is_replica_required(now):
                await self._wait_for_replica(connection, patience, reset_timeout)
            return replies[1 : len(asked) : 2] if asking else replies[: len(asked)]

    async def load_library(self, code: str) -> None:
        """Load the function library unless the server has it: the library's text is its version."""
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
        """Record that the server has become a master of a cluster, and whether the cluster lists a replica of it."""
        self._clustered = True
        self._replication.mark_promoted(listed=listed, grace_s=grace_s)

    def mark_library_lost(self) -> None:
        """Make the next calls look for the library first."""
        self._code = None

    async def check_compatibility(self) -> None:
        """Raise `Unavailable` if the server cannot keep a frontier: it is too old, or evicts keys when it is full."""
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
        """Make the next calls on new connections: the address may lead to another server by now."""
        await self.redis.connection_pool.disconnect(inuse_connections=False)

    async def aclose(self) -> None:
        """Close the connections."""
        await self.redis.aclose()

    def __repr__(self) -> str:
        return f"Master({self.name!r})"

    async def _wait_for_replica(
        self, connection: Any, patience: RetryDeadline, reset_timeout: TimeoutReset
    ) -> None:
        """Return when a replica has the writes of this connection, or the server has been without replicas for long
        enough.
        """
        while True:
            state_command: Command = ("CLUSTER", "INFO") if self._clustered else ("PING",)
            is_required = self._replication.is_replica_required(time.monotonic())
            info, state_reply, replicas = await _exchange(
                connection, [("INFO", "replication"), state_command, ("WAIT", 1, _WAIT_MS)], reset_timeout
            )
            if not self._read_replication(info):
                raise Lost("it is no master any more")
            if self._acknowledged(replicas):
                return
            if isinstance(state_reply, ResponseError):
                raise Lost(str(state_reply))
            if not is_required and (not self._clustered or b"cluster_state:ok" in state_reply):
                return
            if not patience.remaining_s:
                raise NoReplicaError("no replica takes what is written")

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


async def _exchange(connection: Any, commands: Sequence[Command], reset_timeout: TimeoutReset) -> list[Any]:
    reset_timeout()
    await connection.send_packed_command(connection.pack_commands(commands))
    replies: list[Any] = []
    for _ in commands:
        reset_timeout()
        try:
            replies.append(await connection.read_response())
        except ResponseError as refusal:
            replies.append(refusal)
    return replies


def _flat(library: Any) -> list[Any]:
    """Return one library of FUNCTION LIST as a list: the reply has pairs in a list (RESP 2) or a mapping (RESP 3)."""
    return list(library.values()) if isinstance(library, dict) else list(library)
