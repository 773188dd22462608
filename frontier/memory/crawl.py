"""`Crawl`: where every URL of the model stands, and the steps between the places.

1. A page that is known and not settled is in exactly one place: its host's queue, later, or one promise.
2. A host has a turn exactly when something of it waits, no robots.txt of it is being fetched, and it has fewer
   exchanges open than its pace allows.
3. A host with a delay has at most one exchange open, and the next begins no sooner than the delay after the end
   of the last: its release, or the deadline of the lease that was never released.
4. A page is granted only under a fresh robots record of its origin.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from frontier.lease import Discovery, Kind, Outcome
from frontier.memory.state import Host, Origin, Page, Promise

MAX_ATTEMPTS = 3
"""Nutch: db.fetch.retry.max"""
MAX_EXPIRIES = 5
"""A page that kills five workers is the killer."""
_UNREADABLE_MS = 86_400_000  # RFC 9309, section 2.4: robots.txt is not kept for longer than a day


@dataclass(slots=True)
class Crawl:
    """All that is known of a crawl."""

    seen: set[str] = field(default_factory=set)
    """Canonical texts."""
    hosts: dict[str, Host] = field(default_factory=dict)
    later: list[tuple[int, Page]] = field(default_factory=list)
    """When a page is tried again."""
    promises: dict[int, Promise] = field(default_factory=dict)
    """By token."""
    origins: dict[str, Origin] = field(default_factory=dict)
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    tokens: int = 0

    def admit(self, discoveries: Iterable[Discovery], now: int) -> int:
        """Make unknown URLs wait; returns how many there were."""
        unknown = 0
        for found in discoveries:
            if found.url.text not in self.seen:
                self.seen.add(found.url.text)
                unknown += 1
                self.wait(Page(found=found), now)
        return unknown

    def wait(self, page: Page, now: int) -> None:
        """Put a page into its host's queue."""
        host = self.hosts.setdefault(page.found.url.host, Host(name=page.found.url.host))
        host.enqueue(page)
        host.place(now)

    def wait_until(self, due: int, page: Page) -> None:
        """Put a page aside."""
        self.later.append((due, page))

    def conclude(self, outcome: Outcome, reason: str) -> None:
        """A page is settled."""
        self.outcomes[outcome] += 1
        if reason:
            self.reasons[f"{outcome}:{reason}"] += 1

    def origin(self, name: str) -> Origin:
        """What is known of an origin's robots.txt."""
        return self.origins.setdefault(name, Origin())

    def grant(self, host: Host, worker: str, deadline: int, min_delay: int, now: int) -> int | None:
        """Promise the next of a host whose turn it is, and return the token; None where it must wait after all."""
        pace = max(min_delay, host.delay)
        if host.full(pace):
            host.turn = None
            return None
        if host.last > 0 and host.last + pace > now:
            host.turn = host.last + pace
            return None
        page = host.waiting[0]
        origin = page.found.url.origin
        fresh = now < self.origin(origin).expires
        promise = Promise(
            kind=Kind.PAGE if fresh else Kind.ROBOTS,
            host=host.name,
            origin=origin,
            page=page if fresh else None,
            worker=worker,
            deadline=deadline,
        )
        if fresh:
            del host.waiting[0]
        else:
            host.asking = True
        self.tokens += 1
        self.promises[self.tokens] = promise
        host.open, host.pace, host.turn = host.open + 1, pace, None
        host.place(now)
        return self.tokens

    def finish(self, token: int, at: int) -> Promise:
        """End a promise whose exchange was over at `at` at the latest. The caller places the host."""
        promise = self.promises.pop(token)
        host = self.hosts[promise.host]
        if not promise.released:
            host.end_exchange(at)
        if promise.kind is Kind.ROBOTS:
            host.asking = False
        return promise

    def abandon(self, token: int, at: int, strike: int, now: int) -> None:
        """End a promise that nobody settled; `strike` is 1 where its deadline has passed."""
        promise = self.finish(token, at)
        if promise.page is not None:
            promise.page.expiries += strike
            if promise.page.expiries >= MAX_EXPIRIES:
                self.conclude(Outcome.FAILED, "lease_expired")
            else:
                self.wait(promise.page, now)
        else:
            origin = self.origin(promise.origin)
            origin.expiries += strike
            if origin.expiries >= MAX_EXPIRIES:  # RFC 9309, section 2.3.1.4: unreachable
                origin.version += 1
                origin.rule, origin.body, origin.expires = "disallow", b"", now + _UNREADABLE_MS
                origin.attempt = origin.expiries = 0
        self.hosts[promise.host].place(now)

    def catch_up(self, now: int) -> None:
        """Take back what has expired, and wake what is due."""
        expired = [(promise.deadline, token) for token, promise in self.promises.items()]
        for deadline, token in sorted(expired):
            if deadline <= now:
                self.abandon(token, deadline, 1, now)
        due = [(at, page) for at, page in self.later if at <= now]
        self.later = [(at, page) for at, page in self.later if at > now]
        for _, page in sorted(due, key=lambda entry: entry[0]):
            self.wait(page, now)

    def line(self, now: int) -> list[Host]:
        """The hosts that may be asked, the longest waiting first."""
        ready = [(host.turn, host.name.encode(), host) for host in self.hosts.values() if host.turn is not None]
        return [host for turn, _, host in sorted(ready, key=lambda entry: entry[:2]) if turn <= now]
