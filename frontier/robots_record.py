"""`RobotsRecord`: what one origin's robots.txt said, as the frontier keeps it for every worker.

Rules are kept while something of their host waits. They are looked at after a day, and after an hour, or when a worker ends, where
they are large: where nothing waits any more they are forgotten, and whoever comes later asks for them anew. So what many hosts can make the
server keep with their robots.txt files is bounded by the hosts that have work.
"""

import zlib
from dataclasses import dataclass
from typing import Literal

RobotsRule = Literal["allow", "disallow", "rules"]

LARGE = 16 << 10
"""Bytes, packed: some 100 KiB of rules."""
LARGE_RULES_RETENTION_MS = 3_600_000
RULES_RETENTION_MS = 86_400_000
"""RFC 9309, section 2.4: robots.txt is not kept for longer than a day."""


def compress_rules(body: bytes) -> bytes:
    """Return rules as the server keeps them."""
    return zlib.compress(body) if body else b""


def next_review_ms(body: bytes, now_ms: int) -> int:
    """Return when it is looked at whether rules are still needed."""
    return now_ms + (LARGE_RULES_RETENTION_MS if len(compress_rules(body)) > LARGE else RULES_RETENTION_MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsRecord:
    """The robots.txt of one origin at one version. It stays readable after it has gone stale, while anything of its host waits."""

    origin: str
    version: int
    """Grows by one with every fetch; 1 is the first."""
    rule: RobotsRule
    """`allow` and `disallow` speak for the whole origin (RFC 9309, section 2.3.1); `rules` are in `body`."""
    body: bytes
    """Empty where the rules were forgotten: then they are asked for before the next page."""
