"""`ModelServer`: a server that is the model in memory. It has no client that could tell it again what it forgot.

It has another nonce when it comes back from a lost tail, as a real one has: its tokens leap ahead, and all hosts and addresses
wait for a delay (`frontier/lua/state/clock.lua`: `since`).
"""

import asyncio
import pickle
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, cast

from tests.simulator.process import Process
from tests.simulator.simulated_server import Server, Way
from tests.simulator.world import World
from thresher.frontier import CrawlSettings, Discovery, Frontier, Stats
from thresher.frontier.testing import MemoryFrontier
from thresher.frontier.testing.memory_crawl import MemoryCrawl

LOST_TOKENS = 1 << 20


class ModelServer(Server):
    """The model in memory."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.model = MemoryFrontier(clock=self.now_ms)

    @property
    def settings(self) -> CrawlSettings:
        return self.model.crawl.settings

    @property
    def stats(self) -> Stats:
        return done(self.model.stats())

    def begin(self, settings: CrawlSettings, discoveries: Sequence[Discovery]) -> None:
        done(self.model.open(settings))
        done(self.model.add(discoveries))

    def frontier(self, process: Process) -> Frontier:
        return cast("Frontier", Remote(self, process))

    def is_given_up(self, host: str) -> bool:
        return bool(self.model.crawl.state.hosts[host].dead_reason)

    def snapshot(self) -> bytes:
        state = {name: value for name, value in vars(self.model.crawl).items() if name != "clock"}
        return pickle.dumps((state, self.ledger))

    def lose(self, snapshot: bytes) -> None:
        state, self.ledger = pickle.loads(snapshot)
        vars(self.model.crawl).update(state)
        crawl, now = self.model.crawl.state, self.now_ms()
        crawl.tokens += LOST_TOKENS
        for host in crawl.hosts.values():
            host.last = max(host.last, now)
            if host.turn is not None:
                host.turn = max(host.turn, host.after_last(max(host.delay, host.pace, crawl.delay)))
        for address, (last, end) in crawl.addresses.items():
            crawl.addresses[address] = max(last, now), end
        self.lost_at.append(self.world.now)

    def may_have_forgotten(self, worker: str, granted: float) -> bool:
        return any(granted <= lost for lost in self.lost_at)

    def carry_out(self, verb: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Do what was called for; what it raises is raised to the caller."""
        before = {}
        if verb == "settle":
            held = self.model.crawl.state.open_leases
            before = {
                ended.lease.token: ended
                for ended in args[0]
                if (promise := held.get(ended.lease.token)) is not None and promise.page is not None
            }
        reply = done(attrgetter(verb)(self.model)(*args, **named))
        if verb == "lease":
            for lease in reply:
                self.granted[lease.token] = lease.worker, lease.url.text, self.world.now
        for ended in before.values():
            self.ledger.settle(ended.lease, ended.outcome, ended.has_sent_request)
        return reply


class Remote(Way):
    """A `Frontier`, in the hands of a process."""

    _server: ModelServer

    @property
    def crawl(self) -> MemoryCrawl:
        """Only what a process reads without a call: `settings` and `server_restarts`."""
        return self._server.model.crawl

    @property
    def workers(self) -> "RemoteClient":
        return RemoteClient(self, "workers")

    @property
    def politeness(self) -> "RemoteClient":
        return RemoteClient(self, "politeness")

    @property
    def origins(self) -> "RemoteClient":
        return RemoteClient(self, "origins")

    @property
    def backlog(self) -> "RemoteClient":
        return RemoteClient(self, "backlog")

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        if verb.startswith("_"):
            raise AttributeError(verb)

        async def call(*args: Any, **named: Any) -> Any:
            return await self.travel(partial(self._arrive, verb, args, named))

        return call

    def _arrive(self, verb: str, args: Any, named: Any, answer: asyncio.Future[Any], is_lost: bool) -> None:
        try:
            told = "reply", self._server.carry_out(verb, args, named)
        except Exception as error:  # noqa: BLE001 - the caller raises it
            told = "raise", error
        said = repr(told[1]) if told[0] == "raise" else _shown(verb, args, told[1])
        self._server.world.note(self._process.name, f"{verb} {said}".rstrip())
        if not is_lost:
            self.hear(answer, *told)


class RemoteClient:
    """A client of the remote frontier, such as `workers`."""

    def __init__(self, remote: Remote, name: str) -> None:
        self._remote, self._name = remote, name

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        return self._remote.__getattr__(f"{self._name}.{verb}")


def done(verb: Any) -> Any:
    """What a verb of the model returns, which waits for nothing."""
    try:
        verb.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("the model waits for something")


def _shown(verb: str, args: tuple[Any, ...], reply: Any) -> str:
    match verb:
        case "lease":
            return " ".join(f"{lease.token}={lease.url.text}" for lease in reply)
        case "settle":
            return " ".join(f"{e.lease.token}={e.outcome}:{e.reason}" for e in args[0]) + f" -> {reply}"
        case "origins.settle_robots" | "origins.retry_robots" | "postpone":
            return f"{args[0].token}"
        case "release":
            return " ".join(str(each.lease.token) for each in args[0])
        case "postpone_all":
            return " ".join(str(back.lease.token) for back, _ in args[0])
        case "workers.holders" | "workers.alive":
            return " ".join(sorted(reply))
        case "workers.reclaim" | "workers.deregister" | "workers.send_heartbeat":
            return f"{args[0]} {reply}"
    return ""
