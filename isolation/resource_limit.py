"""`set_resource_limit`: a resource limit that cannot be raised again."""

import resource


def set_resource_limit(resource_id: int, maximum: int) -> None:
    """Set a limit of this process (`resource.RLIMIT_...`); a limit that is lower already stays."""
    _, hard = resource.getrlimit(resource_id)
    at_most = maximum if hard == resource.RLIM_INFINITY else min(maximum, hard)
    resource.setrlimit(resource_id, (at_most, at_most))
