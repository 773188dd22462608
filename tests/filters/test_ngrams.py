"""Repeated n-grams, against the plain way of counting them."""

from collections import Counter
from itertools import islice

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thresher.filters.ngrams import repeated_ngrams

TOKENS = st.lists(st.sampled_from(["a", "bb", "ccc", "."]), max_size=60)


def plain_top(tokens, n):
    counts = Counter(zip(*(tokens[start:] for start in range(n)), strict=False))
    gram, count = counts.most_common(1)[0] if counts else ((), 0)
    return len(" ".join(gram)) * count


def plain_repeated(tokens, n):
    seen, characters, place = set(), 0, 0
    while place + n <= len(tokens):
        gram = tuple(tokens[place : place + n])
        characters += len("".join(gram)) if gram in seen else 0
        place += n if gram in seen else 1
        seen.add(gram)
    return characters


def ngrams(tokens):
    kinds = {token: number for number, token in enumerate(sorted(set(tokens)), 3)}
    identities = np.array([kinds[token] for token in tokens], dtype=np.int64)
    return repeated_ngrams(identities, np.array([len(token) for token in tokens], dtype=np.int64))


@given(TOKENS)
def test_they_are_counted_as_if_each_were_looked_at(tokens):
    for found in islice(ngrams(tokens), 9):
        assert found.top_characters() == plain_top(tokens, found.n)
        assert found.repeated_characters() == plain_repeated(tokens, found.n)


def test_n_begins_at_two_and_never_ends():
    assert [found.n for found in islice(ngrams(["a"]), 4)] == [2, 3, 4, 5]
