"""`Resolver`: look up the addresses of a host without a thread for each look-up (library `pycares`).

1. An answer is cached as long as DNS says, but for a minute at least (a time to live of 0 would cost a look-up for
   every page) and an hour at most. That a name has no address is cached for a minute, and that no server could tell for
   seconds.
2. Simultaneous look-ups of one name are one look-up. The names that were looked up least recently are evicted first.
3. `/etc/hosts` and DNS are asked in the order that the system names (`hosts` in `/etc/nsswitch.conf`), the file first
   if it names no order; `localhost` and names under it are this machine (RFC 6761, section 6.3). A name is looked up as
   it is: no search domain is appended.
4. IPv4 and IPv6 are looked up at once and separately: a server that is silent on one of them costs
   `RESOLUTION_DELAY_S`, not the answer.
5. The resolver does not say whether an address may be contacted. The guard decides that for the address that is
   connected to.
6. `problem` tests whether the name servers work at all, with a name that each of them can answer for: the root. A
   server that answers SERVFAIL for it is there and can resolve nothing; one that refuses it serves other names.
"""

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from math import inf
from typing import Any, Final

import pycares

from thresher.core import InputError
from thresher.crawler.wire.fetch_failure import FetchFailure, Symptom

MIN_TTL_S = 60.0
MAX_TTL_S = 3600.0
NEGATIVE_TTL_S = 60.0
NO_ANSWER_TTL_S = 5.0
"""How long it is cached that no server could tell. Mostly a datagram was lost."""
DNS_TIMEOUT: Final = "dns_timeout"
MAX_CACHED_HOSTS = 10_000
"""Host names that are cached at most."""
MAX_ADDRESSES = 100
"""Addresses of one host that are used at most."""
RESOLUTION_DELAY_S = 0.05
"""How long the resolver waits for one family after the other has answered (RFC 8305, section 3)."""
TRIES = 3
"""How often a silent server is asked."""
LOOKUPS_PER_CHANNEL = 20_000
"""The library's channel is replaced after this many look-ups: it has a cache of its own, without a bound."""
_NOT_FOUND = frozenset({pycares.errno.ARES_ENOTFOUND, pycares.errno.ARES_ENODATA, pycares.errno.ARES_ENONAME})
_BAD_NAMES = frozenset({pycares.errno.ARES_EBADNAME, pycares.errno.ARES_EBADQUERY})
"""The library asks no server for these names."""
_NO_ANSWER = frozenset({pycares.errno.ARES_ETIMEOUT, pycares.errno.ARES_ECONNREFUSED})
"""No server answered, in time or at all."""
_FAMILIES = (socket.AF_INET, socket.AF_INET6)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    addresses: tuple[str, ...] = ()
    ttl_s: float = NEGATIVE_TTL_S
    error: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _CacheEntry:
    result: tuple[str, ...] | FetchFailure
    expires_at: float


class Resolver:
    """Looks names up; create it inside a running event loop."""

    def __init__(self, servers: Sequence[str] = (), *, clock: Callable[[], float] | None = None) -> None:
        """Ask `servers`, each written `ADDRESS:PORT`; without any, the system's. Raise `InputError` for one that is
        none.
        """
        self._loop = asyncio.get_running_loop()
        self._servers, self._clock = tuple(servers), clock or self._loop.time
        self._cache: OrderedDict[str, _CacheEntry] = OrderedDict()
        self._lookups: dict[str, asyncio.Task[tuple[str, ...] | FetchFailure]] = {}
        self._look_ups = 0
        self._channel: pycares.Channel | None = None
        self.answered_at = -inf
        """When a name server last said where a name leads, or that it leads nowhere; seconds of the event
        loop's clock.
        """
        for server in self._servers:
            _check(server)

    async def addresses(self, host: str, timeout_s: float) -> tuple[str, ...] | FetchFailure:
        """Return the addresses of a host, at least one, IPv4 first. The address of an address is itself."""
        if is_address(host):
            return (host,)
        known = self._cache.get(host)
        if known is not None and known.expires_at > self._clock():
            self._cache.move_to_end(host)
            return known.result
        task = self._lookups.get(host)
        if task is None:
            task = self._lookups[host] = asyncio.create_task(self._look_up(host, timeout_s))
            task.add_done_callback(lambda _: self._lookups.pop(host, None))
        return await asyncio.shield(task)

    async def problem(self, timeout_s: float) -> str:
        """Return in one line why the name servers do not work; empty if they do."""
        answer: asyncio.Future[_Answer] = self._loop.create_future()
        try:
            # A channel of its own has cached no answer, and has marked no server as silent.
            channel = self._new_channel(timeout_s)
        except pycares.AresError as failed:
            return f"names cannot be looked up: {failed}"
        error = pycares.errno.ARES_ETIMEOUT
        try:
            channel.query(".", pycares.QUERY_TYPE_NS, callback=self._callback(answer, _settle_root))
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    error = (await answer).error
        finally:
            channel.close()
        which = ", ".join(self._servers) or "those of this system"
        if error in _NO_ANSWER:
            return f"no name server answers ({which})"
        if error == pycares.errno.ARES_ESERVFAIL:
            return f"the name servers can resolve nothing ({which})"
        self.answered_at = self._loop.time()
        self._channel = None  # the next channel reads the system's name servers anew
        for host in [host for host, known in self._cache.items() if _is_unanswered(known.result)]:
            del self._cache[host]
        return ""

    def close(self) -> None:
        """Cancel all look-ups."""
        for task in self._lookups.values():
            task.cancel()
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    async def _look_up(self, host: str, timeout_s: float) -> tuple[str, ...] | FetchFailure:
        look_ups = [self._ask(host, family, timeout_s) for family in _FAMILIES]
        deadline = self._loop.time() + timeout_s
        done, waiting = await asyncio.wait(look_ups, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if waiting:
            some = any(one.result().addresses for one in done)
            more, waiting = await asyncio.wait(
                waiting, timeout=RESOLUTION_DELAY_S if some else deadline - self._loop.time()
            )
            done |= more
        for one in waiting:
            one.cancel()
        answers = [one.result() for one in look_ups if one in done]
        found = tuple(address for answer in answers for address in answer.addresses)[:MAX_ADDRESSES]
        ttl_s = min((answer.ttl_s for answer in answers if answer.addresses), default=NEGATIVE_TTL_S)
        # An entry of the hosts file has no time to live.
        if any(one.ttl_s > 0 if one.addresses else one.error in _NOT_FOUND for one in answers):
            self.answered_at = self._loop.time()
        result = found or _failure(host, answers, silent=len(answers) < len(look_ups))
        kept_s = NO_ANSWER_TTL_S if _is_unanswered(result) else min(max(ttl_s, MIN_TTL_S), MAX_TTL_S)
        self._cache[host] = _CacheEntry(result=result, expires_at=self._clock() + kept_s)
        self._cache.move_to_end(host)
        if len(self._cache) > MAX_CACHED_HOSTS:
            self._cache.popitem(last=False)
        return result

    def _ask(self, host: str, family: int, timeout_s: float) -> "asyncio.Future[_Answer]":
        answer: asyncio.Future[_Answer] = self._loop.create_future()
        try:
            channel = self._open(timeout_s)
        except pycares.AresError:  # this machine has no memory or no file left
            _settle(answer, None, pycares.errno.ARES_ECONNREFUSED)
            return answer
        try:
            channel.getaddrinfo(
                host,
                None,
                family=socket.AddressFamily(family),
                type=socket.SOCK_STREAM,
                callback=self._callback(answer, _settle),
            )
        except (pycares.AresError, ValueError, UnicodeError):
            _settle(answer, None, pycares.errno.ARES_ENOTFOUND)
        return answer

    def _callback(
        self, answer: "asyncio.Future[_Answer]", settle: "Callable[[asyncio.Future[_Answer], Any, Any], None]"
    ) -> Callable[[Any, int | None], None]:
        def back(result: Any, error: int | None) -> None:
            with suppress(RuntimeError):  # called in the library's thread: the event loop may be gone
                self._loop.call_soon_threadsafe(settle, answer, result, error)

        return back

    def _open(self, timeout_s: float) -> pycares.Channel:
        self._look_ups += 1
        if self._channel is None or self._look_ups % LOOKUPS_PER_CHANNEL == 0:
            # An old channel lives on until its look-ups are answered.
            self._channel = self._new_channel(timeout_s)
        return self._channel

    def _new_channel(self, timeout_s: float) -> pycares.Channel:
        # Pass no `lookups`, `domains` or `resolvconf_path`: pycares 5.2.1 passes their texts to the library in memory
        # that it has freed by then. If another thread reused that memory first, the library knew no way to look up a
        # name, and every look-up of the channel failed at once, as if the servers had refused it.
        return pycares.Channel(
            flags=pycares.ARES_FLAG_NOSEARCH,
            timeout=max(timeout_s / (2 * TRIES), 0.1),
            tries=TRIES,
            servers=self._servers or None,
        )

    def __repr__(self) -> str:
        return f"<resolver: {len(self._cache)} names cached>"


@lru_cache(maxsize=MAX_CACHED_HOSTS)
def is_address(host: str) -> bool:
    """Return whether a host is an IP address."""
    if ":" not in host and not host[-1:].isdigit():
        return False
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _check(server: str) -> None:
    address, colon, port = server.rpartition(":")
    if not (colon and port.isascii() and port.isdecimal() and is_address(address.strip("[]"))):
        raise InputError(
            f"crawler.nameservers: {server!r} is no name server; write ADDRESS:PORT such as 192.0.2.53:53"
        )


def _settle(answer: "asyncio.Future[_Answer]", result: Any, error: int | None) -> None:
    if answer.done():
        return
    if error or result is None:
        answer.set_result(_Answer(error=error or pycares.errno.ARES_ENODATA))
        return
    nodes = result.nodes[:MAX_ADDRESSES]
    addresses = dict.fromkeys(_text(node.addr[0]) for node in nodes)
    answer.set_result(
        _Answer(
            addresses=tuple(addresses), ttl_s=min((float(node.ttl) for node in nodes), default=NEGATIVE_TTL_S)
        )
    )


def _settle_root(answer: "asyncio.Future[_Answer]", _: Any, error: int | None) -> None:
    if not answer.done():
        answer.set_result(_Answer(error=error or 0))


def _is_unanswered(found: tuple[str, ...] | FetchFailure) -> bool:
    """Return whether no name server could tell: that is cached for seconds only."""
    return isinstance(found, FetchFailure) and found.symptom == "no_name_server"


def _text(address: bytes | str) -> str:
    return address.decode() if isinstance(address, bytes) else address


def _failure(host: str, answers: Sequence[_Answer], *, silent: bool) -> FetchFailure:
    """Return why a name has no address. What servers said counts before what they did not say."""
    errors = {answer.error for answer in answers}
    answered = errors - _NO_ANSWER
    # That a name has no address of one family says nothing about the other.
    if not answered or ((silent or errors & _NO_ANSWER) and answered <= _NOT_FOUND):
        return FetchFailure(
            reason=DNS_TIMEOUT, detail=f"no name server answered for {host}", symptom="no_name_server"
        )
    why = max(answered - _NOT_FOUND, default=min(answered))
    symptom: Symptom = "denied" if answered <= _NOT_FOUND | _BAD_NAMES else "no_name_server"
    return FetchFailure(reason="dns", detail=f"{host}: {_text(pycares.errno.strerror(why))}", symptom=symptom)
