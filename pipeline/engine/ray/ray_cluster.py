"""A Ray cluster, connected: never started, one line where it is not there, and not a word of Ray's own."""

import logging
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from core import InputError, ThresherError, Unavailable

PLACEMENT_TIMEOUT_S = 300.0
"""How long work waits for room in the cluster: an autoscaler starts a machine in less."""
POLL_S = 1.0
PROBE_TIMEOUT_S = 10.0
RAY_CLIENT_SCHEME = "ray://"
HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""With it a client begins to speak HTTP/2, which gRPC is (RFC 9113, section 3.4), and the server answers alike."""
HTTP2_FRAME_HEADER_BYTES = 9
HTTP2_SETTINGS_TYPE = b"\x04"
"""Bytes of a frame's header, and its fourth for the kind that comes first (RFC 9113, sections 4.1 and 6.5)."""


@contextmanager
def ray_connection(address: str) -> Iterator[ModuleType]:
    """Ray, connected to a cluster that runs. Never starts one."""
    try:
        import ray  # noqa: PLC0415 - an extra, and half a second
    except ImportError:
        raise InputError(
            "project.engine = \"ray\" needs Ray; install the extra 'ray' (docs/guides/install.md)"
        ) from None
    where = address or os.environ.get("RAY_ADDRESS", "")
    _probe(where)
    handler = signal.getsignal(signal.SIGTERM)
    # Ray prints what its nodes complain of to our stdout, and has no setting against it.
    ray._private.worker.listen_error_messages = lambda *_: None  # noqa: SLF001
    try:
        ray.init(address=where or "auto", log_to_driver=False, logging_level=logging.CRITICAL)
    except (ConnectionError, RuntimeError, ValueError, OSError, TimeoutError) as error:
        raise Unavailable(
            f"no Ray cluster at {where or 'this machine'}: {last_line(error)}; start one (`ray start --head`), or set "
            'project.engine = "local"'
        ) from None
    finally:
        if signal.getsignal(signal.SIGTERM) is not handler:  # what SIGTERM means is not Ray's to say
            signal.signal(signal.SIGTERM, handler)
    try:
        yield ray
    finally:
        ray.shutdown()


def _probe(where: str) -> None:
    """Ray itself waits for minutes where nobody listens."""
    if where.startswith(RAY_CLIENT_SCHEME):
        raise InputError(
            f"RAY_ADDRESS={where}: Thresher does not go through Ray's client; run it on a machine of the cluster, "
            "with HOST:PORT of its head"
        )
    if where in {"", "auto"}:
        return
    host, _, port = where.rpartition(":")
    if not host or not port.isdigit():
        raise InputError(f"RAY_ADDRESS={where}: give HOST:PORT of the cluster's head")
    try:
        with socket.create_connection((host, int(port)), timeout=PROBE_TIMEOUT_S) as connection:
            connection.settimeout(PROBE_TIMEOUT_S)
            connection.sendall(HTTP2_PREFACE)
            answer = connection.recv(HTTP2_FRAME_HEADER_BYTES)
    except OSError as error:
        raise Unavailable(
            f"no Ray cluster answers at {where} ({error.strerror or error}); start one (`ray start --head`), or "
            'set project.engine = "local"'
        ) from None
    if answer[3:4] != HTTP2_SETTINGS_TYPE and os.environ.get("RAY_USE_TLS", "0") == "0":
        raise InputError(
            f"what answers at {where} is not the head of a Ray cluster; its port is 6379 by default"
        )


def cpu_count(ray: ModuleType) -> int:
    """How many the cluster has now. Raises `Unavailable` where the node of this process is not in it any more: all
    that it asked for is gone then, and nothing more is given.
    """
    nodes = [node for node in ray.nodes() if node["Alive"]]
    here = ray.get_runtime_context().get_node_id()
    if all(node["NodeID"] != here for node in nodes):
        raise Unavailable(
            "the Ray node of this machine has died or left its cluster; start it again, and run the same command again"
        )
    return int(sum(node["Resources"].get("CPU", 0) for node in nodes))


def no_room_error(ray: ModuleType, memory: int, patience_s: float) -> Unavailable:
    """That no worker who wants a CPU and so many bytes has found a place in that time."""
    has, free = ray.cluster_resources(), ray.available_resources()
    wanted = f"1 CPU and {memory >> 20:,} MiB of memory" if memory else "1 CPU"
    return Unavailable(
        f"the Ray cluster had no room for a worker ({wanted} on one node) for {patience_s:.0f} s: "
        f"{free.get('CPU', 0):.0f} of {has.get('CPU', 0):.0f} CPUs and {int(free.get('memory', 0)) >> 20:,} of "
        f"{int(has.get('memory', 0)) >> 20:,} MiB are free on {len(ray.nodes())} nodes; add nodes, or end other jobs"
    )


def start_error(error: Exception) -> ThresherError:
    """That actors die before they can begin, as Ray's error has it."""
    text = str(error)
    if "failed to be imported" in text or "failed to import" in text or "ModuleNotFoundError" in text:
        return InputError(
            "project.engine: a node of the Ray cluster has no Thresher; install the same version there"
        )
    return Unavailable(f"workers on the Ray cluster die before they begin: {last_line(error)}")


def last_line(error: Exception) -> str:
    """The last line of what Ray says."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
