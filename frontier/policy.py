"""`UrlPolicy`: whether a crawl looks for traps, and whether the order of parameters tells pages apart, with exceptions
for hosts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSwitch:
    """A setting of a crawl that is on or off, with exceptions for some hosts and the hosts under them."""

    on: bool
    hosts: Mapping[str, bool] = field(default_factory=dict)
    """The exceptions, by host name in lower case. If two fit a host, the longer name counts."""

    def is_on(self, host: str) -> bool:
        """Return whether the setting is on for a host."""
        name = host if self.hosts else ""
        while name:
            if name in self.hosts:
                return self.hosts[name]
            name = name.partition(".")[2]
        return self.on

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
