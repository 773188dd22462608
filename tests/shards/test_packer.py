"""Packed rows hold every token of the documents, whatever tables they come in."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.shards.formats.shard_rows import PACKED_ROW
from thresher.shards.packer import NEEDED, Packer, Packing, loss_line

sizes = st.lists(st.integers(0, 40), max_size=40)


def documents(lengths):
    ends = np.cumsum([0, *lengths]).tolist()
    return [
        {"input_ids": [*range(first, last)], "id": f"d{at}"}
        for at, (first, last) in enumerate(pairwise(ends))
    ]


def packed(rows, kind, length=16, chunk=7):
    packer = Packer(Packing(length=length, kind=kind, pad_id=99_999))
    found = []
    for start in range(0, len(rows), chunk):
        for table in packer.add(pa.Table.from_pylist(rows[start : start + chunk], schema=NEEDED)):
            found += table.to_pylist()
    for table in packer.rest():
        assert table.schema == PACKED_ROW
        found += table.to_pylist()
    return found, packer.loss


def pieces(row):
    """The pieces of a row: the id of its document, and its tokens."""
    found = []
    for number, name in enumerate(row["ids"].split(), 1):
        at = [place for place, segment in enumerate(row["segments"]) if segment == number]
        assert [row["positions"][place] for place in at] == [*range(len(at))]
        found.append((name, [row["input_ids"][place] for place in at]))
    padding = [place for place, segment in enumerate(row["segments"]) if segment == 0]
    assert all(row["input_ids"][place] == 99_999 for place in padding)
    return found


@pytest.mark.parametrize("kind", ["best-fit", "concat", "none"])
@given(sizes, st.integers(1, 9))
def test_rows_hold_the_tokens_of_their_documents(kind, lengths, chunk):
    rows = documents(lengths)
    found, loss = packed(rows, kind, chunk=chunk)
    again, _ = packed(rows, kind, chunk=40)
    assert found == again
    texts = {}
    for row in found:
        assert len(row["input_ids"]) == 16
        for name, tokens in pieces(row):
            texts.setdefault(name, []).append(tokens)
    for row in rows:
        whole = [token for tokens in sorted(texts.get(row["id"], [])) for token in tokens]
        assert whole == (row["input_ids"][:16] if kind == "none" else row["input_ids"])
    assert loss.sequences == len(found)
    assert loss.placed == sum(segment > 0 for row in found for segment in row["segments"])
    assert loss.tokens == sum(lengths)


def test_the_loss_is_said_in_one_line():
    _, loss = packed(documents([16, 8, 20]), "none")
    assert loss_line([loss]) == (
        "packed into 3 sequences of 16: 16.667% padding, 9.091% of the tokens cut off, 1 documents cut"
    )


@pytest.mark.parametrize("kind", ["best-fit", "concat", "none"])
def test_rows_of_the_greatest_length_are_built_one_at_a_time(kind, monkeypatch):
    monkeypatch.setattr("thresher.shards.packer.TOKENS_AT_ONCE", 64)
    found, loss = packed(documents([30, 40, 50, 3]), kind, length=48)
    assert {len(row["input_ids"]) for row in found} == {48}
    assert len(found) == loss.sequences
    packer = Packer(Packing(length=48, kind=kind, pad_id=0))
    tables = [*packer.add(pa.Table.from_pylist(documents([30, 40, 50, 3]), schema=NEEDED)), *packer.rest()]
    assert {table.num_rows for table in tables} == {1}
