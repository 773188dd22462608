"""A project that has crawled a hostile site, and its console, once for each file of tests."""

import pytest

from tests.console.hostile_site import crawled_site
from tests.console.served import served_console
from thresher.frontier.link.embedded import embedded_server


@pytest.fixture(scope="module")
def redis(tmp_path_factory):
    with embedded_server(tmp_path_factory.mktemp("redis")) as address:
        yield address


@pytest.fixture(scope="module")
def site(redis, tmp_path_factory):
    with crawled_site(tmp_path_factory.mktemp("project"), redis) as found:
        yield found


@pytest.fixture(scope="module")
def served(site):
    with served_console(site.project) as found:
        yield found
