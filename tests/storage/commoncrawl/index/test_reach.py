"""Records that lie near one another are read with one request, and each is found in the bytes."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.storage.commoncrawl.samples import ROW
from thresher.storage.commoncrawl.batch import batch_digest, batches
from thresher.storage.commoncrawl.index.range_read import range_reads

DATA = bytes(range(256)) * 8
rows = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 1900), st.integers(1, 100)), max_size=40).map(
    lambda found: [
        replace(ROW, filename=f"crawl-data/{name}.gz", offset=offset, length=length)
        for name, offset, length in sorted(set(found))
    ]
)


@given(rows, st.integers(0, 200), st.integers(1, 500))
def test_each_row_is_in_exactly_one_reach_which_holds_its_bytes(found, gap, longest):
    made = list(range_reads(found, gap, longest))
    assert [row for reach in made for row in reach.rows] == found
    for reach in made:
        assert {row.filename for row in reach.rows} == {reach.filename}
        assert reach.length <= longest or len(reach.rows) == 1
        data = DATA[reach.first :][: reach.length]
        for row in reach.rows:
            assert reach.cut(data, row) == DATA[row.offset :][: row.length]


def test_neighbours_are_one_read_and_a_wide_gap_parts_them():
    found = [replace(ROW, offset=at, length=10) for at in (0, 10, 25, 200)]
    assert [len(reach.rows) for reach in range_reads(found, max_gap=5)] == [3, 1]


@given(rows, st.integers(1, 7), st.integers(1, 300))
def test_batches_hold_every_row_once_and_are_bounded(found, most_rows, most_bytes):
    made = list(batches(found, most_rows, most_bytes))
    assert sorted(row.offset for batch in made for row in batch) == sorted(row.offset for row in found)
    for batch in made:
        assert len(batch) <= most_rows
        assert sum(row.length for row in batch[:-1]) <= most_bytes + 100
        assert list(batch) == sorted(batch, key=lambda row: (row.filename, row.offset))


@given(rows, st.integers(1, 7))
def test_what_is_behind_a_sealed_batch_makes_the_same_batches(found, most_rows):
    """A command that was killed goes on with the files it would have made."""
    made = [batch_digest(batch) for batch in batches(found, most_rows)]
    for done in range(len(made)):
        left = found[done * most_rows :]
        assert [batch_digest(batch) for batch in batches(left, most_rows)] == made[done:]
