"""`Link`: what carries the frontier's calls to the servers that keep it.

1. A call is one function of `thresher.lua` on keys of one slot. Calls that are made together are pipelined; each is
   atomic by itself, and they may be carried out in any order where they touch different slots.
2. Every function may be carried out twice without harm, so a call whose reply was lost is made again, for as long as
   the link has patience.
"""

from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

from redis.asyncio import Redis
from redis.exceptions import RedisError

from core import Unavailable

LIBRARY = "thresher"
CRAWLS = "thresher:crawls"
"""Set of the names of all crawls."""
_OLDEST = 7  # Redis Functions came with 7.0


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

    clustered: bool

    async def call(self, calls: Sequence[Call]) -> list[Any]:
        """Carry out calls; their replies, in the same order. Raises `Unavailable` where a server does not answer."""

    async def open(self, code: str) -> None:
        """Make every server ready: check that it can keep a frontier, load the function library where it is not."""

    async def unlink(self, keys: Sequence[str]) -> None:
        """Delete keys of one slot."""

    async def names(self) -> set[str]:
        """Return the crawls that are listed."""

    async def list_name(self, crawl: str) -> None:
        """List a crawl."""

    async def unlist_name(self, crawl: str) -> None:
        """List it no more."""

    async def aclose(self) -> None:
        """Close the connections."""


class Single:
    """One server. Make it with a client that leaves replies as bytes (`connect` does)."""

    clustered = False

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def call(self, calls: Sequence[Call]) -> list[Any]:
        """Carry out calls in one round trip."""
        if not calls:
            return []
        with answering("frontier"):
            if len(calls) == 1:
                (call,) = calls
                return [
                    await self._redis.fcall(f"thresher_{call.verb}", len(call.keys), *call.keys, *call.args)
                ]
            pipeline = self._redis.pipeline(transaction=False)
            for call in calls:
                pipeline.fcall(f"thresher_{call.verb}", len(call.keys), *call.keys, *call.args)
            return await pipeline.execute()

    async def open(self, code: str) -> None:
        """The library's own text is its version: another text is replaced, the same is left alone."""
        with answering("frontier"):
            info = await self._redis.info()
            version = str(info["redis_version"])
            if int(version.partition(".")[0]) < _OLDEST:
                raise Unavailable(f"frontier: Redis {version} has no functions; run 7.0 or later, or Valkey")
            policy = info.get("maxmemory_policy", "noeviction")
            if info.get("maxmemory") and policy != "noeviction":
                raise Unavailable(
                    f"frontier: the server evicts keys ({policy}); set its maxmemory-policy to noeviction"
                )
            loaded = await self._redis.function_list(LIBRARY, withcode=True)
            if not any(code.encode() in _flat(library) for library in loaded):
                await self._redis.function_load(code, replace=True)

    async def unlink(self, keys: Sequence[str]) -> None:
        """Delete keys."""
        with answering("frontier"):
            await self._redis.unlink(*keys)

    async def names(self) -> set[str]:
        """Return the crawls that are listed."""
        with answering("crawls"):
            return {
                name.decode() for name in await cast("Awaitable[set[bytes]]", self._redis.smembers(CRAWLS))
            }

    async def list_name(self, crawl: str) -> None:
        """List a crawl."""
        with answering(crawl):
            await self._redis.sadd(CRAWLS, crawl)

    async def unlist_name(self, crawl: str) -> None:
        """List it no more."""
        with answering(crawl):
            await self._redis.srem(CRAWLS, crawl)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._redis.aclose()


@contextmanager
def answering(subject: str) -> Iterator[None]:
    """Turn the server's refusals and silence into `Unavailable`, in one line that begins with `subject`."""
    try:
        yield
    except (RedisError, OSError) as error:
        raise Unavailable(
            f"{subject}: the frontier's server failed: {one_line(error)}; see to it and run again"
        ) from error


def one_line(error: Exception) -> str:
    """What an error says, without line breaks and final dot."""
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def _flat(library: Any) -> list[Any]:
    """One library of FUNCTION LIST: pairs in a list (RESP 2) or a mapping (RESP 3)."""
    return list(library.values()) if isinstance(library, dict) else list(library)
