"""`Replication`: whether calls to one master have to wait for a replica, decided from what the master said.

1. A call counts only once a replica has it, until the master has been seen without any for `grace_s`.
2. A master that the cluster lists without a replica when it becomes one (it was promoted, or never had any) has none
   to wait for, until one comes.

In a cluster the grace is longer than a master that was cut off from the others goes on taking writes. So what counts
without a replica was written to a master that no other had replaced. No server is asked here; times are a steady
clock's, in seconds.
"""

import math
import re

ALONE_S = 10.0
"""Grace of one server, which has no others to be cut off from (the default of min-replicas-max-lag)."""
_SILENT_S = 2
"""Replicas acknowledge once a second."""
_REPLICA = re.compile(rb"^slave\d++:(?=.*?\bstate=online\b).*?\blag=(\d{1,18})", re.MULTILINE)


def grace_s(node_timeout_ms: int) -> float:
    """Grace of a cluster's master.

    A node is asked for a sign of life within half its timeout and taken for lost a timeout later (clusterCron); a
    master that has lost most of the others so refuses writes after 1.5 timeouts. A second is for the clocks.
    """
    return 1.5 * node_timeout_ms / 1000 + 1


class Replication:
    """What is known of one server's replicas: at first, that it is alone in the world and had none so far."""

    def __init__(self) -> None:
        self._grace_s = ALONE_S
        self._alone_since: float | None = -math.inf

    def mark_promoted(self, *, listed: bool, grace_s: float) -> None:
        """It has become a master of a cluster; whether the cluster lists a replica of it."""
        self._grace_s = grace_s
        self._alone_since = None if listed else -math.inf

    def mark_acknowledged(self) -> None:
        """A replica has taken a call."""
        self._alone_since = None

    def read_info(self, info: bytes, now: float) -> bool:
        """Take what INFO replication says; whether the server is a master."""
        silent = min((int(lag) for lag in _REPLICA.findall(info)), default=None)
        if silent is not None and silent <= _SILENT_S:
            self._alone_since = None
        elif self._alone_since is None:
            self._alone_since = now - (silent or 0)
        return b"role:master" in info

    def is_replica_required(self, now: float) -> bool:
        """Whether a call made now must have come to a replica before it counts."""
        return self._alone_since is None or now - self._alone_since <= self._grace_s
