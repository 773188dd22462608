"""Stores in the S3 server of this test process (`s3_server`), directly or through a proxy that fails."""

import os

import pytest

from tests.storage.faulty_proxy import start_proxy
from tests.storage.s3server import BUCKET
from thresher.storage.request_retry import RetryPolicy
from thresher.storage.s3.s3_store import S3Store

QUICK = RetryPolicy(total_ms=60_000, first_ms=5, longest_ms=200)
"""As patient as the tests need, and no slower."""
MIN_PART = 5 << 20


@pytest.fixture(scope="session")
def keys(s3_keys):
    """The keys of the servers that tests start, as the AWS_* variables, and nothing else of their kind."""


@pytest.fixture(scope="session")
def server(s3_server):
    return s3_server


@pytest.fixture
def proxy(server):
    with start_proxy(server.port) as proxy:
        yield proxy


@pytest.fixture
def bucket_at(server):
    """Makes buckets under a prefix of this test's own, closed at its end."""
    made = []
    prefix = f"t{os.urandom(6).hex()}"

    def make(endpoint=server.endpoint, **more):
        made.append(
            S3Store(BUCKET, prefix, endpoint=endpoint, **{"patience": QUICK, "part_bytes": MIN_PART, **more})
        )
        return made[-1]

    yield make
    for bucket in made:
        bucket.close()
