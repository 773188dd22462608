"""`Row`: one thing that the web does to a crawler, and what must be true afterwards.

Every row has its own host with an index, three good pages and the bad thing beside them. Whatever the bad thing is,
this holds for every row unless the row says otherwise:

1. The index and the good pages are each requested once, and archived once, with the bytes that were sent.
2. Every response record is what the host sent for that URL: all of it, or its beginning if WARC-Truncated says why.
3. Every request record is a request that the host received.
4. Nobody connects to the canary, which listens where no address guard lets anybody through.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.hostile.host import ALLOW_ALL, Answer, ConnectionHandler

ABSENT = "absent"
"""There is no response record."""
LONG_S = 120
GOOD = ("/good-1", "/good-2", "/good-3")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebAddress:
    """Where the web listens; all zero while it is not served."""

    port: int = 0
    canary: int = 0
    """Port of the canary on 127.0.0.1."""
    stale: set[str] = field(default_factory=set)
    """Origins whose robots.txt must be fetched again; `project.ClockMover` empties the set once they will be."""

    def host(self, number: int, variant: int = 1) -> str:
        """Return `address:port` of a row's host."""
        return f"127.1.{number}.{variant}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one host does. Paths map to what is expected of them; other paths are not judged."""

    number: int
    """Number in the checklist."""
    name: str
    answers: Mapping[str, Answer] = field(default_factory=dict)
    robots: Answer = ALLOW_ALL
    fallback: Callable[[str], Answer | None] = lambda _: None
    talk: ConnectionHandler | None = None
    good: bool = True
    """Whether the good pages can be fetched."""
    links: tuple[str, ...] | None = None
    """Links of the index besides the good pages; by default the paths that have answers."""
    seeds: tuple[str, ...] = ("/",)
    scope: str = "host"
    tls: str | None = None
    """Name of the certificate; None for plain http."""
    address: str | None = None
    """Address of the host, if it is not one of its own in 127.1.0.0/16."""
    host: str = ""
    """Name of the host, if requests use a name; DNS leads from it to its address unless `names` say otherwise."""
    names: Mapping[str, Any] = field(default_factory=dict)
    """What DNS answers, in the form of `tests.crawler.nameserver`; `@` in a list stands for the row's address."""
    ended: Mapping[str, str] = field(default_factory=dict)
    """Patterns of `outcome:reason`, by path."""
    kept: Mapping[str, str | None] = field(default_factory=dict)
    """WARC-Truncated of the path's record, None for a complete one, or `ABSENT`."""
    asked: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """The fewest and the most requests, by path."""
    never: tuple[str, ...] = ()
    """Beginnings of paths that nobody may request."""
    long: bool = False
    """Whether the host needs more than minutes of the crawl's clock."""
    extra_check: Callable[[Any], object] | None = None
    """What else must hold, as a function of `observed.RowObservation` that raises `AssertionError`."""

    def __repr__(self) -> str:
        return f"<row {self.number}: {self.name}>"
