"""Compute MinHashes of texts with another tool, on one core.

usage: sign_texts.py datasketch|rensa|datatrove --texts FILE.jsonl

FILE.jsonl has a string a line. 112 permutations, shingles of five words. datasketch and rensa get the words of a text
split at spaces; datatrove's own step normalises the text and splits it. Prints one JSON line: microseconds of CPU time
a text, and signatures a second of CPU time, with the splitting (`from_text`) and without.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.peers.dedup.tool_choice import chosen_tool, name_and_version

PERMUTATIONS, WORDS = 112, 5


def main() -> None:
    """Sign the texts, and print the line."""
    tool, file = chosen_tool(TOOLS, __doc__)
    with file.open(encoding="utf-8") as lines:
        texts: list[str] = [json.loads(line) for line in lines]
    sign = TOOLS[tool]()
    sign(texts[:20])
    start = time.process_time()
    for text in texts:
        text.split()
    splitting = time.process_time() - start
    start = time.process_time()
    sign(texts)
    whole = time.process_time() - start
    own = whole if tool == "datatrove" else whole - splitting
    print(
        json.dumps(
            {
                "tool": name_and_version(tool),
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
    from loguru import logger  # noqa: PLC0415 - one environment has one tool

    from bench.peers.dedup.minhash_config import minhash_config  # noqa: PLC0415 - it needs datatrove

    logger.remove()
    step = MinhashDedupSignature(tempfile.mkdtemp(), config=minhash_config())

    def sign(texts: list[str]) -> None:
        for text in texts:
            step.get_signature(step.get_shingles(text))

    return sign


TOOLS = {"datasketch": _datasketch, "rensa": _rensa, "datatrove": _datatrove}


if __name__ == "__main__":
    main()
