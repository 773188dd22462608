"""Every row of the hostile web, in one crawl: the crawl ends, and what each row says holds."""

import pytest

from tests.hostile.archive import CHECKS
from tests.hostile.crawl_run import run_crawl
from tests.hostile.failing import FAILING
from tests.hostile.rows import rows
from tests.hostile.rows.row import WebAddress
from tests.hostile.web import Web

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1000)]
NAMES = [row.name for row in rows(WebAddress())]


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    directory = tmp_path_factory.mktemp("hostile")
    with Web(rows, directory / "tls").served() as web:
        yield run_crawl(web, directory / "project")


def marked(names):
    """Checks that fail for now say why; the test fails once they hold."""
    failing = {name: [pytest.mark.xfail(reason=why, strict=True)] for name, why in FAILING.items()}
    return [pytest.param(name, marks=failing.get(name, [])) for name in names]


@pytest.mark.parametrize("name", marked(NAMES))
def test_row(played, name):
    wrong = played.seen(played.row_of[name]).judge()
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", marked(CHECKS))
def test_archive(played, name):
    CHECKS[name](played)


def test_what_fails_is_known_by_its_name():
    assert set(FAILING) <= {*NAMES, *CHECKS}


def test_the_crawl_ends_with_nothing_left(played):
    assert played.stats["drained"]
    assert played.stats["leased"] == played.stats["later"] == 0
