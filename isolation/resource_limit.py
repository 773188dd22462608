"""`limit`: a resource limit that cannot be raised again."""

import resource


def limit(which: int, most: int) -> None:
    """Set one of this process (`resource.RLIMIT_...`); one that is lower already stays."""
    _, hard = resource.getrlimit(which)
    at_most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(which, (at_most, at_most))
