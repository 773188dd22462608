import asyncio

import pytest

from thresher.core import InputError
from thresher.crawler.render.chromium.browser import start_browser
from thresher.crawler.render.chromium.program import find_browser


@pytest.fixture(scope="session")
def chromium():
    """Path of the browser; without one the test is skipped."""
    try:
        return find_browser("")
    except InputError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def sandbox(chromium):
    """Whether the system lets the browser have its sandbox."""

    async def tried():
        await (await start_browser(chromium, sandbox=True)).stop()

    try:
        asyncio.run(tried())
    except InputError:
        return False
    return True


@pytest.fixture
def sandboxed(chromium, sandbox):
    """Path of the browser; the test is skipped if the browser cannot have its sandbox."""
    if not sandbox:
        pytest.skip("the system makes no user namespaces for the browser's sandbox")
    return chromium


@pytest.fixture
def crawl(crawl, sandbox):
    """A browser thread that renders as this system can."""
    crawl.sandbox = sandbox
    return crawl


@pytest.fixture(scope="session")
def stage(sandbox):
    from tests.crawler.render.browser_thread import BrowserThread

    made = BrowserThread(sandbox=sandbox)
    yield made
    made.close()
