"""`RobotsRecord`: what one origin's robots.txt said, as the frontier keeps it for every worker."""

from dataclasses import dataclass
from typing import Literal

Rule = Literal["allow", "disallow", "rules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsRecord:
    """The robots.txt of one origin at one version. It stays readable after it has gone stale."""

    origin: str
    version: int
    """Grows by one with every fetch; 1 is the first."""
    rule: Rule
    """`allow` and `disallow` speak for the whole origin (RFC 9309, section 2.3.1); `rules` are in `body`."""
    body: bytes
