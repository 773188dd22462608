"""Leases as a frontier would grant them, and a frontier that has robots records alone."""

from types import SimpleNamespace

from thresher.frontier import Kind, Lease, Scope, canonicalize


def lease(url="http://example.org/", **changes):
    found = canonicalize(url)
    settings = {
        "url": found,
        "kind": Kind.PAGE,
        "token": 1,
        "worker": "w",
        "deadline_ms": 0,
        "scope": Scope.of("host", found),
        "depth": 0,
        "max_depth": None,
        "hops": 0,
        "attempt": 0,
        "priority": 0,
        "generation": 0,
        "interval_s": 0,
        "robots_version": 1,
    }
    return Lease(**{**settings, **changes})


def robots_frontier(read):
    """A frontier whose robots records `read` returns."""
    return SimpleNamespace(origins=SimpleNamespace(robots=read), crawl=SimpleNamespace(server_restarts=0))
