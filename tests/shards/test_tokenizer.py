"""Tokenizers are files of the user, or bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import InputError
from shards import tokenizer


@given(st.text())
def test_the_byte_tokenizer_gives_one_token_a_byte_and_loses_nothing(text):
    bytewise = tokenizer.load(None).open()
    encoded = bytewise.encode(text, add_special_tokens=False).ids
    assert len(encoded) == len(text.encode())
    assert bytewise.decode(encoded) == text


def test_a_tokenizer_is_known_by_its_content(tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer.load(None).json)
    loaded = tokenizer.load(path)
    assert loaded.sha256 == tokenizer.load(None).sha256
    assert loaded.recipe == {"name": "tokenizer.json", "sha256": loaded.sha256, "vocabulary": 256}


@pytest.mark.parametrize("content", [b"", b"{}", b"not json", b"\x00\x01\xff", b"[1, 2]"])
def test_what_is_no_tokenizer_is_refused_in_one_line(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"tokenizer\.json") as refusal:
        tokenizer.load(path)
    assert "\n" not in str(refusal.value)


def test_a_missing_tokenizer_is_refused(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        tokenizer.load(tmp_path / "absent.json")
