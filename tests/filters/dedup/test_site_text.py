"""Pages that share nothing but the text of their site are no copies of each other; copies and versions of pages are."""

import random
from types import SimpleNamespace

import numpy as np
import pytest

from tests.filters.dedup.memory_index import MemoryIndex
from thresher.filters.dedup.dedup_rows import row_types
from thresher.filters.dedup.document_rows import TableFacts, band_rows, document_rows, site_hash
from thresher.filters.dedup.signature import PERMUTATIONS, sign
from thresher.filters.dedup.site_text import COPY, OWN_TEXT, UNCLEAR, resemblances, site_text

TYPES = row_types(1, PERMUTATIONS)
FACTS = TableFacts(table=1, source="main", source_rank=0)


def text(seed, words):
    rng = random.Random(seed)
    return " ".join(f"word{rng.randrange(5000)}" for _ in range(words))


def removed(pages):
    """The indexes of the removed ones of (url, text) rows, with their witnesses."""
    signed = [sign(words) for _, words in pages]
    columns = SimpleNamespace(
        ids=[f"{at:032x}" for at in range(len(pages))],
        urls=[url for url, _ in pages],
        text_hashes=[text_hash for text_hash, _ in signed],
        text_bytes=np.array([len(words) for _, words in pages]),
        payload_bytes=np.zeros(len(pages), np.int64),
        fetched_at_ms=np.zeros(len(pages), np.int64),
        minhashes=np.array([minhash for _, minhash in signed], np.uint32),
    )
    index = MemoryIndex(TYPES, 79, lambda types, stays, known: band_rows(types, stays, known, 14, 8))
    index.apply(document_rows(TYPES, columns, FACTS, (), within_source=False))
    return {one: witness for one, witness, _, _ in index.removals()}


def code(buckets, sites, numbers, one, other):
    some, others = np.array([one]), np.array([other])
    equal = (numbers[some] == numbers[others]).sum(axis=1)
    return int(resemblances(site_text(buckets, sites, numbers), numbers, some, others, equal)[0])


def site(count, own_words, notice_words, host="http://site.example", seed=0):
    notice = text(f"notice {host}", notice_words)
    return [(f"{host}/{at}", f"{text(f'{seed} {at} {host}', own_words)} {notice}") for at in range(count)]


@pytest.mark.parametrize(("own_words", "notice_words"), [(20, 200), (40, 300), (60, 300)])
def test_pages_of_a_site_that_share_a_notice_stay(own_words, notice_words):
    assert len(removed(site(100, own_words, notice_words))) <= 8


def test_the_same_pages_on_many_hosts_are_copies():
    pages = [(f"http://host{at}.example/", words) for at, (_, words) in enumerate(site(100, 20, 200))]
    assert len(removed(pages)) > 90


def test_copies_among_the_pages_of_a_site_are_removed():
    pages = site(100, 40, 300)
    copies = [(f"{url}?print", f"{words} printed on Monday") for url, words in pages[:20]]
    gone = removed(pages + copies)
    assert all(at in gone or 100 + at in gone for at in range(20))
    assert len(gone) <= 20 + 8


def test_versions_of_a_page_are_copies():
    words, pages = text("manual", 400).split(), []
    for version in range(8):
        # Each version changes words that the next ones keep.
        words[version * 20 : version * 20 + 8] = text(f"version {version}", 8).split()
        pages.append((f"http://docs.example/{version}", " ".join(words)))
    assert len(removed(pages)) >= 6


def test_copies_with_another_date_are_copies():
    article = text("article", 300)
    pages = [(f"http://news.example/{at}", f"{article} {text(f'date {at}', 3)}") for at in range(30)]
    assert len(removed(pages)) == 29


def test_few_pages_do_not_tell_what_is_the_text_of_their_site():
    numbers = np.arange(2 * 112, dtype=np.uint16).reshape(2, 112)
    sites = np.ones(2, np.uint64)
    assert code(np.zeros(2, np.int64), sites, numbers, 0, 1) == UNCLEAR
    assert code(np.zeros(2, np.int64), 0 * sites, numbers, 0, 1) == COPY


def test_each_host_and_each_bucket_is_judged_by_itself():
    notice = np.zeros((12, 112), np.uint16)
    for at in range(12):
        notice[at, at * 9 : at * 9 + 9] = 1 + at
    buckets = np.repeat([4, 7], [4, 8])
    sites = np.array([1, 1, 1, 1, *[2, 3] * 4], np.uint64)
    notice[[5, 7, 9, 11]] = 0  # those of host 3 are equal
    assert code(buckets, sites, notice, 0, 3) == OWN_TEXT
    assert code(buckets, sites, notice, 4, 10) == OWN_TEXT
    assert code(buckets, sites, notice, 5, 11) == COPY
    assert code(buckets, sites, notice, 4, 5) == COPY
    assert len(site_text(buckets[:0], sites[:0], notice[:0]).tells) == 0


def test_the_site_of_a_url_is_its_host():
    assert (
        site_hash("http://a.example/1")
        == site_hash("https://A.example/2?q")
        != site_hash("http://b.example/")
    )
    assert [site_hash(url) for url in ("", "file:more.jsonl#line=7", "http:///x")] == [0, 0, 0]
