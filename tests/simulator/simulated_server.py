"""`Server`: the frontier's server, as far as it is the same whatever carries out what it is asked for; `Way`: that of one process to it.

1. A call travels, is carried out in one moment, and its reply travels back. Who is killed in between has called all the
   same: its call arrives, perhaps late.
2. Where a reply is lost, the link makes the call again (`frontier.link.retrying_link`): it is carried out twice. Where nobody answers for as
   long as the link has patience, the caller hears `Unavailable`.
3. A server that loses its tail has forgotten its last moments when it comes back: what it had replied did not happen.
4. The server writes down who it gave each lease to, and what was settled, but for what it has forgotten: by that a
   run is judged.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tests.simulator.process import Process
from tests.simulator.world import EPOCH_MS, World
from thresher.core import Unavailable
from thresher.frontier import CrawlSettings, Discovery, Frontier, Outcome, Stats

PATIENCE_S = 3.0


@dataclass(slots=True, kw_only=True)
class ServerHistory:
    """What the server knows to have happened, and forgets with its tail."""

    settled: dict[str, tuple[str, str, int, bool]] = field(default_factory=dict)
    """Of each page that a worker settled: outcome, worker, token, and whether it was asked for."""

    def settle(self, lease: Any, outcome: str, asked: bool) -> None:
        """A worker's settlement was accepted."""
        if outcome == Outcome.RETRY:
            if not lease.is_last_attempt:
                return
            outcome = Outcome.FAILED
        self.settled[lease.url.text] = str(outcome), lease.worker, lease.token, asked


class Server(ABC):
    """The one server."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.ledger = ServerHistory()
        self.away_until = 0.0
        self.granted: dict[int, tuple[str, str, float]] = {}
        """Of each token ever: worker, URL, and when. This is known to the run, whatever the server forgets."""
        self.repeats = 0.0
        """How likely a reply is lost."""
        self.lost_at: list[float] = []
        """When it lost its tail."""

    @property
    def life(self) -> int:
        """How often it has come back."""
        return len(self.lost_at)

    def now_ms(self) -> int:
        """Milliseconds since the epoch, by the server's clock."""
        return EPOCH_MS + round(self.world.now * 1000)

    @property
    @abstractmethod
    def settings(self) -> CrawlSettings:
        """What holds for the crawl."""

    @property
    @abstractmethod
    def stats(self) -> Stats:
        """Where every URL stands now."""

    @abstractmethod
    def begin(self, settings: CrawlSettings, discoveries: Sequence[Discovery]) -> None:
        """Make the crawl, durably: this is never lost."""

    @abstractmethod
    def frontier(self, process: Process) -> Frontier:
        """Return the frontier in the hands of a process; it has still to be opened."""

    @abstractmethod
    def is_given_up(self, host: str) -> bool:
        """Return whether a host is asked no more."""

    @abstractmethod
    def snapshot(self) -> Any:
        """Return all that is known now."""

    @abstractmethod
    def lose(self, snapshot: Any) -> None:
        """Come back with what was known then."""

    @abstractmethod
    def may_have_forgotten(self, worker: str, granted: float) -> bool:
        """Return whether a worker's lease may be unknown to the server that was granted then, and what was archived of it fetched again."""


class Way:
    """The way of one process to the server."""

    def __init__(self, server: Server, process: Process) -> None:
        self._server, self._process = server, process

    async def travel(self, arrive: Callable[[asyncio.Future[Any], bool], None]) -> Any:
        """Go there and back: `arrive` is called when the call is there, with who waits for the answer (`hear`), and whether the
        reply will be lost.
        """
        server, process, world = self._server, self._process, self._server.world
        begun = process.time()
        while True:
            answer = process.create_future()
            is_lost = world.random.random() < server.repeats
            world.after(world.latency(), partial(self._reach, arrive, answer, is_lost))
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

    def hear(self, answer: asyncio.Future[Any], kind: str, value: Any = None) -> None:
        """An answer travels back: a `reply`, what the server has to `raise`, or that the call was `lost`."""
        world = self._server.world
        world.after(world.latency(), lambda: self._heard(answer, (kind, value)))

    def _reach(self, arrive: Any, answer: asyncio.Future[Any], is_lost: bool) -> None:
        if self._server.world.now < self._server.away_until:
            self.hear(answer, "lost")
        else:
            arrive(answer, is_lost)

    def _heard(self, answer: asyncio.Future[Any], told: tuple[str, Any]) -> None:
        self._process.call_soon(lambda: None if answer.done() else answer.set_result(told))
