"""A document is screened for a known one that it repeats, and for no other: the functions against their definition."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.filters.dedup import screen_matches
from thresher.filters.dedup.bloom_filter import BloomFilter
from thresher.filters.dedup.dedup_rows import row_types
from thresher.filters.dedup.document_rows import TableFacts, band_rows, document_rows, text_rows
from thresher.filters.dedup.signature import all_band_keys, band_keys, minhash, text_hash
from thresher.filters.dedup.zsets import total
from thresher.storage.tables import Signatures

PERMUTATIONS, BANDS, ROWS, FEWEST = 112, 14, 8, 79
TYPES = row_types(2, PERMUTATIONS)


def text(number, edits):
    rng = random.Random(number)
    words = [f"w{rng.randrange(300)}" for _ in range(80)]
    for at in range(edits):
        words[at * 7 % 80] = f"new{edits}{at}"
    return " ".join(words)


def known_rows(documents):
    """Return sorted rows of documents, texts and bands of known documents: (id, url, text)."""
    columns = Signatures(
        ids=[f"{id_:032x}" for id_, _, _ in documents],
        text_hashes=[text_hash(each) for _, _, each in documents],
        urls=[url for _, url, _ in documents],
        text_bytes=np.zeros(len(documents), np.int64),
        payload_bytes=np.zeros(len(documents), np.int64),
        fetched_at_ms=np.zeros(len(documents), np.int64),
        minhashes=np.array([minhash(each) for _, _, each in documents], np.uint32).reshape(-1, PERMUTATIONS),
    )
    facts = TableFacts(table=7, source="known", source_rank=1)
    rows = total(document_rows(TYPES, columns, facts, ("source",), within_source=False))
    return (
        rows,
        total(text_rows(TYPES, rows)),
        band_rows(TYPES, rows[["id_hi", "id_lo", "sign"]], rows, BANDS, ROWS),
    )


def as_new(documents, source_rank=1):
    return screen_matches.new_documents(
        [text_hash(each) for _, each in documents],
        [url for url, _ in documents],
        np.array([minhash(each) for _, each in documents], np.uint32).reshape(-1, PERMUTATIONS),
        bands=BANDS,
        rows=ROWS,
        group=0,
        source_rank=source_rank,
    )


NEW = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.integers(0, 9),
        st.sampled_from(["", "http://h/0", "http://h/1", "http://g/0"]),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(NEW, NEW)
def test_exactly_the_documents_that_repeat_a_known_one_match_and_the_witness_is_the_most_similar(known, new):
    documents = [(at + 1, url, text(number, edits)) for at, (number, edits, url) in enumerate(known)]
    rows, texts, bands = known_rows(documents)
    asked = [(url, text(number, edits)) for number, edits, url in new]
    columns = as_new(asked)
    every = np.arange(len(asked))
    ids = [int(row["id_lo"]) for row in rows]

    found = screen_matches.equal_texts(columns, every, texts)
    which, at, _ = screen_matches.matches(columns, found, rows, fewest_equal=0, rank="")
    exact = {int(n): ids[row] for n, row in zip(which, at, strict=True)}
    assert set(exact) == {n for n, (_, each) in enumerate(asked) if each in {row[2] for row in documents}}
    assert all(documents[id_ - 1][2] == asked[n][1] for n, id_ in exact.items())

    for band in range(BANDS):
        found = screen_matches.band_members(columns, every, band, bands)
        which, at, equal = screen_matches.matches(columns, found, rows, fewest_equal=FEWEST, rank="")
        near = {int(n): (int(shared), ids[row]) for n, row, shared in zip(which, at, equal, strict=True)}
        for n, (url, each) in enumerate(asked):
            mine = minhash(each)
            part = slice(band * ROWS, band * ROWS + ROWS)
            allowed = [
                (int((minhash(other) == mine).sum()), -id_)
                for id_, known_url, other in documents
                if (minhash(other)[part] == mine[part]).all() and not (url and url[:8] == known_url[:8])
            ]
            best = max((pair for pair in allowed if pair[0] >= FEWEST), default=None)
            assert near.get(n) == (None if best is None else (best[0], -best[1]))


def test_a_document_of_a_preferred_source_is_not_screened():
    rows, texts, _ = known_rows([(1, "", text(1, 0))])
    for source_rank, count in ((0, 0), (1, 1), (2, 1)):
        new = as_new([("", text(1, 0))], source_rank)
        found = screen_matches.equal_texts(new, np.arange(1), texts)
        which, *_ = screen_matches.matches(new, found, rows, fewest_equal=0, rank="rank_0")
        assert len(which) == count


def test_of_a_crowded_band_few_members_are_compared():
    _, _, bands = known_rows([(at, "", text(1, 0)) for at in range(1, 100)])
    found = screen_matches.band_members(as_new([("", text(1, 0))] * 3), np.arange(3), 0, bands)
    assert len(found.ids) == 3 * screen_matches.MAX_MEMBERS
    assert found.ids["id_lo"].tolist() == [*range(1, screen_matches.MAX_MEMBERS + 1)] * 3


def test_keys_of_all_bands_are_those_of_each():
    numbers = np.array([minhash(text(n, 0), 286) for n in range(5)])
    for bands, rows in ((14, 8), (26, 11), (1, 1), (20, 13)):
        expected = np.stack([band_keys(numbers, band, rows) for band in range(bands)], axis=1)
        assert (all_band_keys(numbers, bands, rows) == expected).all()


@pytest.mark.parametrize("max_bytes", [1 << 36, 1000])
def test_a_stored_filter_is_the_same_filter(max_bytes):
    made = BloomFilter.of_size(1000, 0.001, max_bytes)
    keys = np.random.default_rng(1).integers(0, 2**64, 1000, dtype=np.uint64)
    made.add(keys)
    data = b"".join(made.to_bytes())
    again = BloomFilter.from_bytes(data)
    asked = np.random.default_rng(2).integers(0, 2**64, 100_000, dtype=np.uint64)
    assert again.has(keys).all()
    assert (again.has(asked) == made.has(asked)).all()
    assert made.size <= max_bytes
    rate = made.rate(1000)
    bound = 4 * (rate * (1 - rate) / len(asked)) ** 0.5
    assert abs(again.has(asked).mean() - rate) <= bound + 0.1 * rate
    for damaged in (data[:-1], data[8:], b"", b"x" * 24):
        with pytest.raises(ValueError, match="no Bloom filter"):
            BloomFilter.from_bytes(damaged)
