"""`attribute_failure`: decide whether the host or our own side is to blame for a missing response. Pure.

A failure counts against its host and its URL only if it is the host's. The symptom alone (`crawler.wire.Symptom`) is
seldom enough to tell, so `attribute_failure` may return a check of our own side. The caller runs the check, adds the
result to the evidence, and calls again.

What the failure shows, and when it is ours:

- It overlaps an outage of ours: always, unless a name was denied.
- A remote side answered, or a name was denied: never.
- The proxy cannot be connected to, or refuses us: always.
- This machine is out of sockets or memory: always.
- The proxy says nothing: if it does not answer a question about itself either, and nobody else answers.
- No name server could tell: if they cannot answer for the root either, and they could before, or nobody else answers.
- There is no route: if none leads out of this machine, and one did before, or nobody else answers.
- Nobody answers: if `MIN_SILENT_HOSTS` others that answered before, on other addresses, are silent too.

1. A part that answered another exchange in the second half of this one works (`proves_connectivity`): then nobody
   checks it.
2. "They could before": if name servers, a route or a proxy's answer never worked for this worker, the crawl reaches its
   hosts without them, as long as these answer. So a crawl of addresses in a network without DNS comes to its end.
3. Silence alone, without `MIN_SILENT_HOSTS` witnesses, is the host's: a crawl of a few hosts that are really dead comes
   to its end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from thresher.crawler.wire import Symptom

MIN_SILENT_HOSTS = 3
"""Other hosts that must be silent as well, each on an address of its own."""
MIN_PROBE_DELAY_S = 1.0
MAX_PROBE_DELAY_S = 60.0
"""Seconds between two probes in an outage; the delay doubles from the minimum to the maximum."""

Cause = Literal["proxy", "name_servers", "route", "resources", "silence"]
"""What is wrong on our side."""


class Check(Enum):
    """What `attribute_failure` needs to know before it can decide."""

    PROXY = "whether the proxy answers a question about itself"
    NAME_SERVERS = "whether the name servers work"
    ROUTE = "whether any route leads out of this machine"
    OTHERS = "how many of those that answered before do so now"


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherHosts:
    """How many hosts that answered before do so now."""

    responding: int
    silent: int
    """Number of distinct addresses, without that of the host in question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known when a failure is judged."""

    overlapping_outage: Cause | None = None
    """The cause of the outage that the exchange overlaps."""
    has_response: bool
    """Whether somebody on the web answered meanwhile (`proves_connectivity`)."""
    recently_working: frozenset[Check] = frozenset()
    """Parts of our side that answered meanwhile."""
    previously_working: frozenset[Check] = frozenset()
    """Parts of our side that ever worked for this worker."""
    check_results: Mapping[Check, bool] = field(default_factory=dict)
    """Parts of our side that were checked now, and whether they work."""
    other_hosts: OtherHosts | None = None
    """None if nobody has probed them now."""


_CERTAIN: Mapping[Symptom, Cause] = {"no_proxy": "proxy", "no_resources": "resources"}
_CHECKS: Mapping[Symptom, tuple[Check, Cause]] = {
    "mute_proxy": (Check.PROXY, "proxy"),
    "no_name_server": (Check.NAME_SERVERS, "name_servers"),
    "no_route": (Check.ROUTE, "route"),
}


def attribute_failure(symptom: Symptom, evidence: Evidence) -> Check | Cause | None:
    """Return what is wrong on our side, or what to check first; None if the failure is the host's."""
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
    """Return whether a response to somebody else shows that an exchange without a response could have had one.

    It does if it came in the second half of the exchange: then the exchange's own response had the first half in which
    to come.
    """
    return answered_at >= (started_at + failed_at) / 2


def probe_delay_s(probes: int) -> float:
    """Return the seconds until the next probe, after `probes` failed ones."""
    return min(MIN_PROBE_DELAY_S * 2.0 ** min(probes, 16), MAX_PROBE_DELAY_S)


def _cause_by_other_hosts(broken: Cause | None, evidence: Evidence) -> Check | Cause | None:
    """Decide by what other hosts do: if one answers, the broken part is not needed to reach hosts."""
    if evidence.has_response:
        return None
    if evidence.other_hosts is None:
        return Check.OTHERS
    if evidence.other_hosts.responding:
        return None
    return broken or ("silence" if evidence.other_hosts.silent >= MIN_SILENT_HOSTS else None)
