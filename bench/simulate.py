"""Seeds of the deterministic simulator (`tests/simulator`): whole crawls in virtual time, with faults, judged by their promises.

usage: python bench/simulate.py [--seeds N] [--seed FIRST] [--jobs J] [--kinds A,B,...] [--trace]

Prints one JSON line: seeds, how many a second, virtual hours, and each seed that broke a promise with what it broke; exits with 1 if one
did. `--seed S --trace` prints all that happened in one seed.
"""

import argparse
import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.simulator.faults import ALL
from tests.simulator.simulation import HELD, simulate

SHOWN = 20
CHUNK = 25


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="the first of them")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--kinds", default=",".join(HELD), help=f"faults, of {', '.join(ALL)}")
    parser.add_argument("--trace", action="store_true", help="print what happened in the first seed")
    options = parser.parse_args()
    kinds = tuple(kind for kind in options.kinds.split(",") if kind)
    if unknown := set(kinds) - ALL.keys():
        parser.error(f"no such faults: {', '.join(sorted(unknown))}")
    if options.trace:
        run = simulate(options.seed, kinds)
        print("\n".join(run.trace))
    begun = time.monotonic()
    with ProcessPoolExecutor(options.jobs) as pool:
        seeds = range(options.seed, options.seed + options.seeds)
        runs = list(pool.map(partial(_outcome, kinds=kinds), seeds, chunksize=CHUNK))
    took_s = time.monotonic() - begun
    broken = {seed: list(said) for seed, said, _, _ in runs if said}
    print(
        json.dumps(
            {
                "seeds": len(runs),
                "first": options.seed,
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


def _outcome(seed, *, kinds):
    run = simulate(seed, kinds)
    return run.seed, run.broken, run.seconds, run.events


if __name__ == "__main__":
    sys.exit(main())
