"""Open a loader without plans in its export, and print its sequences and the sum of its tokens.

usage: plan_program.py EXPORT CACHE LENGTH...
"""

import json
import sys

from thresher.shards.loader.exact_loader import Loader

export, cache, *lengths = sys.argv[1:]
found = []
for length in lengths:
    loader = Loader(export, length=int(length), batch_size=1, cache=cache)
    found.append([loader.sequences, sum(int(batch["input_ids"].sum()) for batch in loader)])
sys.stdout.write(json.dumps(found) + "\n")
