"""`Call`: one call of a function of the frontier; and `Link`, which carries calls to the servers that keep it.

1. A call is one function of `lua/` on keys of one slot. Calls that are made together are pipelined. Each is atomic by
   itself, and calls on different slots may be carried out in any order.
2. Every function may be carried out twice without harm, so the link repeats a call whose reply was lost until its
   deadline.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

LIBRARY = "thresher"
CRAWLS = "thresher:crawls"
"""Key of the set of all crawls' names."""
Arg: TypeAlias = str | bytes | int | float


@dataclass(frozen=True, slots=True)
class Call:
    """One function call."""

    verb: str
    keys: tuple[str, ...]
    """Keys of one slot."""
    args: tuple[Arg, ...] = ()


class Link(Protocol):
    """One server, or a cluster."""

    is_cluster: bool

    async def call(self, calls: Sequence[Call]) -> list[Any]:
        """Carry out calls, and return their replies in the same order. Raise `Unavailable` if a
        server does not answer.
        """

    async def sync(self, calls: Sequence[Call]) -> list[Any]:
        """Do as `call` does, and return when every earlier write is on the servers' disks, as far as they write to
        disks.
        """

    async def open(self, code: str) -> None:
        """Make every server ready: check that it can keep a frontier, and load the function library
        if it is missing.
        """

    async def unlink(self, keys: Sequence[str]) -> None:
        """Delete keys of one slot."""

    async def crawl_names(self) -> set[str]:
        """Return the names of the listed crawls."""

    async def add_crawl_name(self, crawl: str) -> None:
        """Add a crawl to the list."""

    async def remove_crawl_name(self, crawl: str) -> None:
        """Remove a crawl from the list."""

    async def aclose(self) -> None:
        """Close the connections."""
