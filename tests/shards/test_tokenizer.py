"""Tokenizers are files of the user, or bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from thresher.core import InputError
from thresher.shards import tokenizer


@given(st.text())
def test_the_byte_tokenizer_gives_one_token_a_byte_and_loses_nothing(text):
    bytewise = tokenizer.open_tokenizer(tokenizer.load_tokenizer_file(None).json)
    encoded = bytewise.encode(text, add_special_tokens=False).ids
    assert len(encoded) == len(text.encode())
    assert bytewise.decode(encoded) == text


def test_a_tokenizer_is_known_by_its_content(tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer.load_tokenizer_file(None).json)
    loaded = tokenizer.load_tokenizer_file(path)
    assert loaded.sha256 == tokenizer.load_tokenizer_file(None).sha256
    assert loaded.recipe == {"name": "tokenizer.json", "sha256": loaded.sha256, "vocabulary": 256}


def test_truncation_and_padding_that_a_file_asks_for_are_off(tmp_path):
    asking = tokenizer.open_tokenizer(tokenizer.load_tokenizer_file(None).json)
    asking.enable_truncation(max_length=4)
    asking.enable_padding(length=9)
    path = tmp_path / "tokenizer.json"
    path.write_text(asking.to_str())
    encoded = tokenizer.open_tokenizer(tokenizer.load_tokenizer_file(path).json).encode_batch(
        ["abcdefghij", "k"], add_special_tokens=False
    )
    assert [len(one.ids) for one in encoded] == [10, 1]


@pytest.mark.parametrize("content", [b"", b"{}", b"not json", b"\x00\x01\xff", b"[1, 2]"])
def test_what_is_no_tokenizer_is_refused_in_one_line(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"tokenizer\.json") as refusal:
        tokenizer.load_tokenizer_file(path)
    assert "\n" not in str(refusal.value)


def test_a_missing_tokenizer_is_refused(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        tokenizer.load_tokenizer_file(tmp_path / "absent.json")


WORDS = {"the": 0, "sea": 1}


def written(tmp_path, model):
    made = Tokenizer(model)
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    path = tmp_path / "tokenizer.json"
    path.write_text(made.to_str())
    return path


@pytest.mark.parametrize(
    "model",
    [
        models.WordLevel(WORDS),
        models.WordLevel(WORDS, unk_token="[UNK]"),
        models.WordPiece(WORDS, unk_token="[UNK]"),
        models.Unigram([("the", -1.0), ("sea", -1.0)]),
    ],
)
def test_a_tokenizer_that_fails_at_an_unknown_word_is_refused_before_anything_is_fetched(tmp_path, model):
    with pytest.raises(InputError, match=r"tokenizer\.json: fails at a word .*unk_token") as refusal:
        tokenizer.load_tokenizer_file(written(tmp_path, model))
    assert "\n" not in str(refusal.value)


def test_a_tokenizer_of_words_that_knows_the_unknown_is_taken(tmp_path):
    path = written(tmp_path, models.WordLevel({**WORDS, "[UNK]": 2}, unk_token="[UNK]"))
    assert tokenizer.load_tokenizer_file(path).vocabulary == 3
