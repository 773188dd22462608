"""A row is its pieces, one after the other, and padding."""

import numpy as np

from thresher.shards.packed_rows import NOTHING, IdFormat, assemble, id_bytes_view
from thresher.shards.packing import Pieces


def test_pieces_become_rows():
    first, second = np.arange(100, 130, dtype=np.uint32), np.arange(70_000, 70_010, dtype=np.uint32)
    pieces = Pieces(counts=np.array([2, 1]), starts=np.array([3, 20, 0]), lengths=np.array([2, 2, 5]))
    (rows,) = assemble([id_bytes_view(first), id_bytes_view(second)], pieces, 5, 9, 2, IdFormat(4))
    assert rows["input_ids"].tolist() == [[103, 104, 120, 121, 9], [70_000, 70_001, 70_002, 70_003, 70_004]]
    assert rows["positions"].tolist() == [[0, 1, 0, 1, 0], [0, 1, 2, 3, 4]]
    assert rows["segments"].tolist() == [[1, 1, 2, 2, 0], [1, 1, 1, 1, 1]]
    assert [rows[name].dtype for name in rows] == [np.int64, np.int32, np.int32]


def test_a_row_without_a_piece_is_padding():
    (rows,) = assemble(
        [NOTHING],
        Pieces(counts=np.zeros(1, int), starts=np.zeros(0, int), lengths=np.zeros(0, int)),
        3,
        7,
        1,
        IdFormat(2),
    )
    assert {name: value.tolist() for name, value in rows.items()} == {
        "input_ids": [[7, 7, 7]], "positions": [[0, 0, 0]], "segments": [[0, 0, 0]],
    }  # fmt: skip


def test_marked_ids_become_labels_but_for_the_first_token_of_a_piece():
    ids = np.array([7, 8, 9, 10, 11, 12], np.uint32) | np.array([0, 1, 0, 0, 0, 1], np.uint32) << 31
    pieces = Pieces(counts=np.array([2]), starts=np.array([0, 3]), lengths=np.array([3, 3]))
    (rows,) = assemble([id_bytes_view(ids)], pieces, 7, 1, 1, IdFormat(4, is_marked=True))
    assert rows["input_ids"].tolist() == [[7, 8, 9, 10, 11, 12, 1]]
    assert rows["labels"].tolist() == [[-100, -100, 9, -100, 11, -100, -100]]
    assert rows["labels"].dtype == np.int64
