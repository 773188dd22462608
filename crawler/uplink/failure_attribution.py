"""`judge`: whose fault it is that no answer came: the host's, or our own side's. Pure.

A failure counts against its host and its URL only if it is the host's. What it shows (`crawler.wire.Sign`) is seldom enough
to tell, so `judge` may first ask about our own side; whoever calls it finds the answer, adds it to the facts, and calls again.

| what the failure shows                        | it is ours if                                                           |
|-----------------------------------------------|-------------------------------------------------------------------------|
| it overlaps an outage of ours                 | always, except that a name was denied                                   |
| somebody answered; a name was denied          | never                                                                   |
| the proxy cannot be connected to, or refuses us | always                                                                |
| this machine is out of sockets or memory      | always                                                                  |
| the proxy says nothing                        | it says nothing to a question about itself either, and nobody else answers |
| no name server could tell                     | they cannot answer for the root either, and they could before, or nobody else answers |
| no route                                      | none leads out of this machine at all, and one did before, or nobody else answers |
| silence                                       | `ALIKE` others that answered before, on other addresses, are silent as well |

1. What answered somebody else in the second half of an exchange works (`proves`): then nobody is asked whether it does.
2. "They could before": name servers, a route, a proxy's word that this worker never had are no part of how the crawl reaches its
   hosts, as long as these answer. A crawl of addresses in a network without DNS comes to its end.
3. Silence alone, without `ALIKE` witnesses, is the host's: a crawl of a few hosts that are really dead comes to its end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from crawler.wire import Symptom

MIN_SILENT_HOSTS = 3
"""Others that are silent as well, each on an address of its own."""
MIN_PROBE_DELAY_S = 1.0
MAX_PROBE_DELAY_S = 60.0
"""Between two probes in an outage: it doubles from the first to the longest."""

Cause = Literal["proxy", "name_servers", "route", "resources", "silence"]
"""What is wrong on our side."""


class Check(Enum):
    """What `attribute_failure` wants to know."""

    PROXY = "whether the proxy answers a question about itself"
    NAME_SERVERS = "whether the name servers work"
    ROUTE = "whether any route leads out of this machine"
    OTHERS = "how many of those that answered before do so now"


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherHosts:
    """Hosts that answered before: what they do now."""

    responding: int
    silent: int
    """On different addresses, none of them that of the host in question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known when a failure is judged."""

    overlapping_outage: Cause | None = None
    """The outage that the exchange overlaps."""
    has_response: bool
    """Whether somebody on the web answered meanwhile (`proves_connectivity`)."""
    recently_working: frozenset[Check] = frozenset()
    """Parts of our side that answered meanwhile."""
    previously_working: frozenset[Check] = frozenset()
    """Parts of our side that ever worked for this worker."""
    check_results: Mapping[Check, bool] = field(default_factory=dict)
    """Parts of our side that were asked about now."""
    other_hosts: OtherHosts | None = None
    """None where nobody has asked them now."""


_CERTAIN: Mapping[Symptom, Cause] = {"no_proxy": "proxy", "no_resources": "resources"}
_CHECKS: Mapping[Symptom, tuple[Check, Cause]] = {
    "mute_proxy": (Check.PROXY, "proxy"),
    "no_name_server": (Check.NAME_SERVERS, "name_servers"),
    "no_route": (Check.ROUTE, "route"),
}


def attribute_failure(symptom: Symptom, evidence: Evidence) -> Check | Cause | None:
    """Return what is wrong on our side; None if the failure is the host's; or what to find out first."""
    if symptom == "denied":
        return None
    if evidence.overlapping_outage is not None or symptom == "answered":
        return evidence.overlapping_outage
    if symptom in _CERTAIN:
        return _CERTAIN[symptom]
    broken: Cause | None = None
    if symptom in _CHECKS and _CHECKS[symptom][0] not in evidence.recently_working:
        part, cause = _CHECKS[symptom]
        if part not in evidence.check_results:
            return part
        broken = None if evidence.check_results[part] else cause
        if broken and part in evidence.previously_working:
            return broken
    return _cause_by_other_hosts(broken, evidence)


def proves_connectivity(answered_at: float, *, started_at: float, failed_at: float) -> bool:
    """Return whether an answer shows that the way was open for an exchange that ended without one: it came in the second half of
    it, so that the exchange's own answer had the first half to come.
    """
    return answered_at >= (started_at + failed_at) / 2


def probe_delay_s(probes: int) -> float:
    """Return how long to wait before the next probe, after so many that found nothing better."""
    return min(MIN_PROBE_DELAY_S * 2.0 ** min(probes, 16), MAX_PROBE_DELAY_S)


def _cause_by_other_hosts(broken: Cause | None, facts: Evidence) -> Check | Cause | None:
    """Decide by what others do: one that answers needs nothing of what is broken."""
    if facts.has_response:
        return None
    if facts.other_hosts is None:
        return Check.OTHERS
    if facts.other_hosts.responding:
        return None
    return broken or ("silence" if facts.other_hosts.silent >= MIN_SILENT_HOSTS else None)
