"""`Replication`: whether calls to one master must wait for a replica, decided from the master's replies.

1. A call counts only once a replica has it, until the master has been seen without a replica for `grace_s`.
2. A master that the cluster lists without a replica when it becomes a master (it was promoted, or never had a replica)
   has none to wait for, until one comes.

In a cluster the grace is longer than the time for which a master still takes writes after it was cut off from the
others. So a call that counts without a replica was written to a master that no other had replaced. This module asks no
server; times are seconds of a steady clock.
"""

import math
import re

ALONE_S = 10.0
"""Seconds of grace for one server, which has no others to be cut off from (the default of min-replicas-max-lag)."""
_NORMAL_SILENCE_S = 2
"""Seconds of silence that are normal: replicas acknowledge once a second."""
_REPLICA = re.compile(rb"^slave\d++:(?=.*?\bstate=online\b).*?\blag=(\d{1,18})", re.MULTILINE)


def grace_s(node_timeout_ms: int) -> float:
    """Return the seconds of grace for a cluster's master.

    A node is asked for a sign of life within half its timeout and considered lost a timeout later (clusterCron); a
    master that has lost most of the others in this way refuses writes after 1.5 timeouts. One second is added for
    differences of clocks.
    """
    return 1.5 * node_timeout_ms / 1000 + 1


class Replication:
    """The replicas of one server, as far as they are known. At first the server has none and never had any."""

    def __init__(self) -> None:
        self._grace_s = ALONE_S
        self._alone_since: float | None = -math.inf

    def mark_promoted(self, *, listed: bool, grace_s: float) -> None:
        """Record that the server became a master of a cluster, and whether the cluster lists a replica of it."""
        self._grace_s = grace_s
        self._alone_since = None if listed else -math.inf

    def mark_acknowledged(self) -> None:
        """Record that a replica has taken a call."""
        self._alone_since = None

    def read_info(self, info: bytes, now: float) -> bool:
        """Read the reply to INFO replication, and return whether the server is a master."""
        silence_s = min((int(lag) for lag in _REPLICA.findall(info)), default=None)
        if silence_s is not None and silence_s <= _NORMAL_SILENCE_S:
            self._alone_since = None
        elif self._alone_since is None:
            self._alone_since = now - (silence_s or 0)
        return b"role:master" in info

    def is_replica_required(self, now: float) -> bool:
        """Return whether a replica must have a call that is made now before the call counts."""
        return self._alone_since is None or now - self._alone_since <= self._grace_s
