"""What the model remembers: `Page`, `Host`, `Domain`, `Origin`, `Promise`. Times in milliseconds of its clock.

What ends now has ended a millisecond later: none is over before the next one.
"""

from dataclasses import dataclass, field

from frontier.lease import Discovery, Kind, Rank
from frontier.robots_record import RobotsRule, next_review_ms
from frontier.urls.novelty import DOMAIN, HOST, TEMPLATE

MAX_OPEN = 16
"""Exchanges at once with a host that has no delay: it is ours, or a test."""
_SLOWEST_MS = 30_000  # Heritrix: maxDelayMs
_FACTOR = 2  # of the time that a host takes to answer
_LONGEST_ANSWER_MS = 600_000


@dataclass(slots=True, kw_only=True)
class Page:
    """A URL that is not settled."""

    discovery: Discovery
    attempt: int = 0
    expiries: int = 0
    """Times that its worker was not heard of by the deadline."""
    is_recovered: bool = False
    """Whether a worker died that held it."""

    @property
    def level(self) -> int:
        """What a host's pages are ordered by; the lowest comes first."""
        return self.discovery.depth - self.discovery.priority


@dataclass(slots=True, kw_only=True)
class Origin:
    """The robots.txt of one origin."""

    version: int = 0
    expires: int = 0
    rule: RobotsRule = "allow"
    body: bytes = b""
    attempt: int = 0
    """Times in a row that it could not be had, or a page of the origin."""
    expiries: int = 0
    """Times that its worker was not heard of again since it was read last."""
    is_recovered: bool = False
    """Whether a worker died that held it since then."""
    held_until: int = 0
    """The origin is asked nothing before."""
    hold_reason: str = ""
    """Reason code of that."""

    @property
    def is_given_up(self) -> bool:
        """Whether nobody answers there."""
        return self.rule == "disallow"

    review_at: int = 0
    """When it is looked at whether its rules are still needed; 0 where it has none."""

    def store(self, rule: RobotsRule, body: bytes, expires: int, now: int) -> None:
        """It was read, or is given up."""
        self.version += 1
        self.review_at = next_review_ms(body, now) if rule == "rules" else 0
        self.rule, self.body, self.expires = rule, body, expires
        self.attempt = self.expiries = self.held_until = 0
        self.is_recovered &= rule == "disallow"


@dataclass(slots=True, kw_only=True)
class OpenLease:
    """A lease that is not ended; of `page`, or of the robots.txt of `origin`."""

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
    """Of hosts to come."""
    standing: int = DOMAIN.initial
    ring: bytes = b""
    """What its last pages said (`frontier.urls.novelty`)."""


@dataclass(slots=True, kw_only=True)
class Host:
    """One host name, from its first URL on."""

    name: str
    domain: str
    rank: Rank
    waiting: list[Page] = field(default_factory=list)
    """In the order in which they are granted."""
    added: int = 0
    """URLs ever."""
    delay: int = 0
    """What robots rules ask for."""
    slowest: str = ""
    """The origin whose rules these are."""
    pace: int = 0
    """The delay that the last lease was granted under."""
    smooth: int = 0
    """How long it takes to answer; smoothed as RFC 6298 smooths round trips."""
    last: int = 0
    """When the last exchange ended; 0 before the first."""
    held_until: int = 0
    """Nothing is asked before."""
    hold_reason: str = ""
    """Reason code of that."""
    open: int = 0
    """Exchanges under way, that of a robots.txt included."""
    is_fetching_robots: bool = False
    """A robots.txt is being fetched."""
    answered: bool = False
    """It did once."""
    dead_reason: str = ""
    """What it died of."""
    is_forbidding: bool = False
    """Its faults are those of one that answers, and refuses."""
    has_several_origins: bool = False
    """URLs of several origins have waited here."""
    has_notifying_page: bool = False
    """A page that notifies has waited here."""
    faults: int = 0
    """Exchanges in a row that came to nothing, since the circuit opened last."""
    trips: int = 0
    """Openings of the circuit in a row."""
    standing: int = HOST.initial
    templates: dict[bytes, int] = field(default_factory=dict)
    """Standings."""
    turn: int | None = None
    """When it may be asked, or since when it waits to be; None while it may not."""

    def enqueue(self, page: Page) -> None:
        """Put a page behind those of its level."""
        self._compare(page)
        self.has_notifying_page |= page.discovery.notify
        at = sum(other.level <= page.level for other in self.waiting)
        self.waiting.insert(at, page)

    def put_back(self, page: Page) -> None:
        """Put a page that was granted before all others, except where a lower level has come since."""
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
        """It is not dead, and has no fault."""
        self.dead_reason = ""
        self.faults = self.trips = 0

    def hold(self, ms: int, now: int, reason: str) -> None:
        """Nothing is asked for so long, because of that."""
        if ms > 0 and now + 1 + ms > self.held_until:
            self.held_until, self.hold_reason = now + 1 + ms, reason

    def after_last(self, pace: int) -> int:
        """When it may be asked again, at a pace."""
        return self.last + pace if self.last and pace else 0

    def end_exchange(self, at: int) -> None:
        """An exchange was over at `at` at the latest."""
        self.open -= 1
        self.last = max(self.last, at)

    def record_response_time(self, elapsed: int) -> None:
        """It took so long to answer."""
        elapsed = min(elapsed, _LONGEST_ANSWER_MS)
        self.smooth = (7 * self.smooth + elapsed) // 8 if self.smooth else elapsed

    def pace_for(self, min_delay: int) -> int:
        """The delay that the next lease is granted under."""
        told = max(min_delay, self.delay)
        return max(told, min(_FACTOR * self.smooth, _SLOWEST_MS)) if told else 0

    def is_full(self, pace: int) -> bool:
        """Whether it has as many exchanges open as a pace allows; where the circuit was open, a single probe."""
        return self.open >= (1 if pace > 0 or self.trips > 0 else MAX_OPEN)

    def has_turn(self, pace: int, now: int) -> bool:
        """Whether it may be asked now. Where not, it is placed where it belongs."""
        if self.is_full(pace):
            self.turn = None
            return False
        at = max(self.after_last(pace), self.held_until)
        if at > now:
            self.turn = at
        return at <= now

    def template(self, name: bytes) -> int:
        """Standing of one of its templates."""
        return self.templates.get(name, TEMPLATE.initial)

    def schedule(self, now: int) -> None:
        """Decide whether it may be asked, and when. A host that waits already keeps its turn; where it waits for an origin
        that rests, another may have come. What waits at a dead host is given up at once.
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
