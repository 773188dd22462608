"""The best of several duplicates stays, and the order of the input changes nothing."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.dedup.memory_index import MemoryIndex
from tests.shared import shared_file
from thresher.filters.dedup.clusters import cluster_sizes
from thresher.filters.dedup.dedup_rows import row_types
from thresher.filters.dedup.document_rows import TableFacts, band_rows, document_rows
from thresher.filters.dedup.signature import PERMUTATIONS, minhash, text_hash

VOCABULARY = [f"word{n}" for n in range(30)]
TEXTS = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=40).map(" ".join)


TYPES = row_types(3, PERMUTATIONS)
FACTS = TableFacts(table=1, source="main", source_rank=0)


def removals(documents, bands_and_rows=(14, 8)):
    """The removals of (id, url, text) rows, of which the longest text stays, then the smallest id."""
    bands, rows = bands_and_rows or (0, 0)
    index = MemoryIndex(TYPES, 79, lambda types, stays, known: band_rows(types, stays, known, bands, rows))
    columns = signatures(documents)
    index.apply(document_rows(TYPES, columns, FACTS, ("longest", "source"), within_source=False))
    found = index.tables["removals"]
    sizes = cluster_sizes(found)
    return [
        SimpleNamespace(
            id=f"{one:032x}".lstrip("0"),
            witness=f"{other:032x}".lstrip("0"),
            kind=kind,
            similarity=equal / 112,
            cluster_size=size,
        )
        for (one, other, kind, equal), size in zip(index.removals(), sizes, strict=True)
    ]


def signatures(documents):
    """Of (id, url, text) rows."""
    return SimpleNamespace(
        ids=[row[0].rjust(32, "0") for row in documents],
        urls=[row[1] for row in documents],
        text_hashes=[text_hash(row[2]) for row in documents],
        text_bytes=np.array([len(row[2].encode()) for row in documents], dtype=np.int64),
        payload_bytes=np.zeros(len(documents), dtype=np.int64),
        fetched_at_ms=np.zeros(len(documents), dtype=np.int64),
        minhashes=np.array([minhash(row[2]) for row in documents], dtype=np.uint32).reshape(-1, 112),
    )


@st.composite
def corpora(draw):
    base = draw(st.lists(TEXTS, min_size=1, max_size=12))
    copies = [
        draw(st.sampled_from(base)) + draw(st.sampled_from(["", " more", "  "]))
        for _ in range(draw(st.integers(0, 8)))
    ]
    return [
        (f"{n + 1:x}", f"http://h/{draw(st.integers(0, 30))}", text) for n, text in enumerate(base + copies)
    ]


@settings(deadline=None)
@given(corpora(), st.randoms(use_true_random=False))
def test_the_order_of_documents_changes_nothing(corpus, random):
    shuffled = corpus.copy()
    random.shuffle(shuffled)
    assert removals(corpus) == removals(shuffled)


@settings(deadline=None)
@given(corpora())
def test_every_chain_of_witnesses_ends_at_a_document_that_stays(corpus):
    found = {removal.id: removal for removal in removals(corpus)}
    texts = {row[0]: row[2] for row in corpus}
    cluster = {}
    for one in texts:
        root = one
        for _ in range(len(texts)):
            if root not in found:
                break
            assert len(texts[found[root].witness].encode()) >= len(texts[root].encode())
            root = found[root].witness
        assert root not in found
        cluster.setdefault(root, []).append(one)
    for members in cluster.values():
        for member in members:
            assert member not in found or found[member].cluster_size == len(members)


@settings(deadline=None)
@given(corpora())
def test_one_of_equal_texts_and_one_of_equal_urls_stays(corpus):
    gone = {removal.id for removal in removals(corpus)}
    staying = [row for row in corpus if row[0] not in gone]
    assert len({text_hash(row[2]) for row in staying}) == len(staying)
    assert len({row[1] for row in staying}) == len(staying)


def test_near_duplicates_may_be_left_in():
    words = [f"w{n}" for n in range(200)]
    corpus = [
        ("a", "http://h/a", " ".join(words)),
        ("b", "http://h/b", " ".join([*words[:-1], "other", "end"])),
    ]
    (near,) = removals(corpus)
    assert (near.id, near.witness, near.kind, near.cluster_size) == ("a", "b", "near", 2)
    assert near.similarity > 0.9
    assert removals(corpus, None) == []


def test_documents_without_a_url_do_not_share_one():
    corpus = [("a", "", "some words of one"), ("b", "", "quite another text here")]
    assert removals(corpus) == []


def test_texts_without_words_are_not_alike():
    corpus = [("a", "http://h/a", "!!!"), ("b", "http://h/b", "???")]
    assert removals(corpus) == []


def test_of_two_texts_of_one_url_one_stays():
    corpus = [("a", "http://h/", "one two three four five"), ("b", "http://h/", "quite another text")]
    (removal,) = removals(corpus, None)
    assert (removal.id, removal.witness, removal.kind) == ("b", "a", "url")


def test_nothing_is_removed_from_nothing():
    assert removals([]) == []


@pytest.mark.shared
def test_the_twelve_planted_pairs_are_found_and_nothing_else():
    import io
    import json

    import zstandard

    path = shared_file("prose/neardup-articles.jsonl.zst")
    with path.open("rb") as file:
        stream = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(file)
        rows = [json.loads(line) for line in io.TextIOWrapper(stream, encoding="utf-8", newline="\n")]
    corpus = [(str(row["id"])[1:], f"http://h/{row['id']}", row["text"]) for row in rows]
    truth = {
        frozenset(line.split("\t"))
        for line in shared_file("prose/neardup-articles.truth.tsv").read_text().splitlines()
        if line
    }
    found = {frozenset((f"t{removal.id}", f"t{removal.witness}")) for removal in removals(corpus)}
    assert found == truth
