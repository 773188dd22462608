from contextlib import asynccontextmanager

import pytest

from crawler.wire import Client, parse_networks

AGENT = "thresher/test (+mailto:test@example.org)"


@pytest.fixture
def client():
    """Return a function that makes clients that may connect to loopback."""

    @asynccontextmanager
    async def made(max_body=1_000, timeout_s=0.5, allow=("127.0.0.0/8", "::1"), **options):
        asking = Client(
            user_agent=AGENT, max_body=max_body, timeout_s=timeout_s, allow=parse_networks(allow), **options
        )
        try:
            yield asking
        finally:
            await asking.close()

    return made


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    from tests.crawler.authority import Authority

    return Authority(tmp_path_factory.mktemp("tls"))
