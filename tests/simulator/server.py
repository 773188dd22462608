"""`Server`: the frontier's server, which is the model in memory; and `Remote`, the way of one process to it.

1. A call travels, is carried out in one moment, and its reply travels back. Who is killed in between has called all the
   same: its call arrives, perhaps late.
2. Where a reply is lost, the link makes the call again (`frontier.link.retrying_link`): it is carried out twice. Where nobody answers for as
   long as the link has patience, the caller hears `Unavailable`.
3. A server that loses its tail has forgotten its last moments when it comes back: what it had replied did not happen. It
   has another nonce then, as a real one has: its tokens leap ahead, and all hosts and addresses wait for a delay
   (`lua/state/clock.lua`: `since`).
4. The server writes down who it gave each lease to, and what was settled, but for what it has forgotten: by that a
   run is judged.
"""

import asyncio
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from core import Unavailable
from frontier import Outcome, Settlement, Stats
from frontier.testing import MemoryFrontier
from tests.simulator.process import Process
from tests.simulator.world import EPOCH_MS, World

PATIENCE_S = 3.0
LOST_TOKENS = 1 << 20


@dataclass(slots=True, kw_only=True)
class Ledger:
    """What the server knows to have happened, and forgets with its tail."""

    settled: dict[str, tuple[str, str, int, bool]] = field(default_factory=dict)
    """Of each page that a worker settled: outcome, worker, token, and whether it was asked for."""


class Server:
    """The one server."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.model = MemoryFrontier(clock=self.now_ms)
        self.ledger = Ledger()
        self.away_until = 0.0
        self.granted: dict[int, tuple[str, str, float]] = {}
        """Of each token ever: worker, URL, and when. This is known to the run, whatever the server forgets."""
        self.lost_at: list[float] = []
        """When it lost its tail."""
        self.repeats = 0.0
        """How likely a reply is lost."""

    def now_ms(self) -> int:
        return EPOCH_MS + round(self.world.now * 1000)

    @property
    def stats(self) -> Stats:
        return done(self.model.stats())

    def snapshot(self) -> bytes:
        """All that is known now."""
        state = {name: value for name, value in vars(self.model).items() if name != "_clock"}
        return pickle.dumps((state, self.ledger))

    def lose(self, snapshot: bytes) -> None:
        """Come back with what was known then."""
        state, self.ledger = pickle.loads(snapshot)
        vars(self.model).update(state)
        crawl, now = self.model._crawl, self.now_ms()
        crawl.tokens += LOST_TOKENS
        for host in crawl.hosts.values():
            host.last = max(host.last, now)
            if host.turn is not None:
                host.turn = max(host.turn, host.after_last(max(host.delay, host.pace, crawl.delay)))
        for address, (last, end) in crawl.addresses.items():
            crawl.addresses[address] = max(last, now), end
        self.lost_at.append(self.world.now)

    def carry_out(self, verb: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Do what was called for; what it raises is raised to the caller."""
        before = {}
        if verb == "settle":
            held = self.model._crawl.promises
            before = {
                ended.lease.token: ended
                for ended in args[0]
                if (promise := held.get(ended.lease.token)) is not None and promise.page is not None
            }
        reply = done(getattr(self.model, verb)(*args, **named))
        if verb == "lease":
            for lease in reply:
                self.granted[lease.token] = lease.worker, lease.url.text, self.world.now
        for settlement in before.values():
            self._settled(settlement)
        return reply

    def _settled(self, ended: Settlement) -> None:
        lease, outcome = ended.lease, ended.outcome
        if outcome is Outcome.RETRY:
            if not lease.is_last_attempt:
                return
            outcome = Outcome.FAILED
        self.ledger.settled[lease.url.text] = str(outcome), lease.worker, lease.token, ended.asked


class Remote:
    """A `Frontier`, in the hands of a process."""

    def __init__(self, server: Server, process: Process) -> None:
        self._server, self._process = server, process

    @property
    def settings(self):
        return self._server.model.settings

    @property
    def restarts(self):
        return self._server.model.restarts

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        if verb.startswith("_"):
            raise AttributeError(verb)

        async def call(*args: Any, **named: Any) -> Any:
            return await self._call(verb, args, named)

        return call

    async def _call(self, verb: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        server, process, world = self._server, self._process, self._server.world
        begun = process.time()
        while True:
            answer = process.create_future()
            is_lost = world.random.random() < server.repeats
            server.world.after(world.latency(), partial(self._arrive, verb, args, named, answer, is_lost))
            try:
                async with asyncio.timeout(1.0 if is_lost else None):
                    kind, value = await answer
            except TimeoutError:
                kind, value = "lost", None
            if kind == "reply":
                return value
            if kind == "raise":
                raise value
            if process.time() - begun > PATIENCE_S:
                raise Unavailable("the frontier's server does not answer")
            await asyncio.sleep(0.05 + 0.2 * world.random.random())

    def _arrive(self, verb: str, args: Any, named: Any, answer: asyncio.Future[Any], is_lost: bool) -> None:
        server, world = self._server, self._server.world
        if world.now < server.away_until:
            world.after(world.latency(), lambda: self._hear(answer, ("lost", None)))
            return
        try:
            told = "reply", server.carry_out(verb, args, named)
        except Exception as error:  # noqa: BLE001 - the caller raises it
            told = "raise", error
        said = repr(told[1]) if told[0] == "raise" else _shown(verb, args, told[1])
        world.note(self._process.name, f"{verb} {said}".rstrip())
        if not is_lost:
            world.after(world.latency(), lambda: self._hear(answer, told))

    def _hear(self, answer: asyncio.Future[Any], told: tuple[str, Any]) -> None:
        self._process.call_soon(lambda: None if answer.done() else answer.set_result(told))


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
        case "settle_robots" | "retry_robots" | "postpone":
            return f"{args[0].token}"
        case "release":
            return " ".join(str(each.lease.token) for each in args[0])
        case "postpone_all":
            return " ".join(str(back.lease.token) for back, _ in args[0])
        case "holders" | "alive":
            return " ".join(sorted(reply))
        case "reclaim" | "leave" | "beat":
            return f"{args[0]} {reply}"
    return ""
