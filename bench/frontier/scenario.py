"""`Scenario`: the work of a fleet, the faults that it meets, and the web that it crawls.

The web follows from the seed, so the pages that must be settled in the end are known. Page u links to two pages of its
own, and to pages that are probably known already. Its host, its outcome, and its host's crawl delay and address are
drawn from u.
"""

from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import gettempdir

from xxhash import xxh3_64_hexdigest, xxh3_64_intdigest

from tests.frontier.proxy import ProxyFaults
from thresher.frontier import Discovery, Fault, Lease, Outcome, Scope, Settlement
from thresher.frontier.urls.canonical import url_from_canonical

LINKS = 1
"""Links of a page to pages that are probably known already."""
ROOTS = 50
SHARED = 10
"""One host in ten shares its address with others, and so must acquire it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The work and the faults. Each field is an option of `bench/frontier/fleet.py`."""

    dir: Path
    urls: int = 20_000
    hosts: int = 1_000
    partitions: int = 1
    """Partitions of the crawl, all on one server."""
    processes: int = 4
    workers: int = 16
    batch: int = 16
    """Leases that a worker requests at once, at most."""
    seed: int = 1
    min_delay_ms: int = 20
    crawl_delay_ms: int = 200
    """The longest crawl delay. Each version of each host's robots.txt asks for another one."""
    lease_ms: int = 4_000
    think_ms: float = 4.0
    """The longest time that a worker spends between two calls."""
    ttl_ms: int = 60_000
    """Time after which a robots.txt is requested again."""
    hot: int = 0
    """URLs that wait in memory before the tail goes into storage; 0 for any number."""
    limit_s: float = 3_600.0
    """Time after which the fleet is stopped."""
    kill: float = 0.0
    """Mean seconds between two faults of this kind; 0 for none. The same holds for the next three."""
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
        """The faults of the proxy."""
        return ProxyFaults(
            **{name: getattr(self, name) for name in ("drop", "lose", "twice", "again", "delay", "freeze")}
        )

    @property
    def proxy_socket(self) -> Path:
        """Socket of the proxy. It lies in the directory for temporary files, because its path must be short."""
        return Path(gettempdir(), f"fleet-{xxh3_64_hexdigest(bytes(self.dir.resolve()))}.sock")

    @property
    def state(self) -> Path:
        """Directory of the server's data."""
        return self.dir / "state"

    def arguments(self) -> list[str]:
        """Return the options of `bench/frontier/fleet.py` that make this scenario."""
        return [
            part
            for name, value in asdict(self).items()
            for part in (f"--{name.replace('_', '-')}", str(value))
        ]


def draw(scenario: Scenario, what: str, *numbers: int) -> int:
    """Return a number that follows from the seed."""
    return xxh3_64_intdigest(f"{scenario.seed} {what} {numbers}".encode())


def discovery(scenario: Scenario, page: int) -> Discovery:
    """Return the discovery of a link to a page."""
    text = f"http://h{draw(scenario, 'host', page) % scenario.hosts}.test/{page}"
    url = url_from_canonical(text, text)
    return Discovery(url=url, scope=Scope(kind="any", anchor=""))


def links(scenario: Scenario, page: int) -> tuple[Discovery, ...]:
    """Return the discoveries on a page."""
    own = [child for child in (2 * page + ROOTS, 2 * page + ROOTS + 1) if child < scenario.urls]
    others = [draw(scenario, "link", page, i) % (page + 1) for i in range(LINKS)]
    return tuple(discovery(scenario, other) for other in (*own, *others))


@lru_cache(maxsize=65_536)
def crawl_delay_ms(scenario: Scenario, host: int, version: int) -> int:
    """Return the crawl delay that a version of a host's rules asks for."""
    return draw(scenario, "delay", host, version) % (scenario.crawl_delay_ms + 1) if version else 0


def least_delay_ms(scenario: Scenario, host: int, version: int) -> int:
    """Return the shortest delay that any rules of a host asked for up to this version; 0 if it has none yet.

    The delay of the version itself would be too long. After a restart, the client may repeat the settlement of a
    robots.txt to a server that has it already (`frontier.verbs.journal` cannot tell what was written in the same
    millisecond as the last write). The frontier then counts two versions, and both have the delay of the first.
    """
    return min((crawl_delay_ms(scenario, host, each) for each in range(1, version + 1)), default=0)


def address(host: int) -> int | None:
    """Return the number of the address that a host shares with others; None if it has its own."""
    return None if host % SHARED else host // SHARED // 4


def settlement(scenario: Scenario, lease: Lease, page: int) -> tuple[Settlement, bool]:
    """Return how the page's lease ends, and whether that ends the life of the page."""
    if lease.attempt == 0 and draw(scenario, "retry", page) % 50 == 0:
        hold = draw(scenario, "hold", page) % 300
        retry = Settlement(
            lease=lease,
            outcome=Outcome.RETRY,
            reason="again",
            retry_after_ms=200,
            hold_ms=hold,
            fault=Fault.BUSY if hold else None,
        )
        return retry, False
    if 2 * page + ROOTS < scenario.urls:
        return Settlement(lease=lease, outcome=Outcome.FETCHED, discoveries=links(scenario, page)), True
    ends = (Outcome.FETCHED, Outcome.GONE, Outcome.REFUSED, Outcome.FAILED)
    return Settlement(lease=lease, outcome=ends[draw(scenario, "end", page) % 4]), True
