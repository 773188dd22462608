"""`Crawl`: where every URL of the model stands, and the steps between the places.

1. A URL that was let in is in exactly one place: its host's queue, later, one promise, or it is settled.
2. A host has a turn exactly when something of it waits, no robots.txt of it is being fetched, it is not dead, and it
   has fewer exchanges open than its pace allows.
3. A host with a delay has at most one exchange open, and the next begins no sooner than the delay after the end
   of the last: its release, or the deadline of the lease that was never released.
4. A page is granted only under a fresh robots record of its origin.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from frontier.encoding import number_of
from frontier.identity import identity, name
from frontier.lease import Added, Budget, Discovery, Fault, Kind, Outcome
from frontier.memory.circuit import OWN, died_of, judge, judge_origin, scaled
from frontier.memory.state import Domain, Host, Origin, Page, Promise
from frontier.novelty import starving, trickles
from frontier.policy import Policy
from frontier.scope import Scope, registered_domain
from frontier.template import template

MAX_EXPIRIES = 5
"""A page that kills five workers is the killer."""
_HEAD = 64
"""How far a page may be from the first and go before it."""
UNREADABLE_MS = 86_400_000
"""RFC 9309, section 2.4: robots.txt is not kept for longer than a day"""


@dataclass(slots=True)
class Crawl:
    """All that is known of a crawl."""

    budget: Budget
    policy: Policy
    seen: set[str] = field(default_factory=set)
    """What is known (`frontier.identity.name`)."""
    hosts: dict[str, Host] = field(default_factory=dict)
    domains: dict[str, Domain] = field(default_factory=lambda: defaultdict(Domain))
    origins: dict[str, Origin] = field(default_factory=lambda: defaultdict(Origin))
    later: list[tuple[int, Page]] = field(default_factory=list)
    """When a page is tried again."""
    visits: list[tuple[int, Page]] = field(default_factory=list)
    """When a settled page is visited again."""
    promises: dict[int, Promise] = field(default_factory=dict)
    """By token, and so in the order in which they were made."""
    bars: set[Scope] = field(default_factory=set)
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    discarded: Counter[str] = field(default_factory=Counter)
    addresses: dict[str, tuple[int, int]] = field(default_factory=dict)
    """When an IP address was entered last, and the end of the line of those who wait."""
    delay: int = 1_000
    """Between two exchanges with a host, as whoever leased last has it."""
    tokens: int = 0
    requests: int = 0

    # URLs

    def admit(self, discoveries: Iterable[Discovery], now: int) -> Added:
        """Make unknown URLs wait, host by host."""
        hosts: defaultdict[str, list[Discovery]] = defaultdict(list)
        for found in discoveries:
            hosts[found.url.host].append(found)
        added = known = 0
        discarded: Counter[str] = Counter()
        for found in (found for group in hosts.values() for found in group):
            said = name(found, self.policy.query_order)
            if said in self.seen:
                known += 1
            elif reason := self.discards(found):
                discarded[reason] += 1
            else:
                added += 1
                self.seen.add(said)
                self.let_in(found, now)
        self.discarded += discarded
        return Added(added=added, known=known, discarded=dict(discarded))

    def discards(self, found: Discovery) -> str:
        """Why a discovery is not let in; empty where it is."""
        domain = self.domains[registered_domain(found.url.host)]
        host = self.hosts.get(found.url.host)
        if host is None and domain.hosts >= self.budget.hosts:
            return "domain_hosts"
        if host is not None and host.dead:
            return host.dead
        if self.budget.host is not None and (host.added if host else 0) >= self.budget.host:
            return "host_budget"
        if self.budget.domain is not None and domain.urls >= self.budget.domain:
            return "domain_budget"
        return self.unwanted(host or self.new_host(found.url.host), Page(found=found))

    def new_host(self, name: str) -> Host:
        """A host of which nothing is known yet."""
        domain = registered_domain(name)
        return Host(name=name, domain=domain, rank=self.domains[domain].rank)

    def let_in(self, found: Discovery, now: int) -> None:
        """A discovery waits from now on."""
        host = found.url.host
        domain = self.domains[registered_domain(host)]
        if host not in self.hosts:
            self.hosts[host] = self.new_host(host)
            domain.hosts += 1
        self.hosts[host].added += 1
        domain.urls += 1
        self.wait(Page(found=found), now)

    def unwanted(self, host: Host, page: Page) -> str:
        """Why a page is not wanted any more; empty where it is."""
        standings = host.template(template(page.found.url)), host.standing, self.domains[host.domain].standing
        number = number_of(page.found, identity(page.found, self.policy.query_order))
        if starving(*standings) and not trickles(number) and self.policy.traps.of(host.name):
            return "trap"
        if any(bar.admits(page.found.url) for bar in self.bars):
            return "dropped"
        return ""

    def wait(self, page: Page, now: int) -> None:
        """Put a page into its host's queue, behind those of its level."""
        host = self.hosts[page.found.url.host]
        if host.dead:
            self.conclude(Outcome.FAILED, host.dead)
        else:
            host.enqueue(page)
        host.place(now)

    def put_back(self, page: Page) -> None:
        """Put a page that was granted back to where it came from. The caller places the host."""
        host = self.hosts[page.found.url.host]
        if host.dead:
            self.conclude(Outcome.FAILED, host.dead)
        else:
            host.put_back(page)

    def conclude(self, outcome: Outcome, reason: str) -> None:
        """A page is settled."""
        self.outcomes[outcome] += 1
        if reason:
            self.reasons[f"{outcome}:{reason}"] += 1

    def bury(self, host: Host, outcome: Outcome, reason: str) -> int:
        """Everything of a host that waits comes to an end; returns how many pages."""
        buried = len(host.waiting)
        for _ in host.waiting:
            self.conclude(outcome, reason)
        host.waiting.clear()
        return buried

    def judge(
        self, host: Host, fault: Fault | None, hold: int, granted: int, now: int, *, reason: str
    ) -> None:
        """An exchange that was granted then said this of its host. The caller places the host."""
        if died := judge(host, fault, hold, granted, self.delay, now, reason=reason):
            self.bury(host, Outcome.FAILED, died)
            host.dead = died

    def judge_page(
        self, host: Host, page: Page, fault: Fault | None, hold: int, granted: int, now: int, *, reason: str
    ) -> None:
        """As `judge`, of a page: where its host has several origins, it may be one's own fault."""
        origin = self.origins[page.found.url.origin]
        if host.several and fault in OWN:
            judge_origin(origin, fault, granted, self.delay, now, died_of(fault, reason))
            host.hold(hold, now)
            return
        if host.several and fault is None:
            origin.attempt = origin.rest = 0
        self.judge(host, fault, hold, granted, now, reason=reason)

    def scaled(self, ms: int) -> int:
        """How long a rest is that nobody asked for."""
        return scaled(ms, self.delay)

    # Leases

    def line(self, now: int) -> list[Host]:
        """The hosts that may be asked and have the highest rank of these, the longest waiting first."""
        ready = [
            (-host.rank, host.turn, host.name.encode(), host)
            for host in self.hosts.values()
            if host.turn is not None and host.turn <= now
        ]
        ready.sort(key=lambda entry: entry[:3])
        return [host for rank, *_, host in ready if rank == ready[0][0]]

    def grant(self, host: Host, worker: str, lease_ms: int, min_delay: int, now: int) -> int | None:
        """Promise the next of a host whose turn it is, and return the token; None where it must wait after all."""
        pace = host.pace_for(min_delay)
        if host.full(pace):
            host.turn = None
            return None
        at = max(host.after_last(pace), host.held)
        if at > now:
            host.turn = at
            return None
        while host.waiting and (reason := self.unwanted(host, host.waiting[0])):
            del host.waiting[0]
            self.conclude(Outcome.REFUSED, reason)
        if not host.waiting:
            host.turn = None
            return None
        page = self._awake(host, now)
        if page is None:
            return None
        origin = page.found.url.origin
        fresh = now < self.origins[origin].expires
        host.waiting.remove(page)
        if not fresh:
            host.put_back(page)
            host.asking = True
        self.tokens += 1
        self.requests += 1
        self.promises[self.tokens] = Promise(
            kind=Kind.PAGE if fresh else Kind.ROBOTS,
            host=host.name,
            origin=origin,
            page=page if fresh else None,
            worker=worker,
            granted=now,
            deadline=now + lease_ms,
        )
        host.open, host.pace = host.open + 1, pace
        more = host.waiting and not host.asking and not host.full(pace)
        host.turn = now if more else None
        return self.tokens

    def _awake(self, host: Host, now: int) -> Page | None:
        """The next page of a host whose origin does not rest; None where the host must wait for one."""
        for page in host.waiting[:_HEAD]:
            if self.origins[page.found.url.origin].rest > now:
                continue
            if not (reason := self.unwanted(host, page)):
                return page
            host.waiting.remove(page)
            self.conclude(Outcome.REFUSED, reason)
        host.turn = min(self.origins[page.found.url.origin].rest for page in host.waiting[:_HEAD])
        return None

    def finish(self, token: int, at: int) -> tuple[Promise, Host]:
        """End a promise whose exchange was over at `at` at the latest. The caller places the host."""
        promise = self.promises.pop(token)
        host = self.hosts[promise.host]
        if not promise.released:
            host.end_exchange(at)
        if promise.kind is Kind.ROBOTS:
            host.asking = False
        return promise, host

    def spare(self, promise: Promise) -> None:
        """The exchange of a promise never took place."""
        self.requests -= not promise.released

    def abandon(self, token: int, at: int, strike: int, now: int) -> None:
        """End a promise that nobody settled; `strike` is 1 where its deadline has passed."""
        promise, host = self.finish(token, at)
        if promise.page is not None:
            promise.page.expiries += strike
            if promise.page.expiries >= MAX_EXPIRIES:
                self.conclude(Outcome.FAILED, "lease_expired")
            else:
                self.put_back(promise.page)
        else:
            origin = self.origins[promise.origin]
            origin.expiries += strike
            if origin.expiries >= MAX_EXPIRIES:  # RFC 9309, section 2.3.1.4: unreachable
                origin.store("disallow", b"", now + UNREADABLE_MS)
        host.place(now)

    def catch_up(self, now: int) -> None:
        """Take back what has expired, and wake what is due."""
        expired = [(promise.deadline, token) for token, promise in self.promises.items()]
        for deadline, token in sorted(expired, reverse=True):  # each goes before those that are there
            if deadline <= now:
                self.abandon(token, deadline, 1, now)
        for aside in (self.later, self.visits):
            due = sorted((entry for entry in aside if entry[0] <= now), key=lambda entry: entry[0])
            aside[:] = [entry for entry in aside if entry[0] > now]
            for _, page in due:
                self.wait(page, now)
