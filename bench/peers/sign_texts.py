"""Compute MinHashes of texts with another tool, on one core.

usage: sign_texts.py datasketch|rensa|datatrove --texts FILE.jsonl

FILE.jsonl has a string a line. 112 permutations, shingles of five words. datasketch and rensa get the words of a text
split at spaces; datatrove's own step normalises the text and splits it. Prints one JSON line: microseconds of CPU time
a text, and signatures a second of CPU time, with the splitting (`from_text`) and without.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

PERMUTATIONS, WORDS = 112, 5


def main() -> None:
    """Sign the texts, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tool", choices=sorted(TOOLS))
    parser.add_argument("--texts", type=Path, required=True)
    args = parser.parse_args()
    with args.texts.open(encoding="utf-8") as file:
        texts: list[str] = [json.loads(line) for line in file]
    sign = TOOLS[args.tool]()
    sign(texts[:20])
    start = time.process_time()
    for text in texts:
        text.split()
    splitting = time.process_time() - start
    start = time.process_time()
    sign(texts)
    whole = time.process_time() - start
    own = whole if args.tool == "datatrove" else whole - splitting
    print(
        json.dumps(
            {
                "tool": f"{args.tool} {version(args.tool)}",
                "texts": len(texts),
                "us_a_text": round(1e6 * whole / len(texts), 1),
                "from_text": round(len(texts) / whole),
                "without_splitting": round(len(texts) / own),
            }
        )
    )


def _shingles(text: str) -> list[str]:
    words = text.split()
    return [" ".join(words[start : start + WORDS]) for start in range(len(words) - WORDS + 1)]


def _datasketch() -> Callable[[list[str]], None]:
    from datasketch import MinHash  # noqa: PLC0415 - one environment has one tool

    def sign(texts: list[str]) -> None:
        for text in texts:
            sketch = MinHash(num_perm=PERMUTATIONS, seed=1)
            sketch.update_batch([shingle.encode() for shingle in _shingles(text)])

    return sign


def _rensa() -> Callable[[list[str]], None]:
    from rensa import RMinHash  # noqa: PLC0415 - one environment has one tool

    def sign(texts: list[str]) -> None:
        for text in texts:
            sketch = RMinHash(num_perm=PERMUTATIONS, seed=1)
            sketch.update(_shingles(text))
            sketch.digest()

    return sign


def _datatrove() -> Callable[[list[str]], None]:
    from datatrove.pipeline.dedup import MinhashDedupSignature  # noqa: PLC0415 - one environment has one tool
    from datatrove.pipeline.dedup.minhash import MinhashConfig  # noqa: PLC0415 - one environment has one tool
    from datatrove.utils.hashing import HashConfig  # noqa: PLC0415 - one environment has one tool
    from loguru import logger  # noqa: PLC0415 - one environment has one tool

    logger.remove()
    config = MinhashConfig(
        n_grams=WORDS,
        num_buckets=14,
        hashes_per_bucket=8,
        hash_config=HashConfig(hash_fc="sha1", precision=64),
    )
    step = MinhashDedupSignature(tempfile.mkdtemp(), config=config)

    def sign(texts: list[str]) -> None:
        for text in texts:
            step.get_signature(step.get_shingles(text))

    return sign


TOOLS = {"datasketch": _datasketch, "rensa": _rensa, "datatrove": _datatrove}


if __name__ == "__main__":
    main()
