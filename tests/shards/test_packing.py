"""Every token of every document has one place in the sequences, and best-fit is what its name says."""

import json
import tracemalloc

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.shared import shared_file
from thresher.core import CorruptData
from thresher.shards import packing
from thresher.shards.formats.packing_plan import PackingPlan, plan_name, write_plan

SHARD = "ab" * 32
"""The frame digest of a shard."""
SIZES = st.lists(st.integers(0, 40), max_size=60)
LENGTHS = st.integers(1, 17)


def ends_of(sizes):
    return np.cumsum(sizes, dtype=np.uint64)


def spans(pieces):
    """The pieces of each sequence as (start, stop)."""
    each = list(zip(pieces.starts.tolist(), (pieces.starts + pieces.lengths).tolist(), strict=True))
    stops = np.cumsum(pieces.counts).tolist()
    return [each[start:stop] for start, stop in zip([0, *stops], stops, strict=False)]


def best_fit_of(sizes, length, window=packing.WINDOW_DOCUMENTS):
    windows = packing.best_fit_windows(ends_of(sizes), length, window)
    return [sequence for window in windows for sequence in spans(window)]


def every_piece(path):
    plan = PackingPlan.open(path)
    return plan.pieces(np.arange(plan.sequences))


def naive_best_fit(sizes, capacity):
    """Best-fit decreasing as the textbook has it: the room that is left in each bin."""
    rooms = []
    for size in sorted(sizes, reverse=True):
        fitting = [room for room in rooms if room >= size]
        if fitting:
            rooms.remove(min(fitting))
        rooms.append((min(fitting) if fitting else capacity) - size)
    return sorted(rooms)


@given(sizes=st.lists(st.integers(1, 17), max_size=80), more=st.integers(0, 5))
def test_best_fit_leaves_the_rooms_of_the_textbook(sizes, more):
    capacity = 17 + more
    bins = packing.best_fit(np.array(sizes, np.int64), capacity)
    filled = np.bincount(bins, np.array(sizes)) if sizes else np.zeros(0)
    assert sorted(capacity - filled) == naive_best_fit(sizes, capacity)


@given(sizes=SIZES, length=LENGTHS, window=st.integers(1, 70))
def test_best_fit_places_every_token_once_and_cuts_only_what_is_longer(sizes, length, window):
    sequences = best_fit_of(sizes, length, window)
    tokens = sorted(token for sequence in sequences for span in sequence for token in range(*span))
    assert tokens == list(range(sum(sizes)))
    assert all(sum(stop - start for start, stop in sequence) <= length for sequence in sequences)
    assert all(sequence == sorted(sequence) and sequence for sequence in sequences)
    starts = np.cumsum([0, *sizes]).tolist()
    whole = {(start, start + size) for start, size in zip(starts, sizes, strict=False) if 0 < size <= length}
    assert whole <= {span for sequence in sequences for span in sequence}


def test_sequences_stand_in_the_order_of_the_documents():
    sequences = best_fit_of([3, 8, 5, 20, 2], 8)
    assert [sequence[0][0] for sequence in sequences] == sorted(sequence[0][0] for sequence in sequences)
    assert sequences == [[(0, 3), (11, 16)], [(3, 11)], [(16, 24)], [(24, 32)], [(32, 36), (36, 38)]]


@given(sizes=SIZES, length=LENGTHS)
def test_concat_is_the_documents_in_a_row_cut_at_every_length(sizes, length):
    ends, tokens = ends_of(sizes), sum(sizes)
    count = packing.sequence_count("concat", documents=len(sizes), tokens=tokens, length=length)
    sequences = spans(packing.concat_pieces(ends, tokens, np.arange(count), length))  # type: ignore[arg-type]
    assert len(sequences) == count
    for number, sequence in enumerate(sequences):
        assert [token for span in sequence for token in range(*span)] == list(
            range(number * length, min((number + 1) * length, tokens))
        )
    borders = set(ends.tolist())
    for start, stop in (span for sequence in sequences for span in sequence):
        assert start < stop
        assert not borders & set(range(start + 1, stop))


@given(sizes=SIZES.filter(bool), length=LENGTHS, data=st.data())
def test_sequences_can_be_asked_for_in_any_order(sizes, length, data, tmp_path_factory):
    ends, tokens = ends_of(sizes), sum(sizes)
    path = tmp_path_factory.mktemp("plan") / "plan"
    with path.open("wb") as file:
        write_plan(file, ends, length, SHARD)
    plan = PackingPlan.open(path)
    concat = packing.sequence_count("concat", documents=len(sizes), tokens=tokens, length=length)
    for count, pieces in (
        (concat, lambda asked: packing.concat_pieces(ends, tokens, asked, length)),
        (len(sizes), lambda asked: packing.document_pieces(ends, asked, length)),
        (plan.sequences, plan.pieces),
    ):
        if count:
            asked = np.array(data.draw(st.lists(st.integers(0, count - 1), max_size=9)), np.int64)
            every = spans(pieces(np.arange(count)))
            assert spans(pieces(asked)) == [every[number] for number in asked]


def test_one_document_a_sequence_is_cut_after_the_length():
    pieces = packing.document_pieces(ends_of([3, 0, 9]), np.arange(3), 5)
    assert spans(pieces) == [[(0, 3)], [(3, 3)], [(3, 8)]]


def test_what_is_lost_is_counted():
    ends = ends_of([3, 0, 9, 8])
    best_fit = packing.packing_loss("best-fit", ends, 4, 5)
    assert (best_fit.tokens, best_fit.placed, best_fit.cut_documents) == (20, 20, 2)
    assert best_fit.utilisation == 1
    concat = packing.packing_loss("concat", ends, 4, 5)
    assert (concat.placed, concat.cut_documents) == (20, 2)
    rows = packing.packing_loss("none", ends, 4, 5)
    assert (rows.placed, rows.cut_documents, rows.utilisation) == (13, 2, 13 / 20)
    assert packing.packing_loss("none", ends_of([]), 0, 5).utilisation == 0


@given(sizes=SIZES, length=LENGTHS)
def test_a_plan_holds_the_sequences_of_best_fit(sizes, length, tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "plan"
    with path.open("wb") as file:
        written = write_plan(file, ends_of(sizes), length, SHARD)
    plan = PackingPlan.open(path, written.frame_sha256)
    expected = best_fit_of(sizes, length)
    assert spans(plan.pieces(np.arange(plan.sequences))) == expected
    assert (plan.length, plan.documents, plan.tokens) == (length, len(sizes), sum(sizes))
    assert plan.shard == SHARD
    assert plan.sequences == written.loss.sequences == len(expected)


def test_any_damaged_byte_of_a_plan_is_found(tmp_path):
    path = tmp_path / "plan"
    with path.open("wb") as file:
        write_plan(file, ends_of([3, 8, 5, 20, 2]), 8, SHARD)
    good = path.read_bytes()
    for offset in [*range(120), *range(4096, len(good))]:
        path.write_bytes(good[:offset] + bytes([good[offset] ^ 16]) + good[offset + 1 :])
        with pytest.raises(CorruptData, match=str(path)):
            every_piece(path)


def test_the_plan_lies_beside_its_shard():
    assert plan_name("tokens/web/shard-00003.tokens", 2048) == "tokens/web/shard-00003.best-fit-2048.plan"


@pytest.mark.shared
@pytest.mark.parametrize("length", [1024, 2048, 4096])
def test_real_lengths_fill_the_sequences(length):
    sizes = real_lengths()
    sequences = best_fit_of(sizes, length)
    loss = packing.packing_loss("best-fit", ends_of(sizes), len(sequences), length)
    concat = packing.packing_loss("concat", ends_of(sizes), -(-sum(sizes) // length), length)
    rows = packing.packing_loss("none", ends_of(sizes), len(sizes), length)
    assert loss.utilisation >= 0.995
    assert loss.cut_documents < concat.cut_documents
    assert rows.placed < loss.placed == concat.placed == sum(sizes)


def real_lengths():
    """Tokens of real documents, at four bytes a token: web pages, news and prose, without the novels."""
    sizes = []
    for name, field in (
        ("prose/nltk-prose.jsonl.zst", "text"),
        ("prose/neardup-articles.jsonl.zst", "text"),
        ("extraction/gold.jsonl.zst", "gold_text"),
    ):
        with zstandard.open(shared_file(name), "rt", encoding="utf-8", newline="\n") as lines:
            sizes += [len((json.loads(line).get(field) or "").encode()) // 4 for line in lines]
    return [size for size in sizes if size]


def test_memory_does_not_grow_with_the_length():
    sizes = np.array([3, packing.MAX_LENGTH, 5, packing.MAX_LENGTH - 4], np.int64)
    tracemalloc.start()
    bins = packing.best_fit(sizes, packing.MAX_LENGTH)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert bins.tolist() == [1, 0, 2, 1]
    assert peak < 1 << 20
