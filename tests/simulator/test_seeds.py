"""Whatever befalls a crawl, by seed: its promises hold. A seed that breaks one says how to see it again."""

import pytest

from tests.simulator.simulation import simulate

BATCH = 32
BATCHES = 8
MANY = 125


@pytest.mark.parametrize("first", range(0, BATCH * BATCHES, BATCH))
def test_no_promise_is_broken(first):
    for seed in range(first, first + BATCH):
        run = simulate(seed)
        assert not run.broken, str(run)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 10_000 + 16 * MANY, MANY))
def test_no_promise_is_broken_by_very_many_seeds(first):
    for seed in range(first, first + MANY):
        run = simulate(seed)
        assert not run.broken, str(run)
