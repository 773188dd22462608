"""Every row of the hostile web, in one crawl: the crawl ends, and of each row holds what the row says."""

import pytest

from tests.hostile.play import play
from tests.hostile.rows import rows
from tests.hostile.rows.row import There
from tests.hostile.web import Web
from tests.hostile.failing import FAILING

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
NAMES = [row.name for row in rows(There())]


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    directory = tmp_path_factory.mktemp("hostile")
    with Web(rows, directory / "tls").served() as web:
        yield play(web, directory / "project")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.xfail(reason=FAILING[name], strict=True)] if name in FAILING else [])
        for name in NAMES
    ],
)
def test_row(played, name):
    wrong = played.seen(played.row_of[name]).judge()
    assert not wrong, "\n".join(wrong)


def test_every_row_that_fails_is_a_row():
    assert set(FAILING) <= set(NAMES)


def test_the_crawl_ends_with_nothing_left(played):
    assert played.stats["drained"]
    assert played.stats["leased"] == played.stats["later"] == 0
