"""Documents are counted by the first name of a special token in their text."""

import numpy as np
import pyarrow as pa
import pytest

from thresher.pipeline.steps.tokenizing import special_names_of

TEXTS = pa.chunked_array([["plain", "a </s> b <|end|> c"], ["<|end|>", "<|end|>more", "\ud55c</s>", ""]])


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([0, 1, 2, 3, 4, 5], {"": 2, "</s>": 2, "<|end|>": 1, "<|end|>more": 1}),
        ([3, 3, 3, 0], {"": 1, "<|end|>more": 3}),
        ([], {"": 0}),
    ],
)
def test_a_row_counts_under_the_first_and_longest_name(rows, found):
    special = ("</s>", "<|end|>", "<|end|>more", ".*")
    counts = special_names_of(TEXTS, np.array(rows, np.int64), special)
    assert counts == {f"special_token={name}": count for name, count in found.items()}


def test_a_tokenizer_without_special_tokens_counts_nothing():
    assert special_names_of(TEXTS, np.array([0]), ()) == {}


def test_names_are_no_expressions():
    texts = pa.chunked_array([["a\nb # [END] -", "[", "x &~ y"]])
    counts = special_names_of(texts, np.arange(3), ("\nb # ", "[", "&~"))
    assert counts == {
        "special_token=": 0,
        "special_token=\nb # ": 1,
        "special_token=[": 1,
        "special_token=&~": 1,
    }
