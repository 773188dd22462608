"""`UrlPolicy`: whether a crawl looks for traps, and whether the order of parameters tells pages apart, with exceptions
for hosts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


def rule_of(rules: Mapping[str, T], host: str, default: T) -> T:
    """Return the rule of a host. Each name in `rules` stands for that host and the hosts under it; if two fit, the
    longer one counts; if none does, `default`.
    """
    name = host if rules else ""
    while name:
        if name in rules:
            return rules[name]
        name = name.partition(".")[2]
    return default


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSwitch:
    """A setting of a crawl that is on or off, with exceptions for some hosts and the hosts under them."""

    on: bool
    hosts: Mapping[str, bool] = field(default_factory=dict)
    """The exceptions, by host name in lower case. If two fit a host, the longer name counts."""

    def is_on(self, host: str) -> bool:
        """Return whether the setting is on for a host."""
        return rule_of(self.hosts, host, self.on)

    def __str__(self) -> str:
        """Return the form that the functions of `lua/` read: 1 or 0, then ` name=1` or ` name=0` for each exception."""
        return f"{int(self.on)}" + "".join(f" {host}={int(on)}" for host, on in sorted(self.hosts.items()))


ON, OFF = HostSwitch(on=True), HostSwitch(on=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlPolicy:
    """Rules of one crawl, with exceptions for hosts."""

    traps: HostSwitch = ON
    """Whether URLs that look endless are refused (`frontier.urls.trap`, `frontier.urls.novelty`)."""
    query_order: HostSwitch = OFF
    """Whether the order of a query's parameters tells two pages apart (`frontier.page_key`)."""
