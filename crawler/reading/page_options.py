"""`PageOptions`: how a crawl reads the responses to pages."""

from dataclasses import dataclass

from thresher.frontier import HostSwitch
from thresher.frontier.policy import ON


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions:
    """One value for all workers of a crawl, and for the recovery of their leases."""

    obey: tuple[str, ...] = ("nofollow",)
    """Which directives of pages are obeyed (`extract.rights`): `nofollow`, `noarchive`."""
    cookies: bool = False
    """Whether cookies are kept and sent back."""
    traps: HostSwitch = ON
    """The hosts on which links that look like traps are not followed (`frontier.urls.trap`)."""


DEFAULT_OPTIONS = PageOptions()
