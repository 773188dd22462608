"""The state of the model: `Page`, `Host`, `Domain`, `Origin`, `OpenLease`. Times are milliseconds of its clock.

A time that ends now has ended by the next millisecond: no delay is over before then.
"""

from dataclasses import dataclass, field

from thresher.frontier.lease import Discovery, Kind, Rank
from thresher.frontier.robots_record import RobotsRule, next_review_ms
from thresher.frontier.urls.novelty import DOMAIN, HOST, TEMPLATE

MAX_OPEN = 16
"""Requests at once to a host that has no delay: the host is ours, or a test's."""
_SLOWEST_MS = 30_000  # Heritrix: maxDelayMs
_FACTOR = 2  # of the time that a host takes to answer
_MAX_ANSWER_MS = 600_000


@dataclass(slots=True, kw_only=True)
class Page:
    """A URL that is not settled."""

    discovery: Discovery
    attempt: int = 0
    expiries: int = 0
    """Times that its worker was not heard of by the deadline."""
    is_recovered: bool = False
    """Whether a worker that held it died."""

    @property
    def level(self) -> int:
        """The order of a host's pages; the lowest level comes first."""
        return self.discovery.depth - self.discovery.priority


@dataclass(slots=True, kw_only=True)
class Origin:
    """The robots.txt of one origin."""

    version: int = 0
    expires: int = 0
    rule: RobotsRule = "allow"
    body: bytes = b""
    attempt: int = 0
    """Times in a row that the robots.txt, or a page of the origin, could not be fetched."""
    expiries: int = 0
    """Times that a worker with the robots.txt was not heard of again since it was read last."""
    is_recovered: bool = False
    """Whether a worker that held it died since then."""
    held_until: int = 0
    """No request is sent to the origin before this time."""
    hold_reason: str = ""
    """Reason code of the hold."""

    @property
    def is_given_up(self) -> bool:
        """Whether the origin is given up or forbids every page."""
        return self.rule == "disallow"

    review_at: int = 0
    """When the frontier reviews whether the rules are still needed; 0 if there are none."""

    def store(self, rule: RobotsRule, body: bytes, expires: int, now: int) -> None:
        """Store a robots.txt that was read, or give the origin up."""
        self.version += 1
        self.review_at = next_review_ms(body, now) if rule == "rules" else 0
        self.rule, self.body, self.expires = rule, body, expires
        self.attempt = self.expiries = self.held_until = 0
        self.is_recovered &= rule == "disallow"


@dataclass(slots=True, kw_only=True)
class OpenLease:
    """A lease that has not ended, for `page`, or for the robots.txt of `origin`."""

    kind: Kind
    host: str
    origin: str
    page: Page | None
    worker: str
    granted_at: int
    deadline: int
    released: bool = False
    failure: str = ""
    """Why the page is given up, as `outcome:reason`."""


@dataclass(slots=True, kw_only=True)
class Domain:
    """One registered domain."""

    urls: int = 0
    hosts: int = 0
    rank: Rank = Rank.USUAL
    """Rank of hosts to come."""
    standing: int = DOMAIN.initial
    ring: bytes = b""
    """Sketches of its last pages (`frontier.urls.novelty`)."""


@dataclass(slots=True, kw_only=True)
class Host:
    """One host name, from its first URL on."""

    name: str
    domain: str
    rank: Rank
    waiting: list[Page] = field(default_factory=list)
    """Pages in the order in which they are granted."""
    added: int = 0
    """URLs ever let in."""
    delay: int = 0
    """The delay that robots rules ask for."""
    slowest: str = ""
    """The origin whose rules ask for that delay."""
    pace: int = 0
    """The delay of the last lease."""
    smooth: int = 0
    """Time that it takes to answer; smoothed as RFC 6298 smooths round trips."""
    last: int = 0
    """When the last request ended; 0 before the first."""
    held_until: int = 0
    """No request is sent to the host before this time."""
    hold_reason: str = ""
    """Reason code of the hold."""
    open: int = 0
    """Requests under way, including that of a robots.txt."""
    is_fetching_robots: bool = False
    """Whether a robots.txt is being fetched."""
    answered: bool = False
    """Whether it ever answered."""
    dead_reason: str = ""
    """Why it was given up; empty if it was not."""
    is_forbidding: bool = False
    """Whether its faults are refusals (403)."""
    has_several_origins: bool = False
    """Whether URLs of several origins have waited here."""
    has_notifying_page: bool = False
    """Whether a page that notifies has waited here."""
    faults: int = 0
    """Failed requests in a row, since the circuit opened last."""
    trips: int = 0
    """Openings of the circuit in a row."""
    standing: int = HOST.initial
    templates: dict[bytes, int] = field(default_factory=dict)
    """Standings of its templates."""
    turn: int | None = None
    """When it may be asked, or since when it waits to be asked; None while it may not be asked."""

    def enqueue(self, page: Page) -> None:
        """Put a page behind those of its level."""
        self._compare(page)
        self.has_notifying_page |= page.discovery.notify
        at = sum(other.level <= page.level for other in self.waiting)
        self.waiting.insert(at, page)

    def put_back(self, page: Page) -> None:
        """Put a granted page before all others, unless a lower level has come since."""
        self._compare(page)
        if self.waiting and self.waiting[0].level < page.level:
            self.enqueue(page)
        else:
            self.waiting.insert(0, page)

    def _compare(self, page: Page) -> None:
        self.has_several_origins |= any(
            other.discovery.url.origin != page.discovery.url.origin for other in self.waiting
        )

    def revive(self) -> None:
        """Clear its death and its faults."""
        self.dead_reason = ""
        self.faults = self.trips = 0

    def hold(self, ms: int, now: int, reason: str) -> None:
        """Ask the host nothing for `ms` milliseconds, for this reason, unless it is held for longer."""
        if ms > 0 and now + 1 + ms > self.held_until:
            self.held_until, self.hold_reason = now + 1 + ms, reason

    def after_last(self, pace: int) -> int:
        """Return when it may be asked again, at a pace."""
        return self.last + pace if self.last and pace else 0

    def end_exchange(self, at: int) -> None:
        """End a request that was over at `at` at the latest."""
        self.open -= 1
        self.last = max(self.last, at)

    def record_response_time(self, elapsed: int) -> None:
        """Record the milliseconds that it took to answer."""
        elapsed = min(elapsed, _MAX_ANSWER_MS)
        self.smooth = (7 * self.smooth + elapsed) // 8 if self.smooth else elapsed

    def pace_for(self, min_delay: int) -> int:
        """Return the delay of the next lease."""
        required = max(min_delay, self.delay)
        return max(required, min(_FACTOR * self.smooth, _SLOWEST_MS)) if required else 0

    def is_full(self, pace: int) -> bool:
        """Return whether it has as many requests under way as a pace allows: a single probe if the circuit was open."""
        return self.open >= (1 if pace > 0 or self.trips > 0 else MAX_OPEN)

    def has_turn(self, pace: int, now: int) -> bool:
        """Return whether it may be asked now. If not, set when it may be."""
        if self.is_full(pace):
            self.turn = None
            return False
        at = max(self.after_last(pace), self.held_until)
        if at > now:
            self.turn = at
        return at <= now

    def template(self, name: bytes) -> int:
        """Return the standing of one of its templates."""
        return self.templates.get(name, TEMPLATE.initial)

    def schedule(self, now: int) -> None:
        """Decide whether it may be asked, and when. A host that waits already keeps its turn; if it waits for an origin
        that rests, another origin may come first. Pages that wait at a dead host are given up at once.
        """
        if self.dead_reason and self.waiting:
            self.turn = now
            return
        pace = max(self.delay, self.pace if self.open else 0)
        if self.is_fetching_robots or not self.waiting or self.is_full(pace):
            self.turn = None
            return
        at = max(self.held_until, self.after_last(max(self.delay, self.pace)), now)
        sooner = self.has_several_origins and self.turn is not None and at < self.turn and self.turn > now
        if self.turn is None or (at > now and at > self.turn) or sooner:
            self.turn = at
