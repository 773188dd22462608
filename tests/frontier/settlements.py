"""Settlements and releases of many leases at once."""

from thresher.frontier import HostRelease, Outcome, Settlement


def settled(leases, outcome=Outcome.FETCHED, **fields):
    return [Settlement(lease=lease, outcome=outcome, **fields) for lease in leases]


def over(leases, elapsed_ms=None):
    return [HostRelease(lease=lease, elapsed_ms=elapsed_ms) for lease in leases]
