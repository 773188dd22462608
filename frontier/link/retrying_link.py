"""`RetryingLink`: a `Link` over any number of servers, however they share the keys.

1. A call's reply is returned once, and only when its server has carried the call out and a replica has it too
   (`frontier.link.master`).
2. A call that may not have been carried out, or that was sent to the wrong server, is repeated. Only that call is
   repeated, and calls on other servers do not wait for it. Every function may be carried out twice without harm.
3. One deadline holds for all calls that are made together. After it, `Unavailable` names one server and its last error.
   A refusal that no repetition can change raises `Unavailable` at once.
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

from thresher.frontier.link.call import CRAWLS, LIBRARY, Call
from thresher.frontier.link.call_retry import NO_REPLY_ERRORS, RETRY_TIMEOUT_S, RetryDeadline, refusal_error
from thresher.frontier.link.lost_frontier import LOST_REPLY_PREFIX, lost_frontier_error
from thresher.frontier.link.master import Command, Master
from thresher.frontier.link.partition import crawl_of

_NO_FUNCTION = "Function not found"
_SYNC = "WAITAOF"
_SYNC_MS = 2_000
"""Milliseconds: a server that syncs its append-only file every second has done so, or its disk is in trouble."""
_TRANSIENT_REFUSALS = (_NO_FUNCTION, "NOREPLICAS", "BUSY ", "UNBLOCKED")


@dataclass(frozen=True, slots=True)
class _PendingCommand:
    """A command with its place among the replies, and the server that the slot's owner redirected it to (ASK)."""

    at: int
    key: str
    command: Command
    redirect_target: Master | None = None


@dataclass(frozen=True, slots=True)
class _Batch:
    """The state that calls made together share."""

    replies: list[Any]
    patience: RetryDeadline


class RetryingLink(ABC):
    """The link; an implementation knows which server has which key."""

    def __init__(self, retry_timeout_s: float = RETRY_TIMEOUT_S) -> None:
        self._retry_timeout_s = retry_timeout_s
        self._code: str | None = None

    @abstractmethod
    def _route(self, key: str) -> Master:
        """Return the server that has a key. Raise one of `NO_REPLY_ERRORS` if it is not known."""

    @abstractmethod
    def _keys(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        """Return the keys that a function call names."""

    @abstractmethod
    def _redirect_target(self, node: Master, redirection: AskError) -> Master:
        """Return the server to which `node` redirects."""

    @abstractmethod
    def _masters(self) -> Sequence[Master]:
        """Return every server that has keys. Raise one of `NO_REPLY_ERRORS` if they are not known."""

    @abstractmethod
    async def _refresh_topology(self, node: Master | None, error: Exception) -> None:
        """Find out which server has which keys, after `node` failed with `error`. Raise nothing: the next attempt
        shows whether it helped.
        """

    async def call(self, calls: Sequence[Call]) -> list[Any]:
        """Carry out calls, and return their replies in the same order. Raise `Unavailable` if a
        server does not answer.
        """
        return await self._send([self._command(call) for call in calls])

    async def sync(self, calls: Sequence[Call]) -> list[Any]:
        """Carry out calls that write, and return their replies when these writes and all before them are on the disks
        of their servers, as far as those write to disks.
        """
        commands = [self._command(call) for call in calls]
        syncs = [(key, (_SYNC, 1, 0, _SYNC_MS)) for key, _ in commands]
        return (await self._send([*commands, *syncs]))[: len(calls)]

    async def open(self, code: str) -> None:
        """Make every server ready: check that it can keep a frontier, and load the function library if it is missing.

        A server that joins later, or comes back without the library, is made ready before it is first called.
        """
        self._code = code
        patience = RetryDeadline(self._retry_timeout_s)
        attempt = 0
        while True:
            node = None
            try:
                for node in self._masters():
                    await node.check_compatibility()
                    await node.load_library(code)
            except NO_REPLY_ERRORS as error:
                if isinstance(error, ResponseError) and not _is_transient(error):
                    raise refusal_error(_server_name(node), error) from error
                await patience.back_off(attempt, _server_name(node), error)
                await self._refresh_topology(node, error)
                attempt += 1
            else:
                return

    async def unlink(self, keys: Sequence[str]) -> None:
        """Delete keys of one slot."""
        await self._send([(keys[0], ("UNLINK", *keys))])

    async def crawl_names(self) -> set[str]:
        """Return the names of the listed crawls."""
        (names,) = await self._send([(CRAWLS, ("SMEMBERS", CRAWLS))])
        return {name.decode() for name in cast("set[bytes] | list[bytes]", names)}

    async def add_crawl_name(self, crawl: str) -> None:
        """Add a crawl to the list."""
        await self._send([(CRAWLS, ("SADD", CRAWLS, crawl))])

    async def remove_crawl_name(self, crawl: str) -> None:
        """Remove a crawl from the list."""
        await self._send([(CRAWLS, ("SREM", CRAWLS, crawl))])

    def _command(self, call: Call) -> tuple[str, Command]:
        keys = self._keys(call.keys)
        return keys[0], ("FCALL", f"{LIBRARY}_{call.verb}", len(keys), *keys, *call.args)

    async def _send(self, commands: Sequence[tuple[str, Command]]) -> list[Any]:
        pending = [_PendingCommand(at, key, command) for at, (key, command) in enumerate(commands)]
        batch = _Batch([None] * len(commands), RetryDeadline(self._retry_timeout_s))
        await self._deliver(pending, batch, 0)
        return batch.replies

    async def _deliver(self, pending: Sequence[_PendingCommand], batch: _Batch, attempt: int) -> None:
        """Send commands, those of one server together, until each has a reply; store the replies in the batch."""
        while pending:
            node = None
            try:
                groups = self._group_by_server(pending)
                if len(groups) > 1:
                    await _all(self._deliver(group, batch, attempt) for group in groups.values())
                    return
                ((node, asking),) = groups
                if self._code is not None:
                    await node.load_library(self._code)
                commands = [each.command for each in pending]
                answers = await node.execute(commands, batch.patience, asking=asking)
            except NO_REPLY_ERRORS as no_reply:
                if isinstance(no_reply, ResponseError) and not _is_transient(no_reply):
                    raise refusal_error(_server_name(node), no_reply) from no_reply
                error: Exception | None = no_reply
            else:
                pending, error = await self._store_replies(node, pending, answers, batch, attempt)
            if error is not None:
                await batch.patience.back_off(attempt, _server_name(node), error)
                await self._refresh_topology(node, error)
                attempt += 1
            pending = [replace(each, redirect_target=None) for each in pending]

    def _group_by_server(
        self, pending: Sequence[_PendingCommand]
    ) -> dict[tuple[Master, bool], list[_PendingCommand]]:
        groups: dict[tuple[Master, bool], list[_PendingCommand]] = {}
        for each in pending:
            node = each.redirect_target or self._route(each.key)
            groups.setdefault((node, each.redirect_target is not None), []).append(each)
        return groups

    async def _store_replies(
        self,
        node: Master,
        pending: Sequence[_PendingCommand],
        answers: Sequence[Any],
        batch: _Batch,
        attempt: int,
    ) -> tuple[list[_PendingCommand], Exception | None]:
        """Store replies and follow redirections; return the commands that must be repeated, and why."""
        redirected: list[_PendingCommand] = []
        again: list[_PendingCommand] = []
        error: Exception | None = None
        for each, answer in zip(pending, answers, strict=True):
            # A server without an append-only file has nothing to sync; one before Redis 7.2 does not know WAITAOF.
            if not isinstance(answer, ResponseError) or each.command[0] == _SYNC:
                batch.replies[each.at] = answer
            elif isinstance(answer, AskError) and not isinstance(answer, MovedError):
                redirected.append(replace(each, redirect_target=self._redirect_target(node, answer)))
            elif str(answer).startswith(LOST_REPLY_PREFIX):
                raise lost_frontier_error(crawl_of(each.key)) from answer
            elif not _is_transient(answer):
                raise refusal_error(_server_name(node), answer) from answer
            else:
                again.append(each)
                error = answer
                if str(answer) == _NO_FUNCTION:
                    node.mark_library_lost()
        await self._deliver(redirected, batch, attempt)
        return again, error


async def _all(deliveries: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Wait for all deliveries; raise the error of the first that failed."""
    for ended in await asyncio.gather(*deliveries, return_exceptions=True):
        if ended is not None:
            raise ended


def _is_transient(refusal: ResponseError) -> bool:
    """Return whether the same call may succeed on another server, or on this one a little later."""
    return isinstance(refusal, MovedError | TryAgainError | ClusterDownError | ReadOnlyError) or str(
        refusal
    ).startswith(_TRANSIENT_REFUSALS)


def _server_name(node: Master | None) -> str:
    return "the frontier's cluster" if node is None else f"the frontier's server {node.name}"
