"""`Journal`: the recent calls of one client, which it repeats to a server that has forgotten them.

A server that dies loses the writes that it had not synced: a second's worth, with an append-only file. Then only its
clients know of these writes. Each client remembers its calls until they are certain, or until there are too many.

1. Every change is recorded with the life of the server in which it was made (the nonce of its library) and the time of
   the partition, which is part of each of its writes. A partition knows that time for each of its restarts (`births`):
   changes that were made later, and in an earlier life, are lost.
2. The journal also keeps the leases that are held, and with each settlement the leases that it ended. To repeat a
   settlement, the client must first have its lease granted again (`regrant`), because the grant may be lost too.
3. It remembers the newest `MAX_JOURNAL_BYTES` of calls. A server that has forgotten more cannot be made whole:
   `CorruptData`.

The journal is pure; `frontier.crawl_frontier` and the other clients make the calls.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from thresher.frontier.codec.entries import decode_entry
from thresher.frontier.lease import Kind
from thresher.frontier.link.call import Arg, Call
from thresher.frontier.link.lost_frontier import stale_frontier_error
from thresher.frontier.page_key import discovery_hash
from thresher.frontier.policy import UrlPolicy
from thresher.frontier.urls.scope import registered_domain

MAX_JOURNAL_BYTES = 25_000_000
"""Estimated bytes: the calls of a worker in some 20 s at its fastest, and of a seeder in 3 s."""
ARGUMENT = 96
"""Average bytes of an argument: a hash or an entry as an object, and its place in a tuple."""
SETTLING_MS = 10_000
"""Milliseconds for which a repeated lease is held at least: leases that had ended are settled in the next call."""
_NO_HASH = bytes(7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A lease in the form that its partition has."""

    token: int
    kind: bytes
    host: str
    subject: bytes
    failure: bytes
    worker: str
    until: float
    """Seconds by the monotonic clock; after that the lease has expired."""
    released: bool = False


@dataclass(slots=True, kw_only=True)
class JournaledCall:
    """A call that was carried out."""

    partition: int
    call: Call
    grants: tuple[Grant, ...]
    """The leases that the call ended."""
    nonce: bytes
    at_ms: int
    size: int


class Journal:
    """The calls and leases of one client of one crawl."""

    def __init__(self, crawl: str, max_bytes: int = MAX_JOURNAL_BYTES) -> None:
        """Remember about `max_bytes` of calls."""
        self._crawl, self._max_bytes = crawl, max_bytes
        self._changes: deque[JournaledCall] = deque()
        self._size = 0
        self._nonces: dict[int, bytes] = {}
        self._previous_nonces: dict[int, bytes] = {}
        self._stale: set[int] = set()
        self._dropped: dict[int, tuple[bytes, int]] = {}
        self._held: dict[int, Grant] = {}
        self.server_restarts = 0
        """Number of lives of partitions that have ended since the journal began, as far as the client has noticed."""

    def nonce(self, partition: int) -> bytes:
        """Return the life of a partition that the client knows; empty if it knows none."""
        return self._nonces.get(partition, b"")

    def register_partition(self, partition: int, nonce: bytes) -> None:
        """Record the life of a partition, unless the client knows one already."""
        self._nonces.setdefault(partition, nonce)

    def add(self, partition: int, call: Call, nonce: bytes, at_ms: int, tokens: Sequence[int] = ()) -> None:
        """Record a call that was carried out and ended the leases of these tokens."""
        grants = tuple(grant for token in tokens if (grant := self._held.pop(token, None)) is not None)
        size = ARGUMENT * (len(call.args) + 4 * len(grants) + 4)
        if call.verb == "settle_robots":
            size += sum(len(arg) for arg in call.args if isinstance(arg, bytes))
        change = JournaledCall(
            partition=partition, call=call, grants=grants, nonce=nonce, at_ms=at_ms, size=size
        )
        if nonce != self._nonces.get(partition):
            self._stale.add(partition)
        self._changes.append(change)
        self._size += size
        while self._size > self._max_bytes:
            old = self._changes.popleft()
            self._size -= old.size
            self._dropped[old.partition] = old.nonce, old.at_ms

    def add_grants(self, grants: Sequence[Grant]) -> None:
        """Record leases that are held from now on."""
        self._held.update((grant.token, grant) for grant in grants)

    def mark_released(self, token: int) -> None:
        """Record that the request of a lease is over, if the lease is held."""
        held = self._held.get(token)
        if held is not None and not held.released:
            self._held[token] = replace(held, released=True)

    def remove_grant(self, token: int) -> None:
        """Forget a lease that is not held any more."""
        self._held.pop(token, None)

    def remove_grants(self, worker: str) -> None:
        """Forget all leases of a worker."""
        for token in [token for token, grant in self._held.items() if grant.worker == worker]:
            del self._held[token]

    def extend_grant(self, token: int, until: float) -> None:
        """Record a later end of a lease, if it is held."""
        held = self._held.get(token)
        if held is not None:
            self._held[token] = replace(held, until=until)

    def current_grants(self, partition: int, partitions: int, now: float) -> list[Grant]:
        """Return the leases of a partition that are held."""
        for token in [token for token, grant in self._held.items() if grant.until <= now]:
            del self._held[token]
        return [grant for grant in self._held.values() if grant.token % partitions == partition]

    def is_current(self, partition: int, nonce: bytes) -> bool:
        """Return whether every call of the client was made in this life of the partition, or is certain."""
        return self._nonces.get(partition) == nonce and partition not in self._stale

    def suspend(self, partition: int) -> None:
        """Forget the life of a partition until `mark_reconciled`, so that the client is granted nothing meanwhile."""
        self._previous_nonces[partition] = self._nonces.get(partition, b"")
        self._nonces[partition] = b""

    def split_by_loss(
        self, partition: int, nonce: bytes, births: bytes
    ) -> tuple[list[JournaledCall], list[JournaledCall]]:
        """Return the calls that a partition has forgotten in its restarts (`births`), and those that it has kept. Raise
        `CorruptData` if it has forgotten more than the journal remembers.
        """
        lives = [each.rpartition(b":") for each in births.split()]
        names = _lives(births)

        def is_lost(life: bytes, at_ms: int) -> bool:
            if life == nonce:
                return False
            if life not in names:  # its beginning is forgotten, so all of it is
                return True
            later = [int(steady) for _, _, steady in lives[names.index(life) + 1 :]]
            return bool(later) and at_ms >= min(later)

        dropped = self._dropped.get(partition)
        if dropped is not None and is_lost(*dropped):
            raise stale_frontier_error(self._crawl)
        lost: list[JournaledCall] = []
        kept: list[JournaledCall] = []
        for change in self._changes:
            if change.partition == partition:
                (lost if is_lost(change.nonce, change.at_ms) else kept).append(change)
        return lost, kept

    def mark_reconciled(
        self,
        partition: int,
        nonce: bytes,
        births: bytes,
        again: Sequence[tuple[JournaledCall, int]],
        kept: Sequence[JournaledCall],
    ) -> None:
        """Record that a partition is in this life, the last of `births`, that the calls in `again` were repeated at
        these times, and that it had kept those in `kept`.

        A kept call counts as made in the life before: if the server dies again at once, it may also forget that this
        life began.
        """
        for change, at_ms in again:
            change.nonce, change.at_ms = nonce, at_ms
        certain = _lives(births)[-2:][0]
        for change in kept:
            change.nonce = certain
        if partition in self._dropped:
            self._dropped[partition] = certain, self._dropped[partition][1]
        known = {id(change) for change in kept}
        if all(
            change.nonce == nonce or id(change) in known
            for change in self._changes
            if change.partition == partition
        ):
            self._stale.discard(partition)
        self.server_restarts += self._previous_nonces.get(partition) != nonce
        self._nonces[partition] = nonce


def _lives(births: bytes) -> list[bytes]:
    """Return the lives that a partition remembers, the newest last."""
    return [each.rpartition(b":")[0] for each in births.split()]


def regrant_arguments(grants: Sequence[Grant], policy: UrlPolicy, now: float) -> list[Arg]:
    """Return the arguments of `regrant` for some leases."""
    args: list[Arg] = []
    for grant in grants:
        name = _NO_HASH
        if grant.kind.decode() == Kind.PAGE:
            name = discovery_hash(decode_entry(grant.host, grant.subject)[0], policy.query_order)
        args += (grant.host, registered_domain(grant.host), 1, name, grant.token, grant.kind)
        args += (grant.subject, grant.failure, int(grant.released))
        args.append(max(round(1000 * (grant.until - now)), SETTLING_MS))
    return args
