"""`TakeoverError`: the name of a worker was taken over.

Recovery takes a name over before it touches the worker's leases and files (`Workers.take_over`). From then on the name
is dead for ever: the functions in `lua/` refuse its leases, heartbeats and settlements, whatever the worker's own clock
says.
"""

from thresher.core import Unavailable

TAKEOVER_REPLY_PREFIX = "TAKENOVER "
"""The beginning of a server's reply that refuses such a name (`lua/state/takeover.lua`); the name follows."""


class TakeoverError(Unavailable):
    """The worker was taken for dead, or may have been: another worker has its leases and files."""


def takeover_error(worker: str) -> TakeoverError:
    """Return the error for a worker whose name was taken over."""
    return TakeoverError(f"worker {worker} was not heard of and its name was taken over; it stops")
