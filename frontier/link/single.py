"""`SingleLink`: the frontier on one server, with replicas or without.

The link waits until its deadline for a server that is started again, loads its data or has failed over behind the same
address. Without a cluster, nobody tells an old master that another has taken its place. If something else (a sentinel,
an operator) promotes replicas, set min-replicas-to-write: then the server itself refuses writes that no replica takes.
"""

from collections.abc import Sequence

from redis.asyncio import Redis
from redis.exceptions import AskError, ReadOnlyError

from thresher.frontier.link.call_retry import RETRY_TIMEOUT_S, refusal_error
from thresher.frontier.link.master import Master
from thresher.frontier.link.redis_client import HOST, PORT
from thresher.frontier.link.retrying_link import RetryingLink


class SingleLink(RetryingLink):
    """A link to one server. Make it with a client of `frontier.link.redis_client`."""

    is_cluster = False

    def __init__(self, redis: Redis, *, retry_timeout_s: float = RETRY_TIMEOUT_S) -> None:
        super().__init__(retry_timeout_s)
        options = redis.connection_pool.connection_kwargs
        name = options.get("path") or f"{options.get('host', HOST)}:{options.get('port', PORT)}"
        self._node = Master(str(name), redis)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._node.aclose()

    def _route(self, key: str) -> Master:  # noqa: ARG002 - it has every key
        return self._node

    def _keys(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        return keys

    def _redirect_target(self, node: Master, redirection: AskError) -> Master:
        raise refusal_error(node.name, redirection)

    def _masters(self) -> Sequence[Master]:
        return [self._node]

    async def _refresh_topology(self, node: Master | None, error: Exception) -> None:
        """Renew the connections if the server has become a replica, because its name may lead to the new master; there
        is no other server to ask.
        """
        if isinstance(error, ReadOnlyError) and node is not None:
            await node.reset_connections()
