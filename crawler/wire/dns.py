"""`Resolver`: from the name of a host to its addresses, without a thread waiting for each (library `pycares`).

1. An answer is used again for as long as DNS says, but for a minute at least (a time to live of 0 would be a look-up for
   every page) and an hour at most. That a name has no address is remembered for a minute, that nobody answered for a few seconds.
2. Look-ups of one name at the same time are one. Names that were not asked for lately are forgotten first.
3. `/etc/hosts` and DNS are asked in the order that the system names (`hosts` in `/etc/nsswitch.conf`), the file first where it
   names none; `localhost` and names under it are this machine (RFC 6761, section 6.3). A name is taken as it is: no search
   domain is put behind it.
4. IPv4 and IPv6 are asked for at once and apart: a server that is silent on one of them costs `GRACE_S`, not the answer.
5. Nothing here says whether an address may be contacted. That is asked of the address that is connected to.
"""

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final

import pycares

from core import InputError
from crawler.wire.answer import Failure

SHORTEST_S = 60.0
LONGEST_S = 3600.0
NEGATIVE_S = 60.0
SILENT_S = 5.0
"""How long it is remembered that nobody answered: a datagram was lost, more often than not."""
SILENT: Final = "dns_timeout"
HOSTS = 10_000
"""Host names that are remembered."""
ADDRESSES = 100
"""Addresses of one host that are looked at."""
GRACE_S = 0.05
"""How long one family is waited for when the other has answered (RFC 8305, section 3)."""
TRIES = 3
"""How often a silent server is asked."""
LOOK_UPS = 20_000
"""After so many the library's channel is made anew: it has a cache of its own, without a bound."""
_NOBODY = frozenset({pycares.errno.ARES_ENOTFOUND, pycares.errno.ARES_ENODATA, pycares.errno.ARES_ENONAME})
_NO_ANSWER = frozenset({pycares.errno.ARES_ETIMEOUT, pycares.errno.ARES_ECONNREFUSED})
"""Nobody answered, in time or at all."""
_FAMILIES = (socket.AF_INET, socket.AF_INET6)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    addresses: tuple[str, ...] = ()
    ttl_s: float = NEGATIVE_S
    error: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    found: tuple[str, ...] | Failure
    until: float


class Resolver:
    """Looks names up; to be made inside a running event loop."""

    def __init__(self, servers: Sequence[str] = (), *, clock: Callable[[], float] | None = None) -> None:
        """`servers` are `ADDRESS:PORT`; the system's where there is none. `InputError` names the one that is none."""
        self._loop = asyncio.get_running_loop()
        self._servers, self._clock = tuple(servers), clock or self._loop.time
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._asking: dict[str, asyncio.Task[tuple[str, ...] | Failure]] = {}
        self._look_ups = 0
        self._channel: pycares.Channel | None = None
        for server in self._servers:
            _check(server)

    async def addresses(self, host: str, timeout_s: float) -> tuple[str, ...] | Failure:
        """The addresses of a host, at least one, IPv4 first; an address is its own."""
        if is_address(host):
            return (host,)
        known = self._known.get(host)
        if known is not None and known.until > self._clock():
            self._known.move_to_end(host)
            return known.found
        task = self._asking.get(host)
        if task is None:
            task = self._asking[host] = asyncio.create_task(self._look_up(host, timeout_s))
            task.add_done_callback(lambda _: self._asking.pop(host, None))
        return await asyncio.shield(task)

    def close(self) -> None:
        """Ask no more."""
        for task in self._asking.values():
            task.cancel()
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    async def _look_up(self, host: str, timeout_s: float) -> tuple[str, ...] | Failure:
        asked = [self._ask(host, family, timeout_s) for family in _FAMILIES]
        until = self._loop.time() + timeout_s
        done, waiting = await asyncio.wait(asked, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if waiting:
            some = any(one.result().addresses for one in done)
            more, waiting = await asyncio.wait(
                waiting, timeout=GRACE_S if some else until - self._loop.time()
            )
            done |= more
        for one in waiting:
            one.cancel()
        answers = [one.result() for one in asked if one in done]
        found = tuple(address for answer in answers for address in answer.addresses)[:ADDRESSES]
        ttl_s = min((answer.ttl_s for answer in answers if answer.addresses), default=NEGATIVE_S)
        said = found or _failure(host, answers, silent=len(answers) < len(asked))
        lost = isinstance(said, Failure) and said.reason == SILENT
        kept_s = SILENT_S if lost else min(max(ttl_s, SHORTEST_S), LONGEST_S)
        self._known[host] = _Known(found=said, until=self._clock() + kept_s)
        self._known.move_to_end(host)
        if len(self._known) > HOSTS:
            self._known.popitem(last=False)
        return said

    def _ask(self, host: str, family: int, timeout_s: float) -> "asyncio.Future[_Answer]":
        answer: asyncio.Future[_Answer] = self._loop.create_future()

        def back(result: Any, error: int | None) -> None:
            with suppress(RuntimeError):  # called in the library's thread: the event loop may be gone
                self._loop.call_soon_threadsafe(_settle, answer, result, error)

        try:
            self._open(timeout_s).getaddrinfo(
                host,
                None,
                family=socket.AddressFamily(family),
                type=socket.SOCK_STREAM,
                callback=back,
            )
        except (pycares.AresError, ValueError, UnicodeError):
            _settle(answer, None, pycares.errno.ARES_ENOTFOUND)
        return answer

    def _open(self, timeout_s: float) -> pycares.Channel:
        self._look_ups += 1
        if self._channel is None or self._look_ups % LOOK_UPS == 0:
            # An old channel lives on until its questions are answered.
            # No `lookups`, `domains` or `resolvconf_path`: pycares 5.2.1 gives the library their texts in memory that
            # it has freed by then. Where another thread was quicker the library knew of no way to look up a name,
            # and every look-up of the channel failed at once, as if the servers had refused it.
            self._channel = pycares.Channel(
                flags=pycares.ARES_FLAG_NOSEARCH,
                timeout=max(timeout_s / (2 * TRIES), 0.1),
                tries=TRIES,
                servers=self._servers or None,
            )
        return self._channel

    def __repr__(self) -> str:
        return f"<resolver: {len(self._known)} names known>"


def is_address(host: str) -> bool:
    """Whether a host is an IP address."""
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
    nodes = result.nodes[:ADDRESSES]
    addresses = dict.fromkeys(_text(node.addr[0]) for node in nodes)
    answer.set_result(
        _Answer(
            addresses=tuple(addresses), ttl_s=min((float(node.ttl) for node in nodes), default=NEGATIVE_S)
        )
    )


def _text(address: bytes | str) -> str:
    return address.decode() if isinstance(address, bytes) else address


def _failure(host: str, answers: Sequence[_Answer], *, silent: bool) -> Failure:
    """Why a name has no address. What was said of it counts before what was not."""
    errors = {answer.error for answer in answers}
    told = errors - _NO_ANSWER
    # That there is none of one family says nothing of the other.
    if not told or ((silent or errors & _NO_ANSWER) and told <= _NOBODY):
        return Failure(reason=SILENT, detail=f"no name server answered for {host}")
    why = max(told - _NOBODY, default=min(told))
    return Failure(reason="dns", detail=f"{host}: {_text(pycares.errno.strerror(why))}")
