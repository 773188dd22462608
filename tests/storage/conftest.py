"""The S3 server of this test process: started when the first test asks for it, killed at the end."""

import os

import pytest

from storage.request_retry import RetryPolicy
from storage.s3.s3_store import S3Store
from tests.storage.proxy import start_proxy
from tests.storage.s3server import BUCKET, KEYS, running_server

QUICK = RetryPolicy(total_ms=60_000, first_ms=5, longest_ms=200)
"""As patient as the tests need, and no slower."""
MIN_PART = 5 << 20


@pytest.fixture(scope="session")
def keys():
    """The keys of the servers that tests start, as the AWS_* variables, and nothing else of their kind."""
    with pytest.MonkeyPatch.context() as environment:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            environment.delenv(name)
        for name, value in {**KEYS, "AWS_REGION": "us-east-1", "AWS_CONFIG_FILE": os.devnull}.items():
            environment.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def server(keys, tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


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
