"""`GivenUp`: the name of a worker was taken over.

Recovery takes a name over before it touches anything that the worker left (`Frontier.take_over`). From then on the name is dead for
ever: the functions in `lua/` refuse its leases, heartbeats and settlements, whatever the worker's own clock says.
"""

from core import Unavailable

TAKEOVER_REPLY_PREFIX = "TAKENOVER "
"""How the reply of a server begins that refuses such a name (lua/state/takeover.lua); the name follows."""


class TakeoverError(Unavailable):
    """The worker was taken for dead, or may have been: another has what it left."""


def takeover_error(worker: str) -> TakeoverError:
    """Return the error of a worker whose name was taken over."""
    return TakeoverError(f"worker {worker} was not heard of and its name was taken over; it stops")
