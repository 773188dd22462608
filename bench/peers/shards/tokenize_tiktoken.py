"""Encode texts with tiktoken, given a Hugging Face tokenizer.json of byte-level BPE.

usage: python bench/peers/shards/tokenize_tiktoken.py TOKENIZER TEXTS

TEXTS holds one JSON string a line. tiktoken reads no tokenizer.json, so its ranks are taken from the vocabulary, and
its expression is that of the file, or GPT-2's. Prints one JSON line: MB a second of CPU time, the tokens, and the
SHA-256 of all ids (u32).
"""

import hashlib
import json
import sys
import time
from pathlib import Path

import numpy as np
import tiktoken

BATCH = 1024
GPT2 = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""


def main() -> None:
    """Encode, and print the line."""
    tokenizer, texts = Path(sys.argv[1]), Path(sys.argv[2])
    encoding = encoding_of(json.loads(tokenizer.read_text(encoding="utf-8")))
    documents = [json.loads(line) for line in texts.read_text(encoding="utf-8").splitlines()]
    size = sum(len(each.encode()) for each in documents)
    started, tokens, digest = time.process_time(), 0, hashlib.sha256()
    for start in range(0, len(documents), BATCH):
        for ids in encoding.encode_batch(
            documents[start : start + BATCH], num_threads=1, allowed_special="all"
        ):
            tokens += len(ids)
            digest.update(np.array(ids, np.uint32).tobytes())
    used = time.process_time() - started
    print(
        json.dumps(
            {
                "engine": f"tiktoken {tiktoken.__version__}",
                "mb_s_core": round(size / used / 1e6, 2),
                "tokens": tokens,
                "ids": digest.hexdigest(),
            }
        )
    )


def encoding_of(file: dict) -> tiktoken.Encoding:
    """Return the encoding of a tokenizer.json. Exit if it is not byte-level BPE."""
    splitter = file.get("pre_tokenizer") or {}
    parts = splitter.get("pretokenizers", [splitter])
    expressions = [part["pattern"]["Regex"] for part in parts if part.get("type") == "Split"]
    if file["model"]["type"] != "BPE" or all(part.get("type") != "ByteLevel" for part in parts):
        raise SystemExit("tiktoken knows byte-level BPE only")
    special = {each["content"]: each["id"] for each in file["added_tokens"]}
    alphabet = byte_alphabet()
    ranks = {
        bytes(alphabet[letter] for letter in token): rank
        for token, rank in file["model"]["vocab"].items()
        if token not in special
    }
    return tiktoken.Encoding(
        "peer", pat_str=(expressions or [GPT2])[0], mergeable_ranks=ranks, special_tokens=special
    )


def byte_alphabet() -> dict[str, int]:
    """Return the byte that each letter of a byte-level vocabulary stands for (Radford et al., 2019)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + at): byte for at, byte in enumerate(others)}


if __name__ == "__main__":
    main()
