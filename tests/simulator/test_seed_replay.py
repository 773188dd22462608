"""A seed is a run: it comes to the same, event by event, in every process."""

import json
import os
import subprocess
import sys
from pathlib import Path

from redis import Redis

from tests.simulator.faults import ALL
from tests.simulator.simulation import simulate

ROOT = Path(__file__).parents[2]
SEEDS = (3, 44, 104, 105)
SCRIPT = f"""
import json
from tests.simulator.simulation import simulate
print(json.dumps([(run.hash, run.broken) for run in (simulate(seed, {tuple(ALL)!r}) for seed in {SEEDS!r})]))
"""
ON_REDIS = """
import json
from redis import Redis
from tests.simulator.simulation import simulate
redis = Redis(unix_socket_path={path!r})
print(json.dumps([(run.hash, run.broken) for run in (simulate(seed, redis=redis) for seed in {seeds!r})]))
"""


def told(hash_seed, script=SCRIPT):
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_a_seed_comes_to_the_same_twice():
    for seed in SEEDS[:2]:
        first, second = simulate(seed, ALL), simulate(seed, ALL)
        assert first.hash == second.hash
        assert first == second


def test_two_seeds_are_two_runs():
    assert len({simulate(seed).hash for seed in range(4)}) == 4


def test_a_seed_comes_to_the_same_in_another_process():
    here = [(run.hash, list(run.broken)) for run in (simulate(seed, ALL) for seed in SEEDS)]
    assert [tuple(each) for each in told("4242")] == here


def test_a_seed_comes_to_the_same_on_the_functions_of_the_server(redis: Redis):
    seeds = SEEDS[:1]
    runs = [simulate(seed, redis=redis) for seed in seeds]
    assert [simulate(seed, redis=redis) for seed in seeds] == runs
    script = ON_REDIS.format(path=redis.get_connection_kwargs()["path"], seeds=seeds)
    assert [tuple(each) for each in told("4242", script)] == [(run.hash, list(run.broken)) for run in runs]
