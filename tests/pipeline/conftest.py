import pytest

from thresher.pipeline.engine.local.worker_pool import local_worker_pool


@pytest.fixture(scope="session")
def pool():
    """Two worker processes, for all tests of this process."""
    with local_worker_pool(2) as pool:
        yield pool
