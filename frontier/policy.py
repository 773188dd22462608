"""`Policy`: what a crawl takes for one page, and whether it looks for traps; for all hosts, or otherwise for some."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """On or off for a crawl, and otherwise for some hosts and those under them."""

    on: bool
    hosts: Mapping[str, bool] = field(default_factory=dict)
    """By host name, lower case. Of two that fit a host the longer one counts."""

    def of(self, host: str) -> bool:
        """Whether it is on for a host."""
        name = host if self.hosts else ""
        while name:
            if name in self.hosts:
                return self.hosts[name]
            name = name.partition(".")[2]
        return self.on

    def __str__(self) -> str:
        """As the functions of `lua/` read it: 1 or 0, and behind it each host with its own, ` name=1`."""
        return f"{int(self.on)}" + "".join(f" {host}={int(on)}" for host, on in sorted(self.hosts.items()))


ON, OFF = Switch(on=True), Switch(on=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rules of one crawl that some of its hosts may need otherwise."""

    traps: Switch = ON
    """Whether URLs that look endless are refused (`frontier.trap`, `frontier.novelty`)."""
    query_order: Switch = OFF
    """Whether the order of a query's parameters tells two pages apart (`frontier.identity`)."""
