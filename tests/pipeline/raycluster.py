"""A Ray cluster of nodes on this machine, loopback only, ended with the context.

Import this before `ray`: Ray reads some of its settings once.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {
    # Or Ray replaces 127.0.0.1 by another address of this machine, where nobody listens.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    # A dead node is noticed in two seconds, not in thirty.
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_failure_threshold": "4",
    "PYTHONPATH": str(ROOT),
}
os.environ.update(SETTINGS)

OBJECTS = 80 << 20
"""Bytes of a node's object store: nothing of ours goes through it."""
MEMORY = 32 << 30
"""Bytes that a node says it has, whatever the machine has: what fits must not depend on who else is at work there."""
NODE = {
    "num_cpus": 1,
    "memory": MEMORY,
    "object_store_memory": OBJECTS,
    "include_dashboard": False,
    "node_ip_address": "127.0.0.1",
}


@contextmanager
def cluster(nodes: int, cpus: int = 1) -> Iterator["Nodes"]:
    """A head with some CPUs, and more nodes with as many each."""
    from ray.cluster_utils import Cluster

    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as directory:
        # Also what "the cluster of this machine" is to Ray: this one, and nobody else's.
        os.environ["RAY_TMPDIR"] = directory
        Path(directory, "ray").mkdir()
        started = Cluster(initialize_head=True, head_node_args={**NODE, "num_cpus": cpus})
        found = Nodes(started, cpus)
        try:
            for _ in range(nodes - 1):
                found.add()
            yield found
        finally:
            started.shutdown()


class Nodes:
    """The nodes of a running cluster. The head is never killed: with it a cluster ends."""

    def __init__(self, started, cpus):
        self._cluster, self._cpus = started, cpus
        self.address = started.address

    @property
    def count(self):
        """How many live, as far as this process knows."""
        return 1 + len(self._cluster.worker_nodes)

    def add(self):
        """A new node joins."""
        return self._cluster.add_node(**{**NODE, "num_cpus": self._cpus})

    def kill(self, actor=""):
        """SIGKILL to all of one node but the head: one that has such an actor."""
        nodes = sorted(self._cluster.worker_nodes, key=lambda node: node.unique_id)
        node = next(node for node in nodes if actor in _processes(node))
        self._cluster.remove_node(node, allow_graceful=False)


def _processes(node):
    """Names of what the node has begun."""
    (raylet,) = node.all_processes["raylet"]
    return " ".join(child.name() for child in psutil.Process(raylet.process.pid).children())
