"""`Link`: what carries the frontier's calls to the servers that keep it.

1. A call is one function of `lua/` on keys of one slot. Calls that are made together are pipelined; each is
   atomic by itself, and they may be carried out in any order where they touch different slots.
2. Every function may be carried out twice without harm, so a call whose reply was lost is made again, for as long as
   the link has patience.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

LIBRARY = "thresher"
CRAWLS = "thresher:crawls"
"""Set of the names of all crawls."""
Arg: TypeAlias = str | bytes | int | float


@dataclass(frozen=True, slots=True)
class Call:
    """One function call."""

    verb: str
    keys: tuple[str, ...]
    """All of one slot."""
    args: tuple[Arg, ...] = ()


class Link(Protocol):
    """One server, or a cluster."""

    is_cluster: bool

    async def call(self, calls: Sequence[Call]) -> list[Any]:
        """Carry out calls; their replies, in the same order. Raises `Unavailable` where a server does not answer."""

    async def sync(self, calls: Sequence[Call]) -> list[Any]:
        """`call`, and return when all that was written before is on the servers' disks, as far as they write to disks."""

    async def open(self, code: str) -> None:
        """Make every server ready: check that it can keep a frontier, load the function library where it is not."""

    async def unlink(self, keys: Sequence[str]) -> None:
        """Delete keys of one slot."""

    async def crawl_names(self) -> set[str]:
        """Return the crawls that are listed."""

    async def add_crawl_name(self, crawl: str) -> None:
        """List a crawl."""

    async def remove_crawl_name(self, crawl: str) -> None:
        """List it no more."""

    async def aclose(self) -> None:
        """Close the connections."""
