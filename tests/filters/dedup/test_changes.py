"""Many changes of the documents have the same result as one that brings everything at once: that of the definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from filters.dedup.decisions import MAX_LEADERS, decide_buckets
from filters.dedup.dedup_rows import converted, locate, row_types
from filters.dedup.zsets import SIGN, identity, sort_order, starts_of, total
from tests.filters.dedup.memory_index import MemoryIndex

BANDS, ROWS = 3, 2
PERMUTATIONS = BANDS * ROWS
MIN_EQUAL = 4
TYPES = row_types(1, PERMUTATIONS)


def band_rows(types, stays, known):
    rows = [converted(stays, types.bands, band=keys_of(known["minhash"], band)) for band in range(BANDS)]
    return total(*rows)


def keys_of(minhashes, band):
    part = minhashes[:, band * ROWS : (band + 1) * ROWS].astype("<u8")
    return part[:, 0] * 1000 + part[:, 1] + band * 1_000_000


def rows_of(documents, sign):
    rows = np.zeros(len(documents), TYPES.documents)
    for row, (number, rank, fetched, text, url, minhash) in zip(rows, documents, strict=True):
        row["id_hi"], row["id_lo"] = words_of(number)
        row["rank_0"], row["fetched"] = rank, fetched
        row["text_hi"], row["url_hi"], row["minhash"] = text, url, minhash
    rows[SIGN] = sign
    return rows[sort_order(rows, identity(rows.dtype))]


def words_of(number):
    """Ids of which several share their first word."""
    return number // 4, number


def defined(documents):
    """The removals by the definition, with plain loops."""
    found = {}

    def keep(members, key, order, kind):
        groups = {}
        for each in sorted(members, key=order):
            groups.setdefault(key(each), []).append(each)
        for best, *others in groups.values():
            for other in others:
                found[other[0]] = (best[0], kind, 0)
            yield best

    def rank(each):
        return (each[1], each[0])

    stay = list(keep(documents, lambda each: each[3], rank, "exact"))
    without = [each for each in stay if not each[4]]
    with_url = [each for each in stay if each[4]]
    stay = without + list(keep(with_url, lambda each: each[4], lambda each: (-each[2], *rank(each)), "url"))
    for band in range(BANDS):
        leaders = {}
        for each in sorted(stay, key=rank):
            bucket = leaders.setdefault(each[5][band * ROWS : (band + 1) * ROWS], [])
            alike = [leader for leader in bucket if equal_numbers(each, leader) >= MIN_EQUAL]
            if not alike:
                bucket.append(each)
                continue
            witness = (alike[0][0], "near", equal_numbers(each, alike[0]))
            best = min(found.get(each[0], witness), witness, key=lambda one: (-one[2], one[0]))
            found[each[0]] = best
    return sorted((id_of(number), id_of(witness), *rest) for number, (witness, *rest) in found.items())


def id_of(number):
    high, low = words_of(number)
    return high << 64 | low


def equal_numbers(one, other):
    return sum(a == b for a, b in zip(one[5], other[5], strict=True))


@st.composite
def documents(draw):
    count = draw(st.integers(1, 24))
    numbers = st.integers(0, 2)
    return [
        (
            number,
            draw(st.integers(0, 3)),
            draw(st.integers(0, 3)),
            draw(st.integers(0, 20)),
            draw(st.integers(0, 12)),
            tuple(draw(st.lists(numbers, min_size=PERMUTATIONS, max_size=PERMUTATIONS))),
        )
        for number in range(1, count + 1)
    ]


@settings(deadline=None)
@given(documents(), st.data())
def test_every_way_of_coming_and_going_has_the_removals_of_the_definition(corpus, data):
    index, here = MemoryIndex(TYPES, MIN_EQUAL, band_rows), []
    waiting = corpus
    while waiting:
        size = data.draw(st.integers(1, len(waiting)))
        leaving = data.draw(st.lists(st.sampled_from(here), unique=True)) if here else []
        entering, waiting = waiting[:size], waiting[size:]
        index.apply(total(rows_of(entering, 1), rows_of(leaving, -1)))
        here = [each for each in [*here, *entering] if each not in leaving]
        assert index.removals() == defined(here)
        assert all((table[SIGN] == 1).all() for name, table in index.tables.items())


@settings(deadline=None)
@given(documents())
def test_what_left_completely_leaves_nothing(corpus):
    index = MemoryIndex(TYPES, MIN_EQUAL, band_rows)
    index.apply(rows_of(corpus, 1))
    index.apply(rows_of(corpus, -1))
    assert not any(len(table) for table in index.tables.values())


def test_a_bucket_of_documents_that_do_not_resemble_each_other_has_a_bounded_number_of_leaders():
    count = MAX_LEADERS + 5
    minhashes = np.arange(count * 8, dtype=np.uint32).reshape(count, 8)
    minhashes[-1] = minhashes[0]  # like the first leader
    minhashes[-2] = minhashes[-3]  # like one that came too late to lead
    witness, equal = decide_buckets(np.zeros(count, np.int64), minhashes, 6)
    assert witness[-1] == 0
    assert equal[-1] == 8
    assert (witness[:-1] == -1).all()


def test_rows_with_an_equal_first_word_are_told_apart():
    rows = np.zeros(6, TYPES.stays)
    rows["id_hi"], rows["id_lo"], rows[SIGN] = [1, 1, 1, 2, 2, 2], [3, 1, 3, 0, 9, 9], [1, 1, 1, 1, 1, -1]
    summed = total(rows)
    assert summed[["id_hi", "id_lo", SIGN]].tolist() == [(1, 1, 1), (1, 3, 2), (2, 0, 1)]
    assert starts_of(summed, ("id_hi",)).tolist() == [0, 2]


def test_a_member_that_no_document_is_known_of_is_an_error():
    known = rows_of([(5, 0, 0, 1, 0, (0,) * PERMUTATIONS)], 1)
    member = np.zeros(1, TYPES.members)
    member["id_lo"] = 77
    with pytest.raises(KeyError, match="4d"):
        locate(member, known)
