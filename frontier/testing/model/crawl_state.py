"""`CrawlState`: where every URL of the model is, and the steps between the places.

1. A URL that was let in is in exactly one place: its host's queue, later, one open lease, or it is settled.
2. A host has a turn exactly when one of its URLs waits and it is dead, or when no robots.txt of it is being fetched and
   it has fewer requests under way than its pace allows.
3. A host with a delay has at most one request under way, and the next starts no sooner than the delay after the end of
   the last: its release, or the deadline of the lease that was never released.
4. A page is granted only under a fresh robots record of its origin, or as given up: then no request is made for it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from thresher.core import Url
from thresher.frontier.codec.entries import entry_number
from thresher.frontier.crawl_settings import CrawlSettings
from thresher.frontier.lease import AddResult, Discovery, FrontierSettlement, Kind, Outcome, RestoredPage
from thresher.frontier.page_key import discovery_hash, discovery_key, page_key
from thresher.frontier.policy import UrlPolicy
from thresher.frontier.testing.model.circuit import (
    ORIGIN_FAULTS,
    Exchange,
    hold_reason,
    record_exchange,
    record_origin_fault,
    scaled,
)
from thresher.frontier.testing.model.entities import Domain, Host, OpenLease, Origin, Page
from thresher.frontier.testing.model.robots_bodies import expire_robots_bodies
from thresher.frontier.urls.novelty import is_let_through, starved_level
from thresher.frontier.urls.scope import Scope, registered_domain
from thresher.frontier.urls.template import url_template

MAX_EXPIRIES = 5
"""Workers that a page or a robots.txt may kill before it counts as their killer."""
EXPIRED, TRAP, DROPPED = "lease_expired", "trap", "dropped"
HEAD = 64
"""Pages at the front of a host's queue among which one may be granted before the first."""
UNREADABLE_MS = 3_600_000
"""Milliseconds for which a robots.txt that kills its readers forbids its origin: nobody knows what it allows
(`crawler.robots.robots_txt`).
"""


@dataclass(slots=True)
class CrawlState:
    """The whole state of a crawl."""

    settings: CrawlSettings
    seen: set[str] = field(default_factory=set)
    """Keys of known discoveries (`frontier.page_key.discovery_key`), and the keys of all their pages (`page_key`)."""
    hosts: dict[str, Host] = field(default_factory=dict)
    domains: dict[str, Domain] = field(default_factory=lambda: defaultdict(Domain))
    origins: dict[str, Origin] = field(default_factory=lambda: defaultdict(Origin))
    later: list[tuple[int, Page]] = field(default_factory=list)
    """When each page is tried again."""
    visits: list[tuple[int, Page]] = field(default_factory=list)
    """When each settled page is visited again."""
    open_leases: dict[int, OpenLease] = field(default_factory=dict)
    """Open leases by token, and so in the order in which they were made."""
    barred_scopes: set[Scope] = field(default_factory=set)
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    discarded: Counter[str] = field(default_factory=Counter)
    addresses: dict[str, tuple[int, int]] = field(default_factory=dict)
    """When each IP address was acquired last, and the end of the line of callers that wait for it."""
    turns: dict[str, tuple[int, int]] = field(default_factory=dict)
    """When each host was or will be requested in its last turn, and until when it wants no request."""
    unlogged_settlements: list[FrontierSettlement] = field(default_factory=list)
    """Settlements without a worker that are in no log yet."""
    logged_count: int = 0
    """Number of such settlements that are in a log."""
    tokens: int = 0
    requests: int = 0

    @property
    def delay(self) -> int:
        """Milliseconds between two requests to a host."""
        return self.settings.min_delay_ms

    @property
    def policy(self) -> UrlPolicy:
        """Which URLs are one page, and where traps are looked for."""
        return self.settings.policy

    # URLs

    def admit(self, discoveries: Iterable[Discovery], now: int, *, revive: bool = False) -> AddResult:
        """Make unknown URLs wait, host by host."""
        hosts: defaultdict[str, list[Discovery]] = defaultdict(list)
        for found in discoveries:
            hosts[found.url.host].append(found)
        added = known = 0
        discarded: Counter[str] = Counter()
        for found in (found for group in hosts.values() for found in group):
            if discovery_key(found, self.policy.query_order) in self.seen:
                known += 1
                continue
            if revive:
                self.ask_again(found, now)
            if reason := self.discard_reason(found):
                discarded[reason] += 1
            else:
                added += 1
                self.mark_known(found)
                self.enqueue(Page(discovery=found), now)
        self.discarded += discarded
        return AddResult(added=added, known=known, discarded=dict(discarded))

    def discard_reason(self, found: Discovery) -> str:
        """Return why a discovery is not let in; empty if it is."""
        domain, budget = self.domains[registered_domain(found.url.host)], self.settings.budget
        host = self.hosts.get(found.url.host)
        if host is None and domain.hosts >= budget.hosts:
            return "domain_hosts"
        if host is not None and host.dead_reason and not found.notify:
            return host.dead_reason
        if not self.knows(found.url):  # a page that was let in before counts once
            if budget.host is not None and (host.added if host else 0) >= budget.host:
                return "host_budget"
            if budget.domain is not None and domain.urls >= budget.domain:
                return "domain_budget"
        reason = self.unwanted_reason(host or self.new_host(found.url.host), Page(discovery=found))
        return "" if found.notify and reason == TRAP else reason  # it is given up when its turn comes

    def new_host(self, name: str) -> Host:
        """Return a host of which nothing is known yet."""
        domain = registered_domain(name)
        return Host(name=name, domain=domain, rank=self.domains[domain].rank)

    def ask_again(self, found: Discovery, now: int) -> None:
        """Ask the host and the origin of a discovery once more, if they were given up."""
        host, origin = self.hosts.get(found.url.host), self.origins[found.url.origin]
        if host is None:
            return
        if host.dead_reason:
            host.revive()
            host.held_until = 0
        if origin.is_given_up:
            origin.expires = origin.attempt = origin.held_until = 0
        host.schedule(now)

    def mark_known(self, found: Discovery) -> None:
        """Record that a discovery is known."""
        host = found.url.host
        domain = self.domains[registered_domain(host)]
        if host not in self.hosts:
            self.hosts[host] = self.new_host(host)
            domain.hosts += 1
        if not self.knows(found.url):
            self.hosts[host].added += 1
            domain.urls += 1
        self.seen |= {discovery_key(found, self.policy.query_order), self.key_of(found.url)}

    def knows(self, url: Url) -> bool:
        """Return whether the page of a URL was let in before."""
        return self.key_of(url) in self.seen

    def key_of(self, url: Url) -> str:
        """Return the key of the page of a URL."""
        return page_key(url.text, url.host, self.policy.query_order)

    def restore(self, restored: RestoredPage, now: int) -> bool:
        """Settle an unknown page with its former outcome; return False if it is known."""
        if discovery_key(restored.discovery, self.policy.query_order) in self.seen:
            return False
        self.mark_known(restored.discovery)
        self.count_outcome(restored.outcome, restored.reason)
        if restored.next_visit is not None:
            self.visits.append((now + max(restored.due_in_ms, 0), Page(discovery=restored.next_visit)))
        return True

    def unwanted_reason(self, host: Host, page: Page) -> str:
        """Return why a page is not wanted any more; empty if it is wanted."""
        standings = (
            host.template(url_template(page.discovery.url)),
            host.standing,
            self.domains[host.domain].standing,
        )
        number = entry_number(page.discovery, discovery_hash(page.discovery, self.policy.query_order))
        if starved_level(*standings) and not is_let_through(number) and self.policy.traps.is_on(host.name):
            return TRAP
        if any(bar.admits(page.discovery.url) for bar in self.barred_scopes):
            return DROPPED
        return ""

    def enqueue(self, page: Page, now: int) -> None:
        """Put a page into its host's queue, behind those of its level."""
        host = self.hosts[page.discovery.url.host]
        if host.dead_reason and not page.discovery.notify:
            self.settle_without_worker(page, Outcome.FAILED, host.dead_reason, now)
        else:
            host.enqueue(page)
            host.schedule(now)

    def put_back(self, page: Page, now: int) -> None:
        """Put a granted page back to the place from which it came. The caller schedules the host."""
        host = self.hosts[page.discovery.url.host]
        if host.dead_reason and not page.discovery.notify:
            self.settle_without_worker(page, Outcome.FAILED, host.dead_reason, now)
        else:
            host.put_back(page)

    def settle_without_worker(self, page: Page, outcome: Outcome, reason: str, now: int) -> None:
        """Settle a page that no worker holds, or that none is to hold."""
        self.count_outcome(outcome, reason)
        self.unlogged_settlements.append(
            FrontierSettlement(
                discovery=page.discovery, attempt=page.attempt, outcome=outcome, reason=reason, at_ms=now
            )
        )

    def count_outcome(self, outcome: Outcome, reason: str) -> None:
        """Count a settled page."""
        self.outcomes[outcome] += 1
        if reason:
            self.reasons[f"{outcome}:{reason}"] += 1

    def settle_all_waiting(self, host: Host, outcome: Outcome, reason: str, now: int) -> int:
        """Settle every waiting page of a host; return how many."""
        number = len(host.waiting)
        for page in host.waiting:
            self.settle_without_worker(page, outcome, reason, now)
        host.waiting.clear()
        return number

    def record_exchange(self, host: Host, exchange: Exchange, now: int) -> None:
        """Record the answer or fault of a request. The caller schedules the host."""
        if died := record_exchange(host, exchange, self.delay, now):
            # Where discoveries of it notify, what waits is given up one by one, when its turn comes (`_choose`).
            if not host.has_notifying_page:
                self.settle_all_waiting(host, Outcome.FAILED, died, now)
            host.dead_reason = died

    def record_page_exchange(self, host: Host, page: Page, exchange: Exchange, now: int) -> None:
        """Do as `record_exchange` does, for a page: if its host has several origins, the fault may
        be the origin's own.
        """
        origin = self.origins[page.discovery.url.origin]
        if host.has_several_origins and exchange.fault in ORIGIN_FAULTS:
            record_origin_fault(origin, exchange, self.delay, now)
            host.hold(exchange.hold_ms, now, hold_reason(exchange.reason, exchange.fault))
            return
        if host.has_several_origins and exchange.fault is None:
            origin.attempt = origin.held_until = 0
        self.record_exchange(host, exchange, now)

    def scaled(self, ms: int) -> int:
        """Return the milliseconds of a rest that no server asked for."""
        return scaled(ms, self.delay)

    # Leases

    def ready_hosts(self, now: int) -> list[Host]:
        """Return the hosts of the highest rank among those that may be asked, the longest waiting first."""
        ready = [
            (-host.rank, host.turn, host.name.encode(), host)
            for host in self.hosts.values()
            if host.turn is not None and host.turn <= now
        ]
        ready.sort(key=lambda entry: entry[:3])
        return [host for rank, *_, host in ready if rank == ready[0][0]]

    def soonest(self, now: int) -> int | None:
        """Return in how many milliseconds a host or a page may have its turn or a lease may end; None if nothing has a
        time.
        """
        times = [host.turn for host in self.hosts.values() if host.turn is not None]
        times += [at for at, _ in (*self.later, *self.visits)]
        times += [lease.deadline for lease in self.open_leases.values()]
        return max(min(times) - now, 0) if times else None

    def grant(self, host: Host, worker: str, lease_ms: int, now: int) -> int | None:
        """Grant a lease for the next page of a host whose turn it is, and return the token; None if the host must wait
        after all.
        """
        pace = host.pace_for(self.delay)
        if not (host.dead_reason or host.has_turn(pace, now)):
            return None
        page, failure = self._choose(host, now)
        if page is None:
            return None
        if failure:
            return self._grant_failure(host, page, failure, worker, lease_ms, now)
        origin = page.discovery.url.origin
        fresh = now < self.origins[origin].expires
        host.waiting.remove(page)
        if not fresh:
            host.put_back(page)
            host.is_fetching_robots = True
        self.tokens += 1
        self.requests += 1
        self.open_leases[self.tokens] = OpenLease(
            kind=Kind.PAGE if fresh else Kind.ROBOTS,
            host=host.name,
            origin=origin,
            page=page if fresh else None,
            worker=worker,
            granted_at=now,
            deadline=now + lease_ms,
        )
        host.open, host.pace = host.open + 1, pace
        more = host.waiting and not host.is_fetching_robots and not host.is_full(pace)
        host.turn = now if more else None
        return self.tokens

    def _choose(self, host: Host, now: int) -> tuple[Page | None, str]:
        """Return the next page of a host and its failure, if it is given up; no page if there is
        none or it must wait.
        """
        while host.waiting and (fate := self.give_up_outcome(host, host.waiting[0])):
            page = host.waiting[0]
            if failure := self._give_up(host, page, *fate, now):
                return page, failure
        if not host.waiting:
            host.turn = None
            return None, ""
        found = self._next_page_to_fetch(host, now)
        fate = None if found is None else self.give_up_outcome(host, found)
        return found, "" if found is None or fate is None else self._give_up(host, found, *fate, now)

    def give_up_outcome(self, host: Host, page: Page) -> tuple[Outcome, str] | None:
        """Return why a page is given up; None if it is to be fetched."""
        if reason := self.unwanted_reason(host, page):
            return Outcome.REFUSED, reason
        if host.dead_reason:
            return Outcome.FAILED, host.dead_reason
        if page.expiries >= MAX_EXPIRIES:
            return Outcome.FAILED, EXPIRED
        return None

    def _give_up(self, host: Host, page: Page, outcome: Outcome, reason: str, now: int) -> str:
        """Return the failure of a page that notifies; settle any other page and return an empty string."""
        if page.discovery.notify and reason != DROPPED:
            return f"{outcome}:{reason}"
        host.waiting.remove(page)
        self.settle_without_worker(page, outcome, reason, now)
        return ""

    def _grant_failure(
        self, host: Host, page: Page, failure: str, worker: str, lease_ms: int, now: int
    ) -> int:
        """Grant a lease for a page that is given up: no request is made for it, so neither pace nor robots rules
        matter.
        """
        host.waiting.remove(page)
        self.tokens += 1
        self.open_leases[self.tokens] = OpenLease(
            kind=Kind.PAGE,
            host=host.name,
            origin=page.discovery.url.origin,
            page=page,
            worker=worker,
            granted_at=now,
            deadline=now + lease_ms,
            released=True,
            failure=failure,
        )
        host.schedule(now)
        return self.tokens

    def _next_page_to_fetch(self, host: Host, now: int) -> Page | None:
        """Return the next page of a host whose origin does not rest, or that notifies though it is given up; None if
        the host must wait for one.
        """
        for page in host.waiting[:HEAD]:
            if self.origins[page.discovery.url.origin].held_until > now:
                continue
            fate = self.give_up_outcome(host, page)
            if fate is None or self._give_up(host, page, *fate, now):
                return page
        host.turn = min(self.origins[page.discovery.url.origin].held_until for page in host.waiting[:HEAD])
        return None

    def end_lease(self, token: int, at: int) -> tuple[OpenLease, Host]:
        """End a lease whose request was over at `at` at the latest. The caller schedules the host."""
        lease = self.open_leases.pop(token)
        host = self.hosts[lease.host]
        if not lease.released:
            host.end_exchange(at)
        if lease.kind is Kind.ROBOTS:
            host.is_fetching_robots = False
        return lease, host

    def uncount_request(self, lease: OpenLease) -> None:
        """Take back the count of a request that was never sent."""
        self.requests -= not lease.released

    def expire_lease(self, token: int, at: int, strike: int, now: int) -> None:
        """End a lease that nobody settled; `strike` is 1 if its deadline has passed."""
        lease, host = self.end_lease(token, at)
        if lease.page is not None:
            lease.page.expiries += strike
            # A page that notifies is then leased as a failure, and may kill as many workers again.
            if lease.page.expiries >= MAX_EXPIRIES * (1 + lease.page.discovery.notify):
                self.settle_without_worker(lease.page, Outcome.FAILED, EXPIRED, now)
            else:
                self.put_back(lease.page, now)
        else:
            origin = self.origins[lease.origin]
            origin.expiries += strike
            if origin.expiries >= MAX_EXPIRIES:
                origin.store("disallow", EXPIRED.encode(), now + UNREADABLE_MS, now)
        host.schedule(now)

    def catch_up(self, now: int) -> None:
        """Take back expired leases, and enqueue pages that are due."""
        expired = [(lease.deadline, token) for token, lease in self.open_leases.items()]
        for deadline, token in sorted(expired, reverse=True):  # each goes before those that are there
            if deadline <= now:
                self.expire_lease(token, deadline, 1, now)
        for aside in (self.later, self.visits):
            due = sorted((entry for entry in aside if entry[0] <= now), key=lambda entry: entry[0])
            aside[:] = [entry for entry in aside if entry[0] > now]
            for _, page in due:
                self.enqueue(page, now)
        expire_robots_bodies(self.origins, self.hosts, now)
