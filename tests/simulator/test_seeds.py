"""Whatever befalls a crawl, by seed: its promises hold. A seed that breaks one says how to see it again."""

import pytest
from redis import Redis

from tests.simulator.simulation import simulate

FEW = 20
MANY = 60
ON_REDIS = 3
MANY_ON_REDIS = 25


def test_no_promise_is_broken():
    for seed in range(FEW):
        run = simulate(seed)
        assert not run.broken, str(run)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 16 * MANY, MANY))
def test_no_promise_is_broken_by_very_many_seeds(first):
    for seed in range(first, first + MANY):
        run = simulate(seed)
        assert not run.broken, str(run)


@pytest.mark.parametrize("first", range(0, ON_REDIS * 2, ON_REDIS))
def test_no_promise_is_broken_on_the_functions_of_the_server(first, redis: Redis):
    for seed in range(first, first + ON_REDIS):
        run = simulate(seed, redis=redis)
        assert not run.broken, str(run)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(20_000, 20_000 + 6 * MANY_ON_REDIS, MANY_ON_REDIS))
def test_no_promise_is_broken_on_the_functions_of_the_server_by_many_seeds(first, redis: Redis):
    for seed in range(first, first + MANY_ON_REDIS):
        run = simulate(seed, redis=redis)
        assert not run.broken, str(run)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(30_000, 30_000 + 2 * MANY_ON_REDIS, MANY_ON_REDIS))
def test_a_server_that_loses_its_last_second_again_and_again_loses_nothing(first, redis: Redis):
    for seed in range(first, first + MANY_ON_REDIS):
        run = simulate(seed, ["lose_tail", "repeat", "kill"], redis)
        assert not run.broken, str(run)
