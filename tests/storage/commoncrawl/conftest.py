"""A small crawl and its server, made once for each process; clients that wait in simulated time."""

from dataclasses import dataclass, field

import pytest

from tests.commoncrawl import write_crawl
from tests.commoncrawl_server import serve_files
from thresher.storage.commoncrawl.transport.http_source import HttpSource
from thresher.storage.commoncrawl.transport.source_client import SourceClient
from thresher.storage.request_retry import RetryPolicy

PATIENCE = RetryPolicy(total_ms=600_000, first_ms=100, longest_ms=10_000)
AGENT = "thresher/0 (+mailto:crawl@example.org)"


@dataclass
class Clock:
    """Time that passes only where somebody sleeps."""

    now: int = 0
    slept: list = field(default_factory=list)

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += int(seconds * 1000) + 1


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory):
    root = tmp_path_factory.mktemp("commoncrawl")
    return root, write_crawl(root)


@pytest.fixture
def stored(tree):
    return tree[1]


@pytest.fixture
def server(tree):
    with serve_files(tree[0]) as server:
        yield server


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def client_of(clock: Clock):
    """Makes clients, closed at the end."""
    made = []

    def make_client(base, **more):
        options = {
            "patience": PATIENCE,
            "now_ms": lambda: clock.now,
            "sleep": clock.sleep,
            "chance": lambda: 0.5,
        }
        made.append(SourceClient(HttpSource(base, AGENT), **{**options, **more}))
        return made[-1]

    yield make_client
    for client in made:
        client.close()


@pytest.fixture
def client(client_of, server):
    return client_of(server.base)
