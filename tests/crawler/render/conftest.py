import pytest

from core import InputError
from crawler.render.program import program


@pytest.fixture(scope="session")
def chromium():
    """Path of the browser; without one the test is skipped."""
    try:
        return program("")
    except InputError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def stage(chromium):
    from tests.crawler.render.stage import Stage

    made = Stage()
    yield made
    made.close()
