"""Killed at any moment, a crawl loses nothing, shows nothing half made, and stays polite."""

import pytest

from tests.hostile.failing import FAILING_POLITE
from tests.hostile.kills import kill, rows
from tests.hostile.web import Web

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1000)]
TIMES = 6


def test_a_crawl_that_is_killed_again_and_again_ends_as_any_other(tmp_path):
    def held(there):
        return [row for row in rows(there) if row.name not in FAILING_POLITE]

    with Web(held, tmp_path / "tls").served() as web:
        found = kill(web, tmp_path / "project", times=TIMES, seed=0)
    assert found.kills == TIMES
    assert found.faults == []
    assert found.pages > 400
