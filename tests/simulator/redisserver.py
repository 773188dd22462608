"""`RedisServer`: a real server with the real Lua functions and their real client; its time is the world's.

1. The functions are loaded with another TIME: two keys, which are set to the world's time before each call. What the server
   draws by lot (HRANDFIELD) is the first of them, and small hashes keep their order however large they grow: so a run comes to
   the same each time.
2. The calls that a client makes together are carried out one by one, and those of others come in between.
3. A server that loses its tail has the keys that it had then, every one, and a library that was loaded anew: so it has
   another nonce. What was under way on a connection is lost; its client does not know how much of it was carried out.
4. What it forgot its clients tell it again (`frontier.verbs.journal`). It may have forgotten what nobody tells it in time: the lease of
   a worker that is dead, or that stood still for longer than the server waits for it (`lua/clock.lua`: HOLD_MS).
"""

import asyncio
import pickle
from collections.abc import Sequence
from functools import partial
from typing import Any

from redis import Redis
from redis.exceptions import ResponseError

from tests.simulator.process import Process
from tests.simulator.simulated_server import Server, Way
from tests.simulator.world import World
from thresher.frontier import CrawlSettings, Discovery, Frontier, Lease, Stats
from thresher.frontier.codec.replies import decode_lease, decode_stats
from thresher.frontier.link.call import CRAWLS, LIBRARY, Call, Link
from thresher.frontier.link.call_retry import refusal_error
from thresher.frontier.link.functions import library_code
from thresher.frontier.link.lost_frontier import LOST_REPLY_PREFIX, lost_frontier_error
from thresher.frontier.link.partition import crawl_of
from thresher.frontier.verbs.inspection import HostState

CRAWL = "main"
HELD_S = 1.5
"""For how long a server waits for what it forgot (`lua/clock.lua`: HOLD_MS)."""
SOUND = "call = redis.call"
SECONDS, MICROSECONDS = "simulator:seconds", "simulator:microseconds"
VIRTUAL = f"""call = function(command, ...)
    if command == 'TIME' then return redis.call('MGET', '{SECONDS}', '{MICROSECONDS}') end
    if command ~= 'HRANDFIELD' then return redis.call(command, ...) end
    local key, most, values = ...
    local all = redis.call(values and 'HGETALL' or 'HKEYS', key)
    return {{unpack(all, 1, math.min(#all, most * (values and 2 or 1)))}}
  end"""
ORDERED = {"hash-max-listpack-entries": 1 << 20, "hash-max-listpack-value": 1 << 20}


def library() -> str:
    """The functions, on the world's time."""
    text = library_code()
    if text.count(SOUND) != 1:
        raise AssertionError(f"the library has another way to call commands than `{SOUND}`")
    return text.replace(SOUND, VIRTUAL)


class RedisServer(Server):
    """The server of a run, on a server that has nothing else to do."""

    def __init__(self, world: World, redis: Redis, partitions: int) -> None:
        super().__init__(world)
        self._redis, self._partitions = redis, partitions
        self.leases: dict[int, Lease] = {}
        """Of each token ever."""
        self._born_at: list[float] = []
        self._told: dict[str, list[tuple[int, float]]] = {}
        """By process, which lives it was told again in, and when."""
        redis.flushall()
        for name, value in ORDERED.items():
            redis.config_set(name, value)
        redis.config_set("appendonly", "no")
        self._load()

    def _load(self) -> None:
        self._redis.function_load(library(), replace=True)

    @property
    def settings(self) -> CrawlSettings:
        return self._outside.crawl.settings

    @property
    def stats(self) -> Stats:
        return decode_stats([self.carry_out(call) for call in self._outside.crawl.partitions.calls("stats")])

    def begin(self, settings: CrawlSettings, discoveries: Sequence[Discovery]) -> None:
        self._outside = Frontier(Direct(self), CRAWL, clock=lambda: self.world.now)  # type: ignore[arg-type]
        at_once(self._outside.open(settings, partitions=self._partitions))
        at_once(self._outside.add(discoveries))

    def frontier(self, process: Process) -> Frontier:
        return Witnessed(RemoteLink(self, process), CRAWL, server=self, process=process)  # type: ignore[arg-type]

    def is_given_up(self, host: str) -> bool:
        return any(each.host == host and each.dead_reason for each in at_once(_states(self._outside)))

    def snapshot(self) -> Any:
        keys = sorted(self._redis.keys())
        pipeline = self._redis.pipeline(transaction=False)
        for key in keys:
            pipeline.dump(key)
        return list(zip(keys, pipeline.execute(), strict=True)), pickle.dumps(self.ledger)

    def lose(self, snapshot: Any) -> None:
        kept, ledger = snapshot
        self.ledger = pickle.loads(ledger)
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.flushall()
        for key, value in kept:
            pipeline.restore(key, 0, value)
        pipeline.execute()
        self._load()
        self.lost_at.append(self.world.now)

    def told_again(self, process: Process) -> None:
        """A process has told a partition again what that has forgotten."""
        self._told.setdefault(process.name, []).append((self.life, self.world.now))

    def may_have_forgotten(self, worker: str, granted: float) -> bool:
        return any(
            granted <= lost and not self._is_told_in_time(worker, life, born)
            for life, (lost, born) in enumerate(zip(self.lost_at, self._born_at, strict=False), 1)
        )

    def _is_told_in_time(self, worker: str, life: int, born: float) -> bool:
        return any(then >= life and at <= born + HELD_S for then, at in self._told.get(worker, ()))

    def execute(self, *command: Any) -> Any:
        """Carry out a command at the world's time."""
        seconds, rest = divmod(self.now_us(), 1_000_000)
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.execute_command("MSET", SECONDS, seconds, MICROSECONDS, rest)
        pipeline.execute_command(*command)
        if len(self._born_at) < self.life:
            self._born_at.append(self.world.now)
        return pipeline.execute(raise_on_error=False)[1]

    def now_us(self) -> int:
        """Microseconds since the epoch."""
        return (self.now_ms() - round(self.world.now * 1000)) * 1000 + round(self.world.now * 1_000_000)

    def carry_out(self, call: Call) -> Any:
        """Do what was called for; a refusal is returned."""
        reply = self.execute("FCALL", f"{LIBRARY}_{call.verb}", len(call.keys), *call.keys, *call.args)
        if isinstance(reply, ResponseError):
            return reply
        if call.verb == "lease":
            for row in reply[0]:
                granted = decode_lease(row, str(call.args[1]))
                self.leases[granted.token] = granted
                self.granted[granted.token] = granted.worker, granted.url.text, self.world.now
        if call.verb == "settle":
            accepted = reply[2:]
            for first, done in zip(range(2, len(call.args), 10), accepted, strict=False):
                if done:
                    self._settled(*call.args[first : first + 10])
        return reply

    def _settled(self, token: Any, outcome: Any, *said: Any) -> None:
        held = self.leases[int(token)]
        if held.failure:
            outcome = held.failure.partition(":")[0]
        self.ledger.settle(held, outcome, bool(said[4]) and not held.failure)


class Direct:
    """A link of nobody, on which nothing takes time."""

    is_cluster = False

    def __init__(self, server: RedisServer) -> None:
        self._server = server

    async def call(self, calls: Sequence[Call]) -> list[Any]:
        return [raised(call, self._server.carry_out(call)) for call in calls]

    async def open(self, code: str) -> None:
        """It is loaded."""

    async def add_crawl_name(self, crawl: str) -> None:
        self._server.execute("SADD", CRAWLS, crawl)


class RemoteLink(Way):
    """A link of a process."""

    is_cluster = False
    _server: RedisServer

    async def call(self, calls: Sequence[Call]) -> list[Any]:
        if not calls:
            return []
        replies = await self.travel(partial(self._arrive, calls))
        return [raised(call, reply) for call, reply in zip(calls, replies, strict=True)]

    sync = call

    async def open(self, code: str) -> None:
        """It is loaded."""

    async def add_crawl_name(self, crawl: str) -> None:
        await self.travel(partial(self._list, crawl))

    def _list(self, crawl: str, answer: asyncio.Future[Any], is_lost: bool) -> None:
        self._server.execute("SADD", CRAWLS, crawl)
        if not is_lost:
            self.hear(answer, "reply")

    def _arrive(self, calls: Sequence[Call], answer: asyncio.Future[Any], is_lost: bool) -> None:
        """Carry them out; where the reply is lost, perhaps not all of them."""
        random = self._server.world.random
        most = random.randint(0, len(calls)) if is_lost else len(calls)
        self._carry_out(calls, most, [], answer, is_lost, self._server.life)

    def _carry_out(
        self,
        calls: Sequence[Call],
        most: int,
        replies: list[Any],
        answer: asyncio.Future[Any],
        is_lost: bool,
        life: int,
    ) -> None:
        server, world = self._server, self._server.world
        if server.life != life or world.now < server.away_until:
            self.hear(answer, "lost")
            return
        if len(replies) < most:
            call = calls[len(replies)]
            reply = server.carry_out(call)
            world.note(self._process.name, f"{call.verb} {_shown(call, reply)}".rstrip())
            replies.append(reply)
        if len(replies) < most:
            world.after(0.00002, lambda: self._carry_out(calls, most, replies, answer, is_lost, life))
        elif not is_lost:
            self.hear(answer, "reply", replies)


class Witnessed(Frontier):
    """A frontier whose journal says when it has told the server again."""

    def __init__(self, link: Link, crawl: str, *, server: RedisServer, process: Process) -> None:
        super().__init__(link, crawl, clock=process.time)
        sound = self.crawl.journal.mark_reconciled

        def caught_up(partition: int, *told: Any) -> None:
            sound(partition, *told)
            server.told_again(process)

        self.crawl.journal.mark_reconciled = caught_up  # type: ignore[method-assign,assignment]


def raised(call: Call, reply: Any) -> Any:
    """A reply; a refusal is raised, as a link does."""
    if not isinstance(reply, ResponseError):
        return reply
    if str(reply).startswith(LOST_REPLY_PREFIX):
        raise lost_frontier_error(crawl_of(call.keys[0]))
    raise refusal_error("the simulated server", reply)


def at_once(work: Any) -> Any:
    """What comes of work that waits for nothing but its turn."""
    try:
        while work.send(None) is None:
            pass
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits for something")


async def _states(frontier: Frontier) -> list[HostState]:
    return [each async for each in frontier.inspection.hosts()]


def _shown(call: Call, reply: Any) -> str:
    if isinstance(reply, ResponseError):
        return repr(str(reply))
    match call.verb:
        case "lease":
            return " ".join(
                f"{int(row[0])}={row[6].decode()} {row[7][11:].decode(errors='replace')}" for row in reply[0]
            )
        case "settle":
            pairs = zip(call.args[2::10], call.args[3::10], strict=True)
            ended = " ".join(f"{token!s}={outcome!s}" for token, outcome in pairs)
            return f"{ended} -> {reply[2:]}"
        case "regrant":
            return f"{call.args[0]!s} {' '.join(map(str, call.args[5::10]))}"
        case "settle_robots" | "retry_robots" | "postpone" | "reclaim" | "leave" | "beat" | "take_over":
            return str(call.args[0])
        case "release":
            return " ".join(map(str, call.args[::2]))
        case "leases":
            return f"{call.args[0]!s} {' '.join(str(int(row[0])) for row in reply)}"
        case "holders":
            return " ".join(sorted(each.decode() for each in reply))
    return ""
