"""A connection to a Ray cluster: it never starts one, reports a missing one in one line, and silences Ray's output."""

import logging
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from thresher.core import InputError, ThresherError, Unavailable
from thresher.core.installation.extras import missing_extra

PLACEMENT_TIMEOUT_S = 300.0
"""Seconds that work waits for room in the cluster: an autoscaler starts a machine in less."""
POLL_S = 1.0
PROBE_TIMEOUT_S = 10.0
RAY_CLIENT_SCHEME = "ray://"
HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""A client starts HTTP/2, and therefore gRPC, with these bytes (RFC 9113, section 3.4); the server responds alike."""
HTTP2_FRAME_HEADER_BYTES = 9
HTTP2_SETTINGS_TYPE = b"\x04"
"""Length of a frame's header, and its fourth byte in a SETTINGS frame, which comes first (RFC 9113, 4.1 and 6.5)."""


@contextmanager
def ray_connection(address: str) -> Iterator[ModuleType]:
    """Yield Ray, connected to a running cluster. Raise `InputError` or `Unavailable` if there is none."""
    try:
        import ray  # noqa: PLC0415 - Ray is an extra, and takes half a second to import
    except ImportError:
        raise missing_extra("ray", 'project.engine = "ray" needs Ray') from None
    where = address or os.environ.get("RAY_ADDRESS", "")
    _probe(where)
    handler = signal.getsignal(signal.SIGTERM)
    # Ray prints complaints of its nodes to our stdout, and has no setting against that.
    ray._private.worker.listen_error_messages = lambda *_: None  # noqa: SLF001
    try:
        ray.init(address=where or "auto", log_to_driver=False, logging_level=logging.CRITICAL)
    except (ConnectionError, RuntimeError, ValueError, OSError, TimeoutError) as error:
        raise Unavailable(
            f"no Ray cluster at {where or 'this machine'}: {last_line(error)}; start one (`ray start --head`), or set "
            'project.engine = "local"'
        ) from None
    finally:
        if signal.getsignal(signal.SIGTERM) is not handler:  # Ray must not change the meaning of SIGTERM
            signal.signal(signal.SIGTERM, handler)
    try:
        yield ray
    finally:
        ray.shutdown()


def _probe(where: str) -> None:
    """Raise an error if no head listens at an address, because Ray itself waits for minutes there."""
    if where.startswith(RAY_CLIENT_SCHEME):
        raise InputError(
            f"RAY_ADDRESS={where}: Thresher does not use Ray's client; run it on a machine of the cluster, "
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
            f"no Ray cluster responds at {where} ({error.strerror or error}); start one (`ray start --head`), or "
            'set project.engine = "local"'
        ) from None
    if answer[3:4] != HTTP2_SETTINGS_TYPE and os.environ.get("RAY_USE_TLS", "0") == "0":
        raise InputError(
            f"the server at {where} is not the head of a Ray cluster; its port is 6379 by default"
        )


def cpu_count(ray: ModuleType) -> int:
    """Return the number of CPUs that the cluster has now.

    Raise `Unavailable` if the node of this process has left the cluster: its actors are lost, and it gets no more.
    """
    nodes = [node for node in ray.nodes() if node["Alive"]]
    here = ray.get_runtime_context().get_node_id()
    if all(node["NodeID"] != here for node in nodes):
        raise Unavailable(
            "the Ray node of this machine has died or left its cluster; start it again, and run the same command again"
        )
    return int(sum(node["Resources"].get("CPU", 0) for node in nodes))


def no_room_error(ray: ModuleType, memory: int, gpus: int, patience_s: float) -> Unavailable:
    """Return the error for a worker (one CPU, `memory` bytes, `gpus`) that found no room in the cluster in
    `patience_s`.
    """
    has, free = ray.cluster_resources(), ray.available_resources()
    wanted = f"1 CPU and {memory >> 20:,} MiB of memory" if memory else "1 CPU"
    if gpus:
        wanted += f" and {gpus} GPU; {free.get('GPU', 0):.0f} of {has.get('GPU', 0):.0f} GPUs are free"
    return Unavailable(
        f"the Ray cluster had no room for a worker ({wanted} on one node) for {patience_s:.0f} s: "
        f"{free.get('CPU', 0):.0f} of {has.get('CPU', 0):.0f} CPUs and {int(free.get('memory', 0)) >> 20:,} of "
        f"{int(has.get('memory', 0)) >> 20:,} MiB are free on {len(ray.nodes())} nodes; add nodes, or end other jobs"
    )


def start_error(error: Exception) -> ThresherError:
    """Return the error for actors that die before they can start."""
    text = str(error)
    if "failed to be imported" in text or "failed to import" in text or "ModuleNotFoundError" in text:
        return InputError(
            "project.engine: a node of the Ray cluster has no Thresher; install the same version there"
        )
    return Unavailable(f"workers on the Ray cluster die before they start: {last_line(error)}")


def last_line(error: Exception) -> str:
    """Return the last line of an error of Ray, which holds its cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
