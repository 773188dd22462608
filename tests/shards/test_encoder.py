"""The fast tokenizer is used where it gives the ids of the `tokenizers` library, and nowhere else."""

import io
import json
import logging
import tarfile
from itertools import islice

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from tests.shared import shared_file
from thresher.shards import encoder
from thresher.shards.tokenizer import load_tokenizer_file, open_tokenizer

TEXTS = [
    "It is a truth universally acknowledged, that a single man in possession of a good fortune, must be in want. "
    * 9,
    "def main(argv):\n    return {name: value for name, value in argv}  # 12345\n" * 9,
    "Ναι, ещё раз: 日本語のテキスト、한국어 텍스트 और हिन्दी पाठ। " * 9,
]
ALPHABET = pre_tokenizers.ByteLevel.alphabet()


@pytest.fixture(autouse=True)
def compared_anew():
    """Each test compares the engines itself: a process remembers the answer for a tokenizer."""
    encoder.is_fast_equal.cache_clear()
    yield
    encoder.is_fast_equal.cache_clear()


def trained(model, trainer, splitter, normalizer=None):
    made = Tokenizer(model)
    made.pre_tokenizer = splitter
    if normalizer is not None:
        made.normalizer = normalizer
    made.train_from_iterator(TEXTS, trainer)
    return made.to_str()


def bpe(splitter=None, normalizer=None):
    trainer = trainers.BpeTrainer(
        vocab_size=900, special_tokens=["<|endoftext|>"], initial_alphabet=ALPHABET, show_progress=False
    )
    return trained(
        models.BPE(), trainer, splitter or pre_tokenizers.ByteLevel(add_prefix_space=False), normalizer
    )


def wordpiece():
    trainer = trainers.WordPieceTrainer(vocab_size=900, special_tokens=["[UNK]"], show_progress=False)
    model = models.WordPiece(unk_token="[UNK]")
    return trained(model, trainer, pre_tokenizers.BertPreTokenizer(), normalizers.BertNormalizer())


BYTE_LEVEL = bpe()
NFC = bpe(normalizer=normalizers.NFC())
WORDS = wordpiece()
BYTES = load_tokenizer_file(None).json


def reference(tokenizer, texts):
    return [open_tokenizer(tokenizer).encode(text, add_special_tokens=False).ids for text in texts]


def encoded(using, texts):
    ids, lengths = using.encode(texts)
    return [part.tolist() for part in np.split(ids, np.cumsum(lengths)[:-1])] if texts else ids.tolist()


def test_a_byte_level_tokenizer_is_fast_and_one_of_words_is_not():
    assert encoder.is_fast_equal(BYTE_LEVEL)
    assert encoder.is_fast_equal(NFC)
    assert not encoder.is_fast_equal(WORDS)


def test_a_fast_tokenizer_that_differs_at_a_single_character_is_refused(monkeypatch):
    class Differs:
        def __init__(self, json):
            self.same = open_tokenizer(json)

        @classmethod
        def from_json(cls, json):
            return cls(json)

        def encode(self, text):
            return self.same.encode(text.replace("\U0001133b", "?"), add_special_tokens=False).ids

    compare = encoder.is_fast_equal.__wrapped__  # it keeps its last answer
    assert compare(BYTE_LEVEL)
    monkeypatch.setattr(encoder.gigatoken, "Tokenizer", Differs)  # type: ignore[attr-defined]
    assert not compare(BYTE_LEVEL)


FAST, SLOW = encoder.Encoder(BYTE_LEVEL, fast=True), encoder.Encoder(BYTE_LEVEL, fast=False)


@given(st.lists(st.text(), max_size=5))
def test_ids_are_those_of_the_library_for_any_text(texts):
    assert encoded(FAST, texts) == encoded(SLOW, texts) == reference(BYTE_LEVEL, texts)


def test_special_tokens_in_a_text_are_encoded_as_the_library_does():
    texts = ["<|endoftext|>", "a<|endoftext|>b <|endoftext|> c", "<|endoftext|"]
    assert encoded(FAST, texts) == reference(BYTE_LEVEL, texts)


def test_a_document_that_the_fast_one_encodes_otherwise_ends_its_use_and_is_right(caplog):
    using = encoder.Encoder(BYTE_LEVEL, fast=True)

    class Wrong:
        def encode(self, text):
            return np.array([1, 2, 3], dtype=np.uint32)

    using._fast = Wrong()  # type: ignore[assignment]
    with caplog.at_level(logging.WARNING):
        assert encoded(using, TEXTS) == reference(BYTE_LEVEL, TEXTS)
    assert "other ids" in caplog.text
    assert "slow" in repr(using)


words = st.sampled_from(
    ["a", "I'm", "don't", "日本", "é", "e\u0301", "12", "-", ".", "\n", "\t", "  ", " ", "<|endoftext|>"]
)


@pytest.mark.parametrize("tokenizer", [BYTE_LEVEL, NFC, WORDS], ids=["byte-level", "nfc", "words"])
def test_a_long_text_in_pieces_has_the_ids_of_the_whole(tokenizer, monkeypatch):
    monkeypatch.setattr(encoder, "PIECE_CHARACTERS", 8)
    using = encoder.Encoder(tokenizer, fast=False)
    assert encoder.can_divide(json.loads(tokenizer))

    @given(st.lists(words, max_size=60).map(" ".join))
    def holds(text):
        assert encoded(using, [text]) == reference(tokenizer, [text])

    holds()
    for text in TEXTS:
        assert len(list(encoder.divided(text))) > 10 or " a " not in text
        assert encoded(using, [text]) == reference(tokenizer, [text])


@pytest.mark.parametrize(
    "tokenizer",
    [BYTES, bpe(splitter=pre_tokenizers.Metaspace()), bpe(normalizer=normalizers.Replace(" a", "_"))],
    ids=["no split", "metaspace", "replace"],
)
def test_a_tokenizer_whose_tokens_may_cross_a_space_is_not_divided(tokenizer):
    assert not encoder.can_divide(json.loads(tokenizer))


def shared_prose():
    """Texts of all files of prose, in batches."""
    for path in sorted(shared_file("prose").glob("*.zst")):
        with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
            if path.name.endswith(".tar.zst"):
                with tarfile.open(fileobj=stream, mode="r|") as tar:
                    yield from (
                        [tar.extractfile(member).read().decode()]  # type: ignore[union-attr]
                        for member in tar
                        if member.isfile()
                    )
            else:
                rows = map(json.loads, io.TextIOWrapper(stream, encoding="utf-8"))
                texts = [
                    next(value for key, value in row.items() if key in {"text", "raw_content"})
                    for row in rows
                ]
                for start in range(0, len(texts), 100):
                    yield texts[start : start + 100]


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize("tokenizer", [BYTE_LEVEL, NFC], ids=["byte-level", "nfc"])
def test_ids_are_equal_on_a_quarter_of_the_prose(tokenizer):
    fast, slow = encoder.Encoder(tokenizer, fast=True), encoder.Encoder(tokenizer, fast=False)
    count = 0
    for texts in islice(shared_prose(), 0, None, 4):
        assert encoded(fast, texts) == encoded(slow, texts)
        count += len(texts)
    assert count > 1_000
