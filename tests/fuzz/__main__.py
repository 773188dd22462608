"""`python -m tests.fuzz [READER...] --seconds N --seed S`: fuzz for N CPU seconds a reader; findings go into the
corpus.
"""

import argparse
import sys

from tests.fuzz.fuzzing import CORPUS, fuzz
from tests.fuzz.readers import readers

MOST = 5
"""Findings of a reader that end its run: they are mostly one."""


def main() -> int:
    """Return 1 where anything was found."""
    arguments = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    arguments.add_argument(
        "readers", nargs="*", metavar="READER", help=f"of {', '.join(readers())}; all by default"
    )
    arguments.add_argument("--seconds", type=float, default=60.0, help="CPU seconds a reader")
    arguments.add_argument("--seed", type=int, default=0)
    said = arguments.parse_args()
    found = 0
    for name, reader in readers().items():
        if said.readers and name not in said.readers:
            continue
        count = own = 0
        for each in fuzz(name, reader, said.seed, seconds=said.seconds):
            count += 1
            if each is None:
                continue
            own += 1
            path = CORPUS / name / each.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(each.data)
            print(f"{path}\n{each.what}", flush=True)
            if own == MOST:
                break
        print(f"{name}: {count:,} inputs, {own} findings", flush=True)
        found += own
    return 1 if found else 0


sys.exit(main())
