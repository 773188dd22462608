"""`ClusterLink`: the frontier on a Redis or Valkey Cluster.

1. The link reads the map of slots (CLUSTER SLOTS: which master has which slot) from any node that answers. It reads the
   map again after a sign of change: after MOVED first from the node that MOVED names, after a lost connection first
   from the other nodes.
2. A map is replaced as a whole. If several tasks need a new one at once, it is read once.
3. Every call names one more key of the same slot, which never exists. Functions build the names of most of their keys
   themselves. In a slot that moves key by key (CLUSTER SETSLOT), a function that finds a key gone would be broken off
   half-way. Because one of two named keys is missing, the server refuses the call as a whole (TRYAGAIN) until the slot
   has moved.

Calls are grouped, repeated and acknowledged as in `frontier.link.retrying_link`. redis-py's own cluster client is not
used: docs/decisions/0011-cluster-link.md says why.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.connection import parse_url
from redis.cluster import parse_cluster_slots
from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot
from redis.exceptions import AskError, MovedError, ResponseError, TryAgainError
from redis.exceptions import ConnectionError as Lost

from thresher.frontier.link.call_retry import NO_REPLY_ERRORS, RETRY_TIMEOUT_S
from thresher.frontier.link.master import Master
from thresher.frontier.link.redis_client import HOST, PORT, redis_client, reject_non_replies
from thresher.frontier.link.replication import grace_s
from thresher.frontier.link.retrying_link import RetryingLink

_LEARN_S = 2.0
"""Seconds that one node has to send the map."""
_NODE_TIMEOUT_MS = 15_000
"""cluster-node-timeout in milliseconds if the cluster does not tell it: the servers' own default."""

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class SlotMap:
    """The master of each slot."""

    owners: tuple[Address | None, ...]
    """The master of each slot; None if no node has the slot."""
    replicated_masters: frozenset[Address]
    """The masters with a replica that the cluster considers alive."""

    @staticmethod
    def from_reply(reply: dict[tuple[int, int], dict[str, Any]]) -> "SlotMap":
        """Return the map of redis-py's reading of CLUSTER SLOTS."""
        owners: list[Address | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
        replicated = set()
        for (first, last), nodes in reply.items():
            host, port, *_ = nodes["primary"]
            owners[first : last + 1] = [(host, port)] * (last + 1 - first)
            if nodes["replicas"]:
                replicated.add((host, port))
        return SlotMap(tuple(owners), frozenset(replicated))

    @property
    def masters(self) -> set[Address]:
        """Every node that has a slot."""
        return {owner for owner in self.owners if owner is not None}


class ClusterLink(RetryingLink):
    """A link to a cluster. Make it with the addresses (redis:// or rediss://) of some of its nodes, in one event loop.

    User, password and the kind of connection of the first address hold for all nodes.
    """

    is_cluster = True

    def __init__(self, addresses: Sequence[str], *, retry_timeout_s: float = RETRY_TIMEOUT_S) -> None:
        super().__init__(retry_timeout_s)
        parsed = [parse_url(address) for address in addresses]
        self._options: Mapping[str, Any] = parsed[0]
        self._grace_s: float | None = None
        self._slots: SlotMap | None = None
        self._nodes: dict[Address, Master] = {}
        self._learning = asyncio.Lock()
        for options in parsed:
            self._node((options.get("host", HOST), options.get("port", PORT)))

    async def aclose(self) -> None:
        """Close the connections."""
        await asyncio.gather(*(node.aclose() for node in self._nodes.values()))

    def _route(self, key: str) -> Master:
        slot = key_slot(key.encode())
        owner = None if self._slots is None else self._slots.owners[slot]
        if owner is None:
            raise Lost(f"no node has slot {slot}")
        return self._nodes[owner]

    def _keys(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        return (*keys, f"{keys[0]}:never")

    def _redirect_target(self, node: Master, redirection: AskError) -> Master:
        return self._node((redirection.host or _host(node), redirection.port))

    def _masters(self) -> list[Master]:
        if self._slots is None:
            raise Lost("no node has sent the map of slots")
        return [self._nodes[address] for address in sorted(self._slots.masters)]

    async def _refresh_topology(self, node: Master | None, error: Exception) -> None:
        if isinstance(error, TryAgainError):
            return
        stale = self._slots
        async with self._learning:
            if self._slots is not stale:
                return
            others = [other for other in self._nodes.values() if other is not node]
            random.shuffle(others)
            if isinstance(error, MovedError) and node is not None:
                others.insert(0, self._redirect_target(node, error))
            for teller in [*others, *([node] if node is not None else [])]:
                try:
                    with reject_non_replies():
                        async with asyncio.timeout(_LEARN_S):
                            await self._learn_from(teller)
                except NO_REPLY_ERRORS:
                    continue
                return

    async def _learn_from(self, teller: Master) -> None:
        if self._grace_s is None:
            self._grace_s = grace_s(await _node_timeout_ms(teller.redis))
        reply = await teller.redis.execute_command("CLUSTER SLOTS")  # type: ignore[no-untyped-call]
        slots = SlotMap.from_reply(parse_cluster_slots(reply, current_host=_host(teller)))
        if not slots.masters:
            raise Lost("it no longer belongs to a cluster")
        for address in slots.masters - (self._slots.masters if self._slots else set()):
            self._node(address).mark_promoted(
                listed=address in slots.replicated_masters, grace_s=self._grace_s
            )
        self._slots = slots

    def _node(self, address: Address) -> Master:
        if address not in self._nodes:
            host, port = address
            self._nodes[address] = Master(
                f"{host}:{port}", redis_client({**self._options, "host": host, "port": port})
            )
        return self._nodes[address]


async def _node_timeout_ms(redis: Redis) -> int:
    try:
        reply = await redis.config_get("cluster-node-timeout")
    except ResponseError:  # a hosted cluster, which lets nobody read its configuration
        return _NODE_TIMEOUT_MS
    return int(reply.get("cluster-node-timeout") or _NODE_TIMEOUT_MS)


def _host(node: Master) -> str:
    return node.name.rpartition(":")[0]
