"""`Row`: one thing that the web does to a crawler, and what must be true afterwards.

Every row has a host of its own with an index, three good pages and the bad thing beside them. Whatever the bad thing is,
these hold of every row that does not say otherwise:

1. The index and the good pages are each asked for once, archived once, with the bytes that were sent.
2. Every response record is what the host sent for that URL: all of it, or its beginning where WARC-Truncated says why.
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
    """Where the web is; all zero while nobody serves it."""

    port: int = 0
    canary: int = 0
    """Port of the canary on 127.0.0.1."""
    stale: set[str] = field(default_factory=set)
    """Origins whose robots.txt is to be asked for again; empty again once they will be."""

    def host(self, number: int, variant: int = 1) -> str:
        """`address:port` of a row's host."""
        return f"127.1.{number}.{variant}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one host does. Paths map to what is expected of them; what is not named is not judged."""

    number: int
    """Of the checklist."""
    name: str
    answers: Mapping[str, Answer] = field(default_factory=dict)
    robots: Answer = ALLOW_ALL
    fallback: Callable[[str], Answer | None] = lambda _: None
    talk: ConnectionHandler | None = None
    good: bool = True
    """Whether the good pages can be had."""
    links: tuple[str, ...] | None = None
    """What the index links to beside the good pages: the paths that are answered, where it is not said."""
    seeds: tuple[str, ...] = ("/",)
    scope: str = "host"
    tls: str | None = None
    """Name of the certificate; None for plain http."""
    address: str | None = None
    """Of the host, where it is not one of its own in 127.1.0.0/16."""
    host: str = ""
    """Name of the host, where it is asked for by name; DNS leads from there to its address unless `names` say otherwise."""
    names: Mapping[str, Any] = field(default_factory=dict)
    """What DNS answers, as `tests.crawler.nameserver` has it; `@` in a list stands for the row's address."""
    ended: Mapping[str, str] = field(default_factory=dict)
    """Path to a pattern of `outcome:reason`."""
    kept: Mapping[str, str | None] = field(default_factory=dict)
    """Path to the WARC-Truncated of its record, None for one that is whole, or `ABSENT`."""
    asked: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Path to the fewest and the most requests."""
    never: tuple[str, ...] = ()
    """Beginnings of paths that nobody may ask for."""
    long: bool = False
    """Whether the host asks for more than minutes of the crawl's clock."""
    also: Callable[[Any], None] | None = None
    """What else must hold, of `seen.Seen`; raises `AssertionError`."""

    def __repr__(self) -> str:
        return f"<row {self.number}: {self.name}>"
