"""Columns of any type in rows: their sizes, and their values in JSON."""

import datetime as dt
import json
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from thresher.shards.formats.plain_values import plain_rows
from thresher.shards.formats.row_groups import RowGroups, data_bytes, row_bytes

NOON = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)
COLUMNS: dict[str, tuple[pa.DataType, Any]] = {
    "text": (pa.string(), "åb"),
    "large": (pa.large_string(), "abcd"),
    "bytes": (pa.binary(), b"ab"),
    "texts": (pa.list_(pa.string()), ["a", "bcd"]),
    "matrix": (pa.list_(pa.list_(pa.int64())), [[1, 2], [], [3]]),
    "spans": (
        pa.list_(pa.struct([("start", pa.int64()), ("name", pa.string())])),
        [{"start": 1, "name": "abc"}],
    ),
    "inner": (
        pa.struct([("a", pa.struct([("b", pa.float64())])), ("c", pa.string())]),
        {"a": {"b": 0.5}, "c": "x"},
    ),
    "moments": (pa.list_(pa.timestamp("ns", "UTC")), [NOON]),
    "day": (pa.date32(), NOON.date()),
    "flag": (pa.bool_(), True),
    "nothing": (pa.null(), None),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_value_has_a_size_and_none_has_none_of_the_content(name):
    kind, value = COLUMNS[name]
    rows = pa.table({name: pa.array([None, value, None, value], kind)})
    none, one, *_, last = row_bytes(rows).tolist()
    assert 0 <= none <= one == last
    assert data_bytes(rows) >= sum(row_bytes(rows))


def test_nested_values_count_what_they_hold():
    kind, _ = COLUMNS["spans"]
    rows = pa.table({"spans": pa.array([[], [{"start": 1, "name": "abc"}] * 2], kind)})
    empty, two = row_bytes(rows).tolist()
    assert two - empty == 2 * (8 + 3 + 4)  # a number, a text and its offset


def test_rows_are_grouped_by_the_bytes_of_their_columns():
    kind, _ = COLUMNS["matrix"]
    rows = pa.table({"matrix": pa.array([[list(range(100))]] * 10, kind)})
    groups = RowGroups(rows.schema, max_bytes=2000)
    found = [group.num_rows for group in (*groups.add(rows), *groups.rest())]
    assert found == [2] * 5


def test_json_has_times_in_iso_8601_whatever_their_unit():
    kind, value = COLUMNS["moments"]
    fine = pa.scalar(1_767_355_200_000_000_999, pa.timestamp("ns", "UTC"))
    rows = pa.table(
        {"moments": pa.array([value], kind), "one": pa.array([fine.value], pa.timestamp("ns", "UTC"))}
    )
    (row,) = plain_rows(rows)
    found = json.loads(msgspec.json.encode(row))
    assert found == {"moments": ["2026-01-02T12:00:00Z"], "one": "2026-01-02T12:00:00Z"}
