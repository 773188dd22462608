"""Compute the signatures of prose, and compare with the MinHash of other tools.

usage: python bench/dedup/signatures.py --prose DIR [--texts N] [--words N] [--near BxR] [--rounds N] [--peer NAME ...]

The texts are runs of N words of the .jsonl.zst and .tar.zst files of DIR. A signature is what a part of `process` makes
of a text: the folded text, its 128-bit hash, and its MinHash. Prints one JSON line: microseconds of CPU time a text,
signatures a second of CPU time, the same for the MinHash alone, and the median of the rounds. Each peer (`datasketch`,
`rensa`, `datatrove`) then signs the same texts (datatrove 500 of them) in an environment of its own (`bench/peers`),
and its line follows. Peers make a MinHash only.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.peers import environments
from bench.shards.export import prose
from thresher.filters.dedup.signature import minhash, sign
from thresher.pipeline.configuration import DedupConfig

ENVIRONMENTS = {"datasketch": "signatures", "rensa": "signatures", "datatrove": "datatrove-dedup"}
SLOW = {"datatrove": 500}
"""Texts for a peer that takes milliseconds a text."""


def main() -> None:
    """Sign, and print the lines."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--prose", type=Path, required=True)
    parser.add_argument("--texts", type=int, default=10_000)
    parser.add_argument("--words", type=int, default=500)
    parser.add_argument("--near", default="14x8")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer", action="append", choices=sorted(ENVIRONMENTS), default=[])
    options = parser.parse_args()
    texts = runs_of_words(options.prose, options.texts, options.words)
    permutations = DedupConfig(near=options.near).permutations
    whole = seconds(lambda text: sign(text, permutations), texts, options.rounds)
    alone = seconds(lambda text: minhash(text, permutations), texts, options.rounds)
    print(
        json.dumps(
            {
                "tool": "thresher",
                "texts": len(texts),
                "permutations": permutations,
                "us_a_text": round(1e6 * whole, 1),
                "from_text": round(1 / whole),
                "minhash_alone": round(1 / alone),
                "load": round(os.getloadavg()[0], 1),
            }
        )
    )
    with tempfile.TemporaryDirectory() as directory:
        for peer in options.peer:
            path = Path(directory) / f"{peer}.jsonl"
            some = texts[: SLOW.get(peer, len(texts))]
            path.write_text("".join(json.dumps(text) + "\n" for text in some), encoding="utf-8")
            command = environments.command("dedup/sign_texts.py", ENVIRONMENTS[peer])
            lines = [
                subprocess.run(
                    [*command, peer, "--texts", str(path)], check=True, capture_output=True, text=True
                ).stdout
                for _ in range(options.rounds)
            ]
            print(sorted(lines, key=lambda line: json.loads(line)["from_text"])[len(lines) // 2].strip())


def runs_of_words(directory: Path, count: int, words: int) -> list[str]:
    """Return so many texts of so many words, or all that the files have."""
    found, pending = list[str](), list[str]()
    for text in chain.from_iterable(prose(directory)):
        pending.extend(text.split())
        while len(pending) >= words:
            found.append(" ".join(pending[:words]))
            del pending[:words]
            if len(found) == count:
                return found
    return found


def seconds(work: Callable[[str], object], texts: list[str], rounds: int) -> float:
    """Return the median of the rounds: CPU seconds a text."""
    taken = []
    for text in texts[:20]:
        work(text)
    for _ in range(rounds):
        start = time.process_time()
        for text in texts:
            work(text)
        taken.append(time.process_time() - start)
    return statistics.median(taken) / len(texts)


if __name__ == "__main__":
    main()
