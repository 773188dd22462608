"""What the model remembers: `Page`, `Host`, `Origin`, `Promise`. Times in milliseconds of the frontier's clock."""

from dataclasses import dataclass, field

from frontier.lease import Discovery, Kind
from frontier.robots import Rule

MAX_OPEN = 16
"""Exchanges at once with a host that has no delay: it is ours, or a test."""


@dataclass(slots=True, kw_only=True)
class Page:
    """A URL that is not settled."""

    found: Discovery
    attempt: int = 0
    expiries: int = 0
    """Times that its worker was not heard of by the deadline."""

    @property
    def level(self) -> int:
        """What a host's pages are ordered by; the lowest comes first."""
        return self.found.depth - self.found.priority


@dataclass(slots=True, kw_only=True)
class Origin:
    """The robots.txt of one origin."""

    version: int = 0
    expires: int = 0
    rule: Rule = "allow"
    body: bytes = b""
    attempt: int = 0
    """Times in a row that it could not be had."""
    expiries: int = 0
    """Times in a row that its worker was not heard of again."""


@dataclass(slots=True, kw_only=True)
class Promise:
    """A lease that is not ended; of `page`, or of the robots.txt of `origin`."""

    kind: Kind
    host: str
    origin: str
    page: Page | None
    worker: str
    deadline: int
    released: bool = False


@dataclass(slots=True, kw_only=True)
class Host:
    """One host name, from its first URL on."""

    name: str
    waiting: list[Page] = field(default_factory=list)
    """In the order in which they are granted."""
    delay: int = 0
    """What robots rules ask for."""
    slowest: str = ""
    """The origin whose rules these are."""
    pace: int = 0
    """The delay that the last lease was granted under."""
    last: int = 0
    """When the last exchange ended; 0 before the first."""
    held: int = 0
    """Nothing is asked before."""
    open: int = 0
    """Exchanges under way, that of a robots.txt included."""
    asking: bool = False
    """A robots.txt is being fetched."""
    turn: int | None = None
    """When it may be asked, or since when it waits to be; None while it may not."""

    def enqueue(self, page: Page) -> None:
        """Put a page at the end of its level."""
        at = sum(other.level <= page.level for other in self.waiting)
        self.waiting.insert(at, page)

    def end_exchange(self, at: int) -> None:
        """An exchange was over at `at` at the latest."""
        self.open -= 1
        self.last = max(self.last, at)

    def full(self, pace: int) -> bool:
        """Whether it has as many exchanges open as a pace allows."""
        return self.open >= (1 if pace > 0 else MAX_OPEN)

    def place(self, now: int) -> None:
        """Decide whether it may be asked, and when. A host that waits already keeps its turn."""
        if self.asking or not self.waiting or self.full(max(self.delay, self.pace if self.open else 0)):
            self.turn = None
            return
        at = max(self.held, self.last + max(self.delay, self.pace))
        if self.turn is None or at > max(now, self.turn):
            self.turn = max(at, now)
