"""`Partitions`: how a crawl is spread over the slots of a cluster.

1. A host lives in the partition of its registered domain, so everything that is counted by host and by domain is
   counted in one place. The partition of an IP address is chosen by a hash of the address.
2. All keys of a partition carry one hash tag; keys that concern the crawl as a whole (its home) carry another.
3. The number of partitions is fixed when the crawl is made. Slots move between servers, hosts never between partitions.
4. A token says which partition granted it.
"""

from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

from thresher.frontier.link.call import Arg, Call
from thresher.frontier.urls.canonical import host_of
from thresher.frontier.urls.scope import Scope, registered_domain

ON_A_CLUSTER = 64
"""Partitions of a crawl on a cluster: enough for some ten servers to get even shares."""

MAX_PARTITIONS = 256
"""Largest number of partitions whose tokens stay exact numbers in Lua (lua/state/clock.lua)."""


@dataclass(frozen=True, slots=True)
class Partitions:
    """The partitions of one crawl."""

    crawl: str
    number: int

    def of_host(self, host: str) -> int:
        """Return the partition of a host name."""
        return _of(host, self.number)

    def of_scope(self, scope: Scope) -> int | None:
        """Return the partition that a scope lies in; None if it lies in all."""
        match scope.kind:
            case "any":
                return None
            case "prefix":
                scheme, _, rest = scope.anchor.partition("://")
                return self.of_host(host_of(f"{scheme}://{rest.partition('/')[0]}"))
            case "domain" | "host":
                return self.of_host(scope.anchor)

    def of_token(self, token: int) -> int:
        """Return the partition that granted a token."""
        return token % self.number

    def of_address(self, address: str) -> int:
        """Return the partition that keeps the line of an IP address."""
        return crc32(address.encode()) % self.number

    def key(self, partition: int, name: str = "count") -> str:
        """Return the name of a key of a partition."""
        return f"thresher:{{{self.crawl}:{partition}}}:{name}"

    def of_key(self, key: str) -> int:
        """Return the partition that a key belongs to."""
        return int(key.partition("{")[2].partition("}")[0].rpartition(":")[2])

    def call(self, partition: int, verb: str, *args: Arg, key: str = "count") -> Call:
        """Return a call on a partition."""
        return Call(verb, (self.key(partition, key),), args)

    def calls(self, verb: str, *args: Arg, key: str = "count") -> list[Call]:
        """Return the same call on every partition."""
        return [self.call(partition, verb, *args, key=key) for partition in range(self.number)]


def crawl_call(crawl: str, verb: str, *args: Arg) -> Call:
    """Return a call on the home of a crawl, which concerns the crawl as a whole."""
    return Call(verb, (f"thresher:{{{crawl}}}:count",), args)


def crawl_of(key: str) -> str:
    """Return the crawl that a key belongs to."""
    return key.partition("{")[2].partition("}")[0].partition(":")[0]


@lru_cache(maxsize=65_536)
def _of(host: str, number: int) -> int:
    return crc32(registered_domain(host).encode()) % number
