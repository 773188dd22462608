"""Encode prose with the engine that an export would take, and with the `tokenizers` library.

usage: python bench/shards/tokenizing.py --tokenizer FILE --prose DIR [--megabytes N] [--slow-megabytes N]
           [--one-document] [--peer]

The documents are those of the .jsonl.zst and .tar.zst files of DIR, cut at 4,000 characters; `--one-document` joins
them into a single one. One thread, batches of 1,024. Prints one JSON line: MB and tokens a second of CPU time for
both engines, the seconds of the comparison before an export, whether the ids of the first N `--slow-megabytes` are
equal, and the largest resident memory, in MB, before and after the fast engine. `--peer` then encodes the same texts
with tiktoken (`bench/peers`), and says whether its ids are equal too.
"""

import argparse
import hashlib
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from bench.peers import environments
from bench.shards.export import prose
from thresher.shards.encoder import Encoder, is_fast_equal
from thresher.shards.tokenizer import load_tokenizer_file

BATCH = 1024


def main() -> None:
    """Encode, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--prose", type=Path, required=True)
    parser.add_argument("--megabytes", type=float, default=50)
    parser.add_argument("--slow-megabytes", type=float, default=5)
    parser.add_argument("--one-document", action="store_true")
    parser.add_argument("--peer", action="store_true")
    args = parser.parse_args()
    tokenizer = load_tokenizer_file(args.tokenizer).json
    texts = taken(args.prose, args.megabytes)
    if args.one_document:
        texts = ["\n".join(texts)]
    few = texts[
        : next(
            iter(np.flatnonzero(np.cumsum([len(text) for text in texts]) > args.slow_megabytes * 1e6)), None
        )
    ]
    few = [text[: int(args.slow_megabytes * 1e6)] for text in few or texts]
    started = time.process_time()
    fast = is_fast_equal(tokenizer)
    proof_s = time.process_time() - started
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    quick, tokens, ids = measured(Encoder(tokenizer, fast=fast), texts)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    slow, _, slow_ids = measured(Encoder(tokenizer, fast=False), few)
    _, _, quick_ids = measured(Encoder(tokenizer, fast=fast), few)
    size, slow_size = (sum(len(text.encode()) for text in each) / 1e6 for each in (texts, few))
    line = {
        "bench": "tokenize",
        "engine": "gigatoken" if fast else "tokenizers",
        "mb": size,
        "documents": len(texts),
        "tokens": tokens,
        "mb_s_core": size / quick,
        "mtokens_s_core": tokens / quick / 1e6,
        "tokenizers_mb_s_core": slow_size / slow,
        "equal": slow_ids == quick_ids,
        "proof_s": proof_s,
        "rss_before_mb": before,
        "rss_after_mb": after,
        "load": os.getloadavg()[0],
    }
    if args.peer:
        peer = tiktoken(args.tokenizer, texts)
        line["peer"] = peer["engine"]
        line["peer_mb_s_core"] = peer["mb_s_core"]
        line["peer_equal"] = peer["ids"] == ids
    print(
        json.dumps(
            {key: float(f"{value:.4g}") if type(value) is float else value for key, value in line.items()}
        )
    )


def tiktoken(tokenizer: Path, texts: list[str]) -> dict[str, Any]:
    """Return what the peer measured."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(f"{json.dumps(text)}\n" for text in texts)
        file.flush()
        command = environments.command("shards/tokenize_tiktoken.py", "tokenization")
        done = subprocess.run(
            [*command, str(tokenizer), file.name], check=True, capture_output=True, text=True
        )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def taken(directory: Path, megabytes: float) -> list[str]:
    """Return documents of about so many megabytes, the files of the directory again if they are too few."""
    texts, size = [], 0
    for text in itertools.chain.from_iterable(
        itertools.chain.from_iterable(itertools.repeat(list(prose(directory))))
    ):
        texts.append(text)
        size += len(text)
        if size >= megabytes * 1e6:
            break
    return texts


def measured(encoder: Encoder, texts: list[str]) -> tuple[float, int, str]:
    """Return the CPU seconds of encoding, the tokens, and a digest of all ids."""
    started, tokens, digest = time.process_time(), 0, hashlib.sha256()
    for start in range(0, len(texts), BATCH):
        ids, _ = encoder.encode(texts[start : start + BATCH])
        tokens += len(ids)
        digest.update(ids.tobytes())
    return time.process_time() - started, tokens, digest.hexdigest()


if __name__ == "__main__":
    main()
