"""The polite web, in one crawl and in real time: everything is fetched once, and no host is requested too soon."""

import pytest

from tests.hostile.archive import CHECKS, HOSTILE_ONLY
from tests.hostile.crawl_run import run_crawl
from tests.hostile.failing import FAILING_POLITE
from tests.hostile.polite import MIN_DELAY, MIN_IP_DELAY, rows
from tests.hostile.rows.row import WebAddress
from tests.hostile.web import Web

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1000)]
NAMES = [row.name for row in rows(WebAddress())]


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    directory = tmp_path_factory.mktemp("polite")
    with Web(rows, directory / "tls").served() as web:
        yield run_crawl(
            web,
            directory / "project",
            min_delay=MIN_DELAY,
            min_ip_delay=MIN_IP_DELAY,
            timeout=10,
            hurry=False,
        )


def marked(names):
    failing = {name: [pytest.mark.xfail(reason=why, strict=True)] for name, why in FAILING_POLITE.items()}
    return [pytest.param(name, marks=failing.get(name, [])) for name in names]


@pytest.mark.parametrize("name", marked(NAMES))
def test_row(played, name):
    wrong = played.seen(played.row_of[name]).judge()
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", marked(sorted(set(CHECKS) - HOSTILE_ONLY)))
def test_archive(played, name):
    CHECKS[name](played)


def test_what_fails_is_known_by_its_name():
    assert set(FAILING_POLITE) <= {*NAMES, *CHECKS}
