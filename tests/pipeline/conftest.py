import pytest

from pipeline.engine.local.worker_pool import local_crew


@pytest.fixture(scope="session")
def crew():
    """Two worker processes, for all tests of this process."""
    with local_crew(2) as crew:
        yield crew
