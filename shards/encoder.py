"""`Encoder`: turn texts into the ids of `Tokenizer.encode(text, add_special_tokens=False)`, fast where that is proven.

1. Gigatoken encodes some tokenizers 30 to 60 times as fast as the `tokenizers` library, and not all of them alike: the
   two may know different versions of Unicode. `is_fast_equal` compares both on every kind of character before an
   export begins, and the fast one is only used if all ids are equal.
2. Each batch of an export compares one of its documents again. If the ids differ, the encoder uses the library from
   there on and logs a warning.
3. The library holds some 130 bytes for each byte of a text. Therefore long texts are divided at spaces between two
   letters, if the tokenizer's file says that no token reaches across such a place. Gigatoken needs no division.
"""

import json as json_module
import logging
import random
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import gigatoken
import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from thresher.shards.tokenizer import open_tokenizer

LOGGER = logging.getLogger(__name__)
PIECE_CHARACTERS = 1 << 16
"""Long texts are divided into pieces of about this length."""
CHECKED_CHARACTERS = 1 << 14
"""The checked document of a batch is the first one that is not longer."""
BETWEEN_LETTERS = re.compile(r"(?<=[A-Za-z])(?= [A-Za-z])")
RANDOM_TEXTS = 2_000
DENSE = ((0, 0x3400), (0xA000, 0xAC00), (0xD7A4, 0xD800), (0xF900, 0x20000), (0xE0000, 0xE0200))
"""Code points that are all compared. Of the others, which are ideographs, syllables, private and unassigned, every
`SPARSE_STEP`-th is.
"""
SPARSE_STEP = 61
PROBES = (
    "",
    " ",
    "   ",
    "\n\n \n",
    "\r\n\t\r\n",
    " leading",
    "trailing  ",
    "a  b   c    d",
    "don't I'LL we'Re 'tis",
    "1234567890" * 30,
    "a" * 5_000,
    "ab " * 2_000,
    "-" * 300 + "=" * 300,
    "\tif x:\n\t\treturn  # why\n",
    "e\u0301\u0301 a\u0300b",
    "\U0001f9d1\u200d\U0001f680 \U0001f1e9\U0001f1ea",
    "\x00a\x00",
    "https://example.org/a?b=c&d=%20#e",
)

Ids = npt.NDArray[np.uint32]


class Encoder:
    """Encodes batches of texts in one process."""

    def __init__(self, json: str, *, fast: bool) -> None:
        """`fast` uses Gigatoken, for which `is_fast_equal` must have returned True."""
        self._slow = open_tokenizer(json)
        self._can_divide = can_divide(json_module.loads(json))
        self._fast = gigatoken.Tokenizer.from_json(json) if fast else None

    def encode(self, texts: list[str]) -> tuple[Ids, npt.NDArray[np.int64]]:
        """Return the ids of all texts one after another, and the number of ids of each text."""
        if self._fast is None:
            ids = [self._slow_ids(text) for text in texts]
        else:
            ids = [self._fast.encode(text) for text in texts]
            if not self._is_equal(texts, ids):
                LOGGER.warning(
                    "the fast tokenizer gives other ids than the tokenizers library; it is not used any more"
                )
                self._fast = None
                return self.encode(texts)
        lengths = np.array([len(each) for each in ids], dtype=np.int64)
        return np.concatenate([np.zeros(0, np.uint32), *ids]), lengths

    def _is_equal(self, texts: list[str], ids: list[Ids]) -> bool:
        found = zip(texts, ids, strict=True)
        text, fast = next(
            (each for each in found if len(each[0]) <= CHECKED_CHARACTERS), ("", np.zeros(0, np.uint32))
        )
        return np.array_equal(self._slow_ids(text), fast)

    def _slow_ids(self, text: str) -> Ids:
        pieces = divided(text) if self._can_divide else (text,)
        ids = [
            np.array(self._slow.encode(piece, add_special_tokens=False).ids, dtype=np.uint32)
            for piece in pieces
        ]
        return ids[0] if len(ids) == 1 else np.concatenate(ids)

    def __repr__(self) -> str:
        return f"<encoder, {'slow' if self._fast is None else 'fast'}>"


@lru_cache(maxsize=2)
def is_fast_equal(json: str) -> bool:
    """Return whether Gigatoken reads the tokenizer and gives the ids of the `tokenizers` library for all probes: every
    kind of character between letters, digits, signs and spaces, and random texts. Takes about a second; the answers for
    the tokenizers of the last calls are kept.
    """
    try:
        fast = gigatoken.Tokenizer.from_json(json)
    except (RuntimeError, ValueError):  # a kind of tokenizer that it does not know
        return False
    slow = open_tokenizer(json)
    return all(_equal(slow, fast, text) for text in probe_texts(slow))


def probe_texts(tokenizer: Tokenizer) -> Iterator[str]:
    """Yield the texts that both must encode alike."""
    yield from PROBES
    for token in tokenizer.get_added_tokens_decoder().values():
        yield f"{token.content} x{token.content}y {token.content}{token.content}\n"
    points = [point for first, last in DENSE for point in range(first, last)]
    points += [point for point in range(0x110000) if point % SPARSE_STEP == 0]
    characters = [chr(point) for point in points if not 0xD800 <= point < 0xE000]
    for start in range(0, len(characters), 64):
        yield "".join(f"a{one}1 {one}.{one}\n" for one in characters[start : start + 64])
    chooser = random.Random(0)
    for _ in range(RANDOM_TEXTS):
        yield "".join(
            chooser.choice(" \n\t.'-aZ9") if chooser.random() < 0.5 else chooser.choice(characters)
            for _ in range(chooser.randrange(1, 40))
        )


def can_divide(file: Mapping[str, Any]) -> bool:
    """Return whether a text may be divided before a space that stands between two ASCII letters.

    True for tokenizers that first split a text with the expression of GPT-2, or at white space. There no token crosses
    such a place, and neither side looks at the other: a letter ends what stands before, and the space belongs to the
    word behind it. False for every other tokenizer. A normalizer must leave the place as it is.
    """
    normalizer, splitter = file.get("normalizer"), file.get("pre_tokenizer")
    if normalizer is not None and normalizer.get("type") not in {
        "NFC",
        "NFKC",
        "NFD",
        "NFKD",
        "BertNormalizer",
    }:
        return False
    if any(" " in token["content"].strip() for token in file.get("added_tokens", ())):
        return False
    if splitter is None:
        return False
    if splitter["type"] == "ByteLevel":
        return bool(splitter.get("use_regex", True))
    return splitter["type"] in {"WhitespaceSplit", "Whitespace", "BertPreTokenizer"}


def divided(text: str) -> Iterator[str]:
    """Yield the pieces of a text: each at least `PIECE_CHARACTERS` long, except the last."""
    start = 0
    while len(text) - start > PIECE_CHARACTERS:
        place = BETWEEN_LETTERS.search(text, start + PIECE_CHARACTERS)
        if place is None:
            break
        yield text[start : place.start()]
        start = place.start()
    yield text[start:]


def _equal(slow: Tokenizer, fast: Any, text: str) -> bool:
    return bool(np.array_equal(slow.encode(text, add_special_tokens=False).ids, fast.encode(text)))
