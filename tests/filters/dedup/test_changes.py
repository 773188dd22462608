"""Many changes of the documents have the same result as one that brings everything at once: that of the definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.dedup.memory_index import MemoryIndex
from thresher.filters.dedup.decisions import MAX_LEADERS, decide_buckets
from thresher.filters.dedup.dedup_rows import converted, locate, row_types
from thresher.filters.dedup.zsets import SIGN, identity, sort_order, starts_of, total

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
    for row, (number, rank, fetched, text, url, minhash, site) in zip(rows, documents, strict=True):
        row["id_hi"], row["id_lo"] = words_of(number)
        row["rank_0"], row["fetched"] = rank, fetched
        row["text_hi"], row["url_hi"], row["minhash"] = text, url, minhash
        row["site"] = site
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
    found |= defined_near(sorted(stay, key=rank))
    return sorted((id_of(number), id_of(witness), *rest) for number, (witness, *rest) in found.items())


def defined_near(stay):
    buckets, matches, found = {}, {}, {}
    for each in stay:
        for band in range(BANDS):
            buckets.setdefault((band, each[5][band * ROWS : (band + 1) * ROWS]), []).append(each)
    for bucket in buckets.values():
        leaders = []
        for each in bucket:
            of_bucket = [(one, resemblance(each, one, bucket)) for one in leaders if are_alike(each, one)]
            copied = [one for one in of_bucket if one[1] != "own text"]
            if not copied:
                leaders.append(each)
            for witness, what in (copied or of_bucket)[:1]:
                matches.setdefault(each[0], []).append((equal_numbers(each, witness), witness[0], what))
    for number, those in matches.items():
        has_own_text = any(what == "own text" for *_, what in those)
        copies = [one for one in those if one[2] == "copy" or (one[2] == "unclear" and not has_own_text)]
        if copies:
            equal, witness, _ = min(copies, key=lambda one: (-one[0], one[1]))
            found[number] = (witness, "near", equal)
    return found


def are_alike(one, other):
    return equal_numbers(one, other) >= MIN_EQUAL


def resemblance(each, leader, bucket):
    if not each[6] or each[6] != leader[6]:
        return "copy"
    pages = [one for one in bucket if one[6] == each[6]]
    own = {one[0]: rare_numbers(one, pages) for one in pages}
    with_own = [one for one in pages if own[one[0]]]
    if len(with_own) < max(3, len(pages) / 2):
        return "copy" if equal_numbers(each, leader) == PERMUTATIONS else "unclear"
    if each not in with_own and leader not in with_own:
        return "copy"
    shared = [at for at in own[each[0]] if each[5][at] == leader[5][at]]
    return "own text" if len(shared) < PERMUTATIONS - equal_numbers(each, leader) else "copy"


def rare_numbers(each, pages):
    def holders(at):
        return sum(one[5][at] == each[5][at] for one in pages)

    return [at for at in range(PERMUTATIONS) if holders(at) == 1 or holders(at) < len(pages) / 4]


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
            draw(st.integers(0, 2)),
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
    witness, equal, _ = decide_buckets(np.zeros(count, np.int64), np.zeros(count, np.uint64), minhashes, 6)
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
    known = rows_of([(5, 0, 0, 1, 0, (0,) * PERMUTATIONS, 0)], 1)
    member = np.zeros(1, TYPES.members)
    member["id_lo"] = 77
    with pytest.raises(KeyError, match="4d"):
        locate(member, known)
