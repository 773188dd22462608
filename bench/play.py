"""`Play`: what a fleet is to do, what is to go wrong meanwhile, and the web that it crawls.

The web follows from the seed, so that it is known what must be settled in the end: page u has two pages of its own, and
links to pages that are likely known; its host, its outcome, its host's crawl delay and address are drawn from u.
"""

from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import gettempdir

from xxhash import xxh3_64_hexdigest, xxh3_64_intdigest

from frontier import Discovery, Fault, Lease, Outcome, Scope, Settlement
from frontier.urls.canonical import url_from_canonical
from tests.frontier.proxy import ProxyFaults

LINKS = 1
"""Of a page, to pages that are likely known."""
ROOTS = 50
SHARED = 10
"""One host of so many has an address that others have too, and asks before it is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What is to be done, and what is to go wrong."""

    dir: Path
    urls: int = 20_000
    hosts: int = 1_000
    partitions: int = 1
    """Of the crawl; its server is one."""
    hands: int = 4
    workers: int = 16
    batch: int = 16
    """Leases asked for at once."""
    seed: int = 1
    min_delay_ms: int = 20
    crawl_delay_ms: int = 200
    """At most; another with each host and version of its robots.txt."""
    lease_ms: int = 4_000
    think_ms: float = 4.0
    """What a worker does between two calls takes up to so long."""
    ttl_ms: int = 60_000
    """A robots.txt is asked for again after it."""
    hot: int = 0
    """URLs that may wait in memory before any are put into storage; 0 for any number."""
    limit_s: float = 3_600.0
    """After so long everybody is stopped."""
    kill: float = 0.0
    """Seconds between two, on average; 0 for none. The same of the next three."""
    restart: float = 0.0
    loss: float = 0.0
    jump: float = 0.0
    die: float = 0.5
    """Per cent of the points between two calls at which a worker is ended."""
    drop: float = 0.2
    lose: float = 0.2
    twice: float = 0.2
    again: float = 0.2
    delay: float = 0.5
    freeze: float = 0.02

    @property
    def proxy_faults(self) -> ProxyFaults:
        """What the proxy does."""
        return ProxyFaults(
            **{name: getattr(self, name) for name in ("drop", "lose", "twice", "again", "delay", "freeze")}
        )

    @property
    def proxy_socket(self) -> Path:
        """Socket of the proxy; a socket's path may not be long."""
        return Path(gettempdir(), f"fleet-{xxh3_64_hexdigest(bytes(self.dir.resolve()))}.sock")

    @property
    def state(self) -> Path:
        """Where the server keeps its data."""
        return self.dir / "state"

    def arguments(self) -> list[str]:
        """The command line that says the same."""
        return [
            part
            for name, value in asdict(self).items()
            for part in (f"--{name.replace('_', '-')}", str(value))
        ]


def draw(play: Scenario, what: str, *numbers: int) -> int:
    """A number that follows from the seed."""
    return xxh3_64_intdigest(f"{play.seed} {what} {numbers}".encode())


def discovery(play: Scenario, page: int) -> Discovery:
    """A page, as a link to it is found."""
    text = f"http://h{draw(play, 'host', page) % play.hosts}.test/{page}"
    url = url_from_canonical(text, text)
    return Discovery(url=url, scope=Scope(kind="any", anchor=""))


def links(play: Scenario, page: int) -> tuple[Discovery, ...]:
    """What is found on a page."""
    own = [child for child in (2 * page + ROOTS, 2 * page + ROOTS + 1) if child < play.urls]
    others = [draw(play, "link", page, i) % (page + 1) for i in range(LINKS)]
    return tuple(discovery(play, other) for other in (*own, *others))


@lru_cache(maxsize=65_536)
def crawl_delay_ms(play: Scenario, host: int, version: int) -> int:
    """What a host's rules ask for."""
    return draw(play, "delay", host, version) % (play.crawl_delay_ms + 1) if version else 0


def least_delay_ms(play: Scenario, host: int, version: int) -> int:
    """The shortest delay that the rules of a host asked for up to this version; 0 where there are none yet.

    The delay of the version itself would be too long: after a restart, the settlement of a robots.txt may be told again
    to a server that had it (`frontier.verbs.journal` cannot tell what was written in the same millisecond as the last
    write). The frontier then counts two versions, and both have the delay of the first.
    """
    return min((crawl_delay_ms(play, host, each) for each in range(1, version + 1)), default=0)


def address(host: int) -> int | None:
    """Number of the address that a host shares with others; None where it has one of its own."""
    return None if host % SHARED else host // SHARED // 4


def settlement(play: Scenario, lease: Lease, page: int) -> tuple[Settlement, bool]:
    """How the page's lease ends, and whether that is the end of the page."""
    if lease.attempt == 0 and draw(play, "retry", page) % 50 == 0:
        hold = draw(play, "hold", page) % 300
        retry = Settlement(
            lease=lease,
            outcome=Outcome.RETRY,
            reason="again",
            retry_after_ms=200,
            hold_ms=hold,
            fault=Fault.BUSY if hold else None,
        )
        return retry, False
    if 2 * page + ROOTS < play.urls:
        return Settlement(lease=lease, outcome=Outcome.FETCHED, discoveries=links(play, page)), True
    ends = (Outcome.FETCHED, Outcome.GONE, Outcome.REFUSED, Outcome.FAILED)
    return Settlement(lease=lease, outcome=ends[draw(play, "end", page) % 4]), True
