"""Webs to crawl in tests: the demo's web as a fixture, and folders of real sites in a process of their own.

Use: `from tests.served_webs import demo_web` (a fixture, one web for the module), or `with tree_server({...}) as trees`.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from demo.web import LoggedRequest, RunningWeb, Web

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def demo_web() -> Iterator[RunningWeb]:
    """The demo's web of the default seed."""
    with Web().serve() as serving:
        yield serving


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeServer:
    """Folders that are being served."""

    hosts: dict[str, str]
    """From address to base URL, without a slash at the end."""
    port: int
    pid: int
    log: Path | None

    def requests(self) -> list[LoggedRequest]:
        """Every request so far, from the log; the clock is the same monotonic one as this process has."""
        assert self.log is not None, "tree_server(..., log=PATH) keeps a log"
        return [_parse_request(line) for line in self.log.read_text("utf-8").splitlines()]


@contextmanager
def tree_server(trees: Mapping[str, Path], *, port: int = 0, log: Path | None = None) -> Iterator[TreeServer]:
    """Serve folders, each on its own loopback address, from another process that ends with this one."""
    words = [f"{address}={folder}" for address, folder in trees.items()]
    words += ["--port", str(port), "--attached", *(["--log", str(log)] if log else [])]
    with subprocess.Popen(
        [sys.executable, "-m", "demo.static", *words],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout
            said = process.stdout.readline().split()
            assert said[:1] == ["ready"], "the static server did not start; its error is above"
            chosen = int(said[1])
            hosts = {address: f"http://{address}:{chosen}" for address in trees}
            yield TreeServer(hosts=hosts, port=chosen, pid=process.pid, log=log)
        finally:
            process.terminate()


def _parse_request(line: str) -> LoggedRequest:
    at, address, target, status, agent = line.split("\t")
    return LoggedRequest(host=address, path=target, at=float(at), agent=agent, status=int(status))
