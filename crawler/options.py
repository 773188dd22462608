"""`PageOptions`: what a crawl was told of how the answers of its pages are read."""

from dataclasses import dataclass

from frontier import Switch
from frontier.policy import ON


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions:
    """The same for every worker of a crawl, and for who takes up what a worker left."""

    obey: tuple[str, ...] = ("nofollow",)
    """What pages ask of crawlers that is done (`extract.rights`): `nofollow`, `noarchive`."""
    cookies: bool = False
    """Whether hosts are told again what cookies they set."""
    traps: Switch = ON
    """On which hosts a link is not followed that looks like a trap's (`frontier.trap`)."""


USUAL = PageOptions()
