"""`Carrier`: a `Link` over any number of servers, whichever way they share the keys.

1. A call's reply is given back once, and only once its server has carried it out and a replica of it has it too
   (`frontier.link.master`).
2. A call that may not have been carried out, or that was sent to the wrong server, is made again; only that call, and
   calls on other servers do not wait for it to be made again. Every function may be carried out twice without harm.
3. One patience holds for all calls that are made together; when it is over, `Unavailable` says of one server what was
   wrong with it last. A refusal that patience does not help is told at once, as `Unavailable` too.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from redis.exceptions import (
    AskError,
    ClusterDownError,
    MovedError,
    ReadOnlyError,
    ResponseError,
    TryAgainError,
)

from frontier.link.call_retry import LOST, PATIENCE_S, Patience, refused
from frontier.link.link import CRAWLS, LIBRARY, Call
from frontier.link.lost_frontier import GONE, lost_frontier
from frontier.link.master import Command, Node
from frontier.link.partition import crawl_of

_NO_FUNCTION = "Function not found"
_SYNC = "WAITAOF"
_SYNC_MS = 2_000
"""A server that syncs its append-only file every second has done so, or its disk is in trouble."""
_PASSING = (_NO_FUNCTION, "NOREPLICAS", "BUSY ", "UNBLOCKED")


@dataclass(frozen=True, slots=True)
class _Errand:
    """A command with its place among the replies, and where the slot's owner said to ask (ASK)."""

    at: int
    key: str
    command: Command
    asked: Node | None = None


@dataclass(frozen=True, slots=True)
class _Batch:
    """What all calls that are made together share."""

    replies: list[Any]
    patience: Patience


class Carrier(ABC):
    """The link; which server has which key is for the implementation to know."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._code: str | None = None

    @abstractmethod
    def _route(self, key: str) -> Node:
        """Return the server that has a key. Raises one of `LOST` where it is not known."""

    @abstractmethod
    def _keys(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        """Return the keys that a function call names."""

    @abstractmethod
    def _at(self, node: Node, redirection: AskError) -> Node:
        """Return the server to which `node` redirects."""

    @abstractmethod
    def _masters(self) -> Sequence[Node]:
        """Return every server that has keys. Raises one of `LOST` where they are not known."""

    @abstractmethod
    async def _learn(self, node: Node | None, trouble: Exception) -> None:
        """Find out who has which keys, after `trouble` with `node`. Raises nothing: the next attempt will tell."""

    async def call(self, calls: Sequence[Call]) -> list[Any]:
        """Carry out calls; their replies, in the same order. Raises `Unavailable` where a server does not answer."""
        return await self._carry([self._command(call) for call in calls])

    async def sync(self, calls: Sequence[Call]) -> list[Any]:
        """Carry out calls that write, and return when these and all writes before them are on the disks of their servers, as far as
        those write to disks at all; the replies, as of `call`.
        """
        commands = [self._command(call) for call in calls]
        syncs = [(key, (_SYNC, 1, 0, _SYNC_MS)) for key, _ in commands]
        return (await self._carry([*commands, *syncs]))[: len(calls)]

    async def open(self, code: str) -> None:
        """Make every server ready: check that it can keep a frontier, load the function library where it is not.

        A server that comes later, or comes back without the library, is made ready before it is first called.
        """
        self._code = code
        patience = Patience(self._patience_s)
        attempt = 0
        while True:
            node = None
            try:
                for node in self._masters():
                    await node.check()
                    await node.ready(code)
            except LOST as error:
                if isinstance(error, ResponseError) and not _passing(error):
                    raise refused(_shown(node), error) from error
                await patience.rest(attempt, _shown(node), error)
                await self._learn(node, error)
                attempt += 1
            else:
                return

    async def unlink(self, keys: Sequence[str]) -> None:
        """Delete keys of one slot."""
        await self._carry([(keys[0], ("UNLINK", *keys))])

    async def names(self) -> set[str]:
        """Return the crawls that are listed."""
        (names,) = await self._carry([(CRAWLS, ("SMEMBERS", CRAWLS))])
        return {name.decode() for name in cast("set[bytes] | list[bytes]", names)}

    async def list_name(self, crawl: str) -> None:
        """List a crawl."""
        await self._carry([(CRAWLS, ("SADD", CRAWLS, crawl))])

    async def unlist_name(self, crawl: str) -> None:
        """List it no more."""
        await self._carry([(CRAWLS, ("SREM", CRAWLS, crawl))])

    def _command(self, call: Call) -> tuple[str, Command]:
        keys = self._keys(call.keys)
        return keys[0], ("FCALL", f"{LIBRARY}_{call.verb}", len(keys), *keys, *call.args)

    async def _carry(self, commands: Sequence[tuple[str, Command]]) -> list[Any]:
        errands = [_Errand(at, key, command) for at, (key, command) in enumerate(commands)]
        batch = _Batch([None] * len(commands), Patience(self._patience_s))
        await self._deliver(errands, batch, 0)
        return batch.replies

    async def _deliver(self, errands: Sequence[_Errand], batch: _Batch, attempt: int) -> None:
        """Carry errands out, those of one server at once, again and again; write their replies down."""
        while errands:
            node = None
            try:
                groups = self._grouped(errands)
                if len(groups) > 1:
                    await _all(self._deliver(group, batch, attempt) for group in groups.values())
                    return
                ((node, asking),) = groups
                if self._code is not None:
                    await node.ready(self._code)
                commands = [errand.command for errand in errands]
                answers = await node.carry(commands, batch.patience, asking=asking)
            except LOST as lost:
                if isinstance(lost, ResponseError) and not _passing(lost):
                    raise refused(_shown(node), lost) from lost
                trouble: Exception | None = lost
            else:
                errands, trouble = await self._sorted(node, errands, answers, batch, attempt)
            if trouble is not None:
                await batch.patience.rest(attempt, _shown(node), trouble)
                await self._learn(node, trouble)
                attempt += 1
            errands = [replace(errand, asked=None) for errand in errands]

    def _grouped(self, errands: Sequence[_Errand]) -> dict[tuple[Node, bool], list[_Errand]]:
        groups: dict[tuple[Node, bool], list[_Errand]] = {}
        for errand in errands:
            node = errand.asked or self._route(errand.key)
            groups.setdefault((node, errand.asked is not None), []).append(errand)
        return groups

    async def _sorted(
        self, node: Node, errands: Sequence[_Errand], answers: Sequence[Any], batch: _Batch, attempt: int
    ) -> tuple[list[_Errand], Exception | None]:
        """Write replies down and go where we are redirected; what is left to be done again, and why."""
        redirected: list[_Errand] = []
        again: list[_Errand] = []
        trouble: Exception | None = None
        for errand, answer in zip(errands, answers, strict=True):
            # One without an append-only file has nothing to wait for, one before Redis 7.2 no word for it.
            if not isinstance(answer, ResponseError) or errand.command[0] == _SYNC:
                batch.replies[errand.at] = answer
            elif isinstance(answer, AskError) and not isinstance(answer, MovedError):
                redirected.append(replace(errand, asked=self._at(node, answer)))
            elif str(answer).startswith(GONE):
                raise lost_frontier(crawl_of(errand.key)) from answer
            elif not _passing(answer):
                raise refused(_shown(node), answer) from answer
            else:
                again.append(errand)
                trouble = answer
                if str(answer) == _NO_FUNCTION:
                    node.lost_library()
        await self._deliver(redirected, batch, attempt)
        return again, trouble


async def _all(deliveries: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Wait for all of them; raises what the first raised that failed."""
    for ended in await asyncio.gather(*deliveries, return_exceptions=True):
        if ended is not None:
            raise ended


def _passing(refusal: ResponseError) -> bool:
    """Whether the same call may succeed somewhere else, or here a little later."""
    return isinstance(refusal, MovedError | TryAgainError | ClusterDownError | ReadOnlyError) or str(
        refusal
    ).startswith(_PASSING)


def _shown(node: Node | None) -> str:
    return "the frontier's cluster" if node is None else f"the frontier's server {node.name}"
