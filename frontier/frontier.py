"""`Frontier`: the client of one crawl's state, which lives in one Redis or Valkey.

Every method that changes something is one atomic function of `thresher.lua` on the server, so any number
of workers on any number of machines may call at once, and one that dies between two calls leaves nothing
half done. `add` sends long lists in batches; each batch is atomic, and adding again is free.
"""

import re
from collections.abc import Awaitable, Iterable, Sequence
from importlib.resources import files
from typing import Any, cast

from redis.asyncio import Redis

from core import InputError, Unavailable
from frontier.connect import answering
from frontier.encoding import encode, identity
from frontier.flow import Flow
from frontier.lease import Added, Discovery, Lease, Outcome, Settlement, Stats
from frontier.reply import counts, flow, lease
from frontier.robots import RobotsRecord, Rule

_LIBRARY = "thresher"
_OLDEST = 7  # Redis Functions came with 7.0
_BATCH = 1_000  # URLs in one call: some milliseconds in which the server does nothing else
_CRAWLS = "thresher:crawls"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_KEYS = (  # in the order that thresher.lua takes them
    "urls",
    "waiting",
    "later",
    "ready",
    "hosts",
    "leases",
    "deadlines",
    "robots",
    "bodies",
    "count",
    "outcomes",
    "reasons",
    "flow",
    "stalls",
    "beats",
)


class Frontier:
    """One crawl in one server. Make it with a client that leaves replies as bytes (`connect` does)."""

    def __init__(self, redis: Redis, crawl: str) -> None:
        if not _NAME.fullmatch(crawl):
            raise InputError(
                f"crawl {crawl!r}: a name is letters, digits, dots, dashes and underscores; choose another"
            )
        self._redis = redis
        self._crawl = crawl
        self._keys = [f"thresher:{{{crawl}}}:{key}" for key in _KEYS]
        self._listed = False

    async def open(self) -> None:
        """Make the server ready: check that it can keep a frontier, load the function library if need be.

        Raises `Unavailable` where it is too old, or would evict keys when its memory is full.
        """
        with answering(self._subject):
            info = await self._redis.info()
            version = str(info["redis_version"])
            if int(version.partition(".")[0]) < _OLDEST:
                raise Unavailable(
                    f"{self._subject}: Redis {version} has no functions; run 7.0 or later, or Valkey"
                )
            policy = info.get("maxmemory_policy", "noeviction")
            if info.get("maxmemory") and policy != "noeviction":
                raise Unavailable(
                    f"{self._subject}: the server evicts keys ({policy}); set its maxmemory-policy to noeviction"
                )
            await self._load()

    async def add(self, discoveries: Sequence[Discovery]) -> Added:
        """Make unknown URLs wait; known ones, in whatever state, stay as they are."""
        added = 0
        with answering(self._subject):
            if discoveries and not self._listed:
                await self._redis.sadd(_CRAWLS, self._crawl)
                self._listed = True
            for first in range(0, len(discoveries), _BATCH):
                added += await self._call("add", *_records(discoveries[first : first + _BATCH]))
        return Added(added=added, known=len(discoveries) - added)

    async def lease(
        self, n: int, *, worker: str, lease_ms: int, min_delay_ms: int, limit: int | None = None
    ) -> list[Lease]:
        """Take up to `n` leases, of the hosts that have waited longest; of one host, the lowest level first.

        Nothing is granted that would come to a host sooner than its delay (`min_delay_ms`, or what its
        robots rules ask for, where that is longer). Once `limit` pages are fetched or leased, none is
        granted; nor is anything while the gate is shut (`flow`). Leases whose deadline has passed go back
        before any is granted.
        """
        with answering(self._subject):
            rows = await self._call(
                "lease", n, worker, lease_ms, min_delay_ms, -1 if limit is None else max(limit, 0)
            )
        return [lease(row, worker) for row in rows]

    async def renew(self, leases: Sequence[Lease], lease_ms: int) -> None:
        """Move the deadlines of leases that are still held to `lease_ms` from now."""
        if leases:
            with answering(self._subject):
                await self._call("renew", lease_ms, *(lease.token for lease in leases))

    async def release(self, leases: Sequence[Lease]) -> None:
        """Say that the exchanges are over: the hosts' delays begin now. The leases go on until settled."""
        if leases:
            with answering(self._subject):
                await self._call("release", *(lease.token for lease in leases))

    async def settle(self, settlements: Sequence[Settlement], *, archived: int = 0) -> int:
        """End page leases, each together with what was found; returns how many were accepted.

        One settlement is one atomic step. A token that is not held (settled before, or expired and given
        out again) changes nothing, so settling twice is harmless. `archived` are the bytes by which the
        crawl's archive has grown, these pages' and others': what follows the crawl has so much more to do.
        """
        if not settlements and not archived:
            return 0
        with answering(self._subject):
            pipeline = self._redis.pipeline(transaction=False)
            for settlement in settlements:
                pipeline.fcall("thresher_settle", len(self._keys), *self._keys, *_settlement(settlement))
            if archived:
                pipeline.fcall("thresher_archived", len(self._keys), *self._keys, archived)
            return sum((await pipeline.execute())[: len(settlements)])

    async def settle_robots(
        self, lease: Lease, *, rule: Rule, body: bytes, ttl_ms: int, delay_ms: int | None
    ) -> None:
        """Store what an origin's robots.txt said for `ttl_ms`; its host goes on.

        `delay_ms` is the rules' crawl-delay. Where several origins share a host the slowest wins.
        """
        with answering(self._subject):
            await self._call("settle_robots", lease.token, rule, body, ttl_ms, delay_ms or 0)

    async def retry_robots(self, lease: Lease, *, after_ms: int) -> None:
        """Give a robots.txt back that could not be had; its host is asked nothing for `after_ms`."""
        with answering(self._subject):
            await self._call("retry_robots", lease.token, after_ms)

    async def robots(self, origin: str) -> RobotsRecord | None:
        """Return the newest robots record of an origin, stale or not; None where there never was one."""
        with answering(self._subject):
            version, rule, body = await self._call("robots", origin)
        if version == 0:
            return None
        return RobotsRecord(origin=origin, version=version, rule=cast("Rule", rule.decode()), body=body)

    async def follow(self, *, follower: str, backlog: int, limit: int, ttl_ms: int = 600_000) -> Flow:
        """Report that `backlog` bytes of the sealed archive are still to be processed; returns what follows.

        Every follower of a crawl measures the same backlog, so the newest report counts, whoever made it. It
        counts for `ttl_ms`: one who stops for minutes holds the crawl, one who is gone for good does not.
        """
        with answering(self._subject):
            return flow(await self._call("follow", follower, backlog, limit, ttl_ms))

    async def unfollow(self, follower: str) -> None:
        """Take the report back, if the newest one is this follower's: the crawl goes on without it."""
        with answering(self._subject):
            await self._call("unfollow", follower)

    async def flow(self) -> Flow | None:
        """Return how far the crawl is ahead of its follower; None where nobody follows it."""
        with answering(self._subject):
            told = await self._call("flow")
        return flow(told) if told else None

    async def beat(self, worker: str, ttl_ms: int = 30_000, *, stalled_ms: int | None = None) -> None:
        """Say that a worker lives: it is taken for living for `ttl_ms` from now. `stalled_ms` says for how long it
        has waited for its storage to answer, if it does.
        """
        with answering(self._subject):
            await self._call("beat", worker, ttl_ms, -1 if stalled_ms is None else stalled_ms)

    async def stalls(self) -> list[int]:
        """Return for how long each living worker that waits for its storage has done so, in milliseconds."""
        with answering(self._subject):
            return [int(waited) for waited in await self._call("stalls")]

    async def leave(self, worker: str) -> None:
        """Say that a worker has come to its end, all of its leases over."""
        with answering(self._subject):
            await self._call("leave", worker)

    async def alive(self, workers: Iterable[str]) -> set[str]:
        """Return those of some workers that were heard of in time."""
        with answering(self._subject):
            return {worker.decode() for worker in await self._call("alive", *workers)}

    async def holders(self) -> set[str]:
        """Return every worker that holds a lease."""
        with answering(self._subject):
            return {worker.decode() for worker in await self._call("holders")}

    async def reclaim(self, worker: str) -> int:
        """Take back every lease of a worker that is dead; returns how many. Its hosts wait their delay."""
        with answering(self._subject):
            return cast("int", await self._call("reclaim", worker))

    async def leases(self, worker: str) -> list[Lease]:
        """Return the leases that a worker holds, oldest first."""
        with answering(self._subject):
            rows = await self._call("leases", worker)
        return [lease(row, worker) for row in sorted(rows, key=lambda row: row[0])]

    async def stats(self) -> Stats:
        """Return where every URL of the crawl stands, in one moment."""
        with answering(self._subject):
            waiting, leased, later, robots, hosts, seen, outcomes, reasons = await self._call("stats")
        settled = dict.fromkeys((str(outcome) for outcome in Outcome if outcome is not Outcome.RETRY), 0)
        return Stats(
            waiting=waiting,
            leased=leased,
            later=later,
            robots=robots,
            hosts=hosts,
            outcomes=settled | counts(outcomes),
            reasons=counts(reasons),
            seen=seen,
        )

    async def drop(self) -> None:
        """Forget the crawl: every URL, lease and robots record of it."""
        with answering(self._subject):
            await self._redis.unlink(*self._keys)
            await self._redis.srem(_CRAWLS, self._crawl)
        self._listed = False

    @staticmethod
    async def crawls(redis: Redis) -> list[str]:
        """Return the names of the crawls that anything was ever added to, sorted."""
        with answering("crawls"):
            return sorted(
                name.decode() for name in await cast("Awaitable[set[bytes]]", redis.smembers(_CRAWLS))
            )

    def __repr__(self) -> str:
        return f"Frontier({self._crawl!r})"

    @property
    def _subject(self) -> str:
        return f"crawl {self._crawl}"

    async def _call(self, verb: str, *args: str | bytes | int) -> Any:
        return await self._redis.fcall(f"thresher_{verb}", len(self._keys), *self._keys, *args)

    async def _load(self) -> None:
        """The library's own text is its version: another text is replaced, the same is left alone."""
        code = files("frontier").joinpath("thresher.lua").read_text(encoding="utf-8")
        loaded = await self._redis.function_list(_LIBRARY, withcode=True)
        if not any(code.encode() in _flat(library) for library in loaded):
            await self._redis.function_load(code, replace=True)


def _flat(library: Any) -> list[Any]:
    """One library of FUNCTION LIST: pairs in a list (RESP 2) or a mapping (RESP 3)."""
    return list(library.values()) if isinstance(library, dict) else list(library)


def _records(discoveries: Sequence[Discovery]) -> list[bytes]:
    return [part for found in discoveries for part in (identity(found.url), encode(found))]


def _settlement(settlement: Settlement) -> list[str | bytes | int]:
    wait = settlement.retry_after_ms
    return [
        settlement.lease.token,
        settlement.outcome,
        settlement.reason,
        -1 if wait is None else max(wait, 0),
        settlement.hold_ms,
        *_records(settlement.discoveries),
    ]
