from tests.crawler.conftest import crawl, redis, site  # noqa: F401 - fixtures
from tests.crawler.render.conftest import chromium, sandbox  # noqa: F401 - fixtures
