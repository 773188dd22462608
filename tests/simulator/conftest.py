"""A server for each module that simulates on the Lua functions: each run empties it."""

from collections.abc import Iterator

import pytest
from redis import Redis

from thresher.frontier.link.embedded import embedded_server


@pytest.fixture(scope="module")
def redis(tmp_path_factory) -> Iterator[Redis]:
    with embedded_server(tmp_path_factory.mktemp("frontier")) as address, Redis.from_url(address) as client:
        yield client
