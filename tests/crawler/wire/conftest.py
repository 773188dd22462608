from contextlib import asynccontextmanager

import pytest

from tests.crawler.flat_settings import wire_client

AGENT = "thresher/test (+mailto:test@example.org)"


@pytest.fixture
def client():
    """Return a function that makes clients that may connect to loopback."""

    @asynccontextmanager
    async def made(max_body=1_000, timeout_s=0.5, allow=("127.0.0.0/8", "::1"), **options):
        http_client = wire_client(
            AGENT, max_body=max_body, timeout=timeout_s, allow_networks=tuple(allow), **options
        )
        try:
            yield http_client
        finally:
            await http_client.close()

    return made


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    from tests.crawler.authority import Authority

    return Authority(tmp_path_factory.mktemp("tls"))
