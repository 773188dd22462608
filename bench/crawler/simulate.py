"""Run seeds of the deterministic simulator (`tests/simulator`): whole crawls in virtual time, with faults.

usage: python bench/crawler/simulate.py [--seeds N] [--seed FIRST] [--jobs J] [--server model|redis] [--kinds A,B,...]
       [--trace]

The frontier is the model in memory or, with `--server redis`, the Lua functions and their client, on one embedded
server per job.

Prints one JSON line: the number of seeds, seeds per second, virtual hours, and each seed that broke a promise of the
frontier, with the promise. Exits with 1 if a seed did. `--seed S --trace` prints every event of one seed.
"""

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from redis import Redis

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.simulator.faults import ALL
from tests.simulator.simulation import simulate, usual
from thresher.frontier.link.embedded import embedded_server

SHOWN = 20
CHUNK = 25


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=1, help="run N seeds (default: 1)")
    parser.add_argument("--seed", type=int, default=0, help="start with this seed (default: 0)")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="run N processes (default: one per core)"
    )
    parser.add_argument(
        "--server", default="model", choices=("model", "redis"), help="use this frontier (default: model)"
    )
    parser.add_argument(
        "--kinds",
        help=f"inject these faults, of {', '.join(ALL)} (default: all; on the model all but lose_tail)",
    )
    parser.add_argument("--trace", action="store_true", help="print every event of the first seed")
    options = parser.parse_args()
    kinds = usual(options.server)
    if options.kinds is not None:
        kinds = tuple(kind for kind in options.kinds.split(",") if kind)
    if unknown := set(kinds) - ALL.keys():
        parser.error(f"no such faults: {', '.join(sorted(unknown))}")
    with ExitStack() as stack:
        addresses = multiprocessing.Queue()
        for _ in range(options.jobs if options.server == "redis" else 0):
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="simulator-"))
            addresses.put(stack.enter_context(embedded_server(Path(folder))))
        begun = time.monotonic()
        with ProcessPoolExecutor(
            options.jobs, initializer=_begin, initargs=(options.server, addresses)
        ) as pool:
            if options.trace:
                print("\n".join(pool.submit(_trace, options.seed, kinds).result()))
            seeds = range(options.seed, options.seed + options.seeds)
            runs = list(pool.map(partial(_outcome, kinds=kinds), seeds, chunksize=CHUNK))
    took_s = time.monotonic() - begun
    broken = {seed: list(promises) for seed, promises, _, _ in runs if promises}
    print(
        json.dumps(
            {
                "seeds": len(runs),
                "first": options.seed,
                "server": options.server,
                "kinds": list(kinds),
                "broken": len(broken),
                "seconds": round(took_s, 1),
                "seeds_per_s": round(len(runs) / took_s, 1),
                "virtual_hours": round(sum(seconds for *_, seconds, _ in runs) / 3600, 1),
                "events": sum(events for *_, events in runs),
                "shown": dict(list(broken.items())[:SHOWN]),
            }
        )
    )
    return 1 if broken else 0


_server: list[Redis] = []
"""The client of this job's server, if it has one."""


def _begin(server, addresses):
    if server == "redis":
        _server.append(Redis.from_url(addresses.get()))


def _trace(seed, kinds):
    return simulate(seed, kinds, *_server).trace


def _outcome(seed, *, kinds):
    run = simulate(seed, kinds, *_server)
    return run.seed, run.broken, run.seconds, run.events


if __name__ == "__main__":
    sys.exit(main())
