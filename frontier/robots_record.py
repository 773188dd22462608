"""`RobotsRecord`: what one origin's robots.txt said, as the frontier keeps it for every worker.

The frontier keeps rules while URLs of their host wait. It reviews them after a day; large rules it reviews after an
hour and whenever a worker ends. If nothing waits at a review, the rules are forgotten, and the next URL of the host
asks for them anew. So only hosts with waiting URLs take room, and a crawl of many hosts does not fill the server with
robots.txt files.
"""

import zlib
from dataclasses import dataclass
from typing import Literal

RobotsRule = Literal["allow", "disallow", "rules"]

LARGE = 16 << 10
"""Compressed bytes above which rules count as large: some 100 KiB of text."""
LARGE_RULES_RETENTION_MS = 3_600_000
RULES_RETENTION_MS = 86_400_000
"""A day: robots.txt must not be kept for longer (RFC 9309, section 2.4)."""


def compress_rules(body: bytes) -> bytes:
    """Return rules as the server keeps them."""
    return zlib.compress(body) if body else b""


def next_review_ms(body: bytes, now_ms: int) -> int:
    """Return when the frontier next reviews whether rules are still needed, in the milliseconds of `now_ms`."""
    return now_ms + (LARGE_RULES_RETENTION_MS if len(compress_rules(body)) > LARGE else RULES_RETENTION_MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsRecord:
    """The robots.txt of one origin at one version. It stays readable after it is stale, while a URL
    of its host waits.
    """

    origin: str
    version: int
    """Number of the fetch; 1 is the first, and each fetch adds one."""
    rule: RobotsRule
    """`allow` and `disallow` hold for the whole origin (RFC 9309, section 2.3.1); with `rules`, `body` holds them."""
    body: bytes
    """The rules; empty if they were forgotten: then the frontier asks for them before the next page."""
