"""The columns of rows become typed tables: nothing is lost silently, and the same rows give the same table."""

import json
from typing import Any

import pyarrow as pa
import pytest

from thresher.storage.columns import kept_rows
from thresher.storage.columns.inferred_types import MAX_DEPTH, MAX_FIELDS, MAX_VALUE_BYTES
from thresher.storage.columns.kept_rows import KeptRows, KeptTables, losses_of, moved
from thresher.storage.columns.row_values import BatchRow, RowValues, TextCells
from thresher.storage.columns.united_types import is_json


def kept(rows, kind=RowValues) -> pa.Table:
    collected = KeptRows()
    for number, row in enumerate(rows):
        collected.add(number * 10, kind(row, 100))
    table = collected.finish()
    assert table is not None
    return table


def of_batch(batch, used=frozenset()) -> pa.Table:
    collected = KeptRows()
    for row in range(batch.num_rows):
        collected.add(row, BatchRow(batch, row, used))
    table = collected.finish()
    assert table is not None
    return table


def deep(levels):
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, None, -(2**63)], pa.int64()),
        ([1, 2.5], pa.float64()),
        ([True, False], pa.bool_()),
        (["a", "", "ü"], pa.string()),
        ([["a"], [], None], pa.list_(pa.string())),
        ([{"a": 1}, {"b": ["x"], "a": None}], pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))])),
        (
            [{"a": {"b": {"c": 1.5}}}],
            pa.struct([("a", pa.struct([("b", pa.struct([("c", pa.float64())]))]))]),
        ),
        ([None, None], pa.null()),
    ],
)
def test_values_of_one_type_have_it(values, kind):
    table = kept([{"x": value} for value in values])
    assert table.schema.names == ["record_offset", "x"]
    assert table.schema.field("x").type == kind
    fields = {field.name: None for field in kind} if pa.types.is_struct(kind) else {}
    whole = [{**fields, **value} if isinstance(value, dict) else value for value in values]
    assert table["x"].to_pylist() == whole


@pytest.mark.parametrize(
    "values",
    [
        [1, "a", None],
        [True, 1],
        [2**53 + 1, 0.5],
        [2**64],
        [{}, {}],
        [{"a": 1}, ["b"]],
        [{"a": 1}, {"a": "x"}],
        [{str(number): 1} for number in range(MAX_FIELDS + 1)],
        [["\ud800"]],
    ],
)
def test_values_that_no_type_holds_become_json_text_and_the_field_says_so(values):
    table = kept([{"x": value} for value in values])
    assert is_json(table.schema.field("x"))
    assert [None if text is None else json.loads(text) for text in table["x"].to_pylist()] == values


def test_a_column_that_some_rows_lack_is_null_there():
    assert kept([{"a": 1}, {"b": 2}, {}]).select(["a", "b"]).to_pylist() == [
        {"a": 1, "b": None},
        {"a": None, "b": 2},
        {"a": None, "b": None},
    ]


@pytest.mark.parametrize("more", [0.5, "x", None, {"y": 1}])
def test_the_types_of_all_pieces_are_united(more, monkeypatch):
    monkeypatch.setattr(kept_rows, "PENDING_ROWS", 2)
    values = [1, 2, 3, more, more]
    table = kept([{"x": value} for value in values])
    found = table["x"].to_pylist()
    if is_json(table.schema.field("x")):
        found = [None if text is None else json.loads(text) for text in found]
    assert found == values


def test_what_cannot_be_kept_is_counted_by_reason_and_name(monkeypatch):
    monkeypatch.setattr(kept_rows, "MAX_COLUMNS", 8)
    row = {
        "long": "x" * (MAX_VALUE_BYTES + 1),
        "longer": {"within": ["x" * MAX_VALUE_BYTES, "x"]},
        "deep": deep(MAX_DEPTH + 1),
        "Record_Offset": 7,
        "": 1,
        "a\ud800": 1,
        **{f"c{number}": number for number in range(6)},
    }
    table = kept([row, {"long": "short", "deep": deep(MAX_DEPTH)}])
    assert losses_of(table.schema) == {
        "too_long": {"long": 1, "longer": 1},
        "too_deep": {"deep": 1},
        "taken_name": {"Record_Offset": 1},
        "broken_name": {"": 1, "a?": 1},
        "too_many_columns": {"c5": 1},
    }
    assert table.select(["long", "longer", "deep"]).to_pylist()[0] == {
        "long": None,
        "longer": None,
        "deep": None,
    }
    assert table["long"].to_pylist()[1] == "short"


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1", "", "-20"], [1, None, -20]),
        (["0.5", "1e-5", "3"], [0.5, 1e-5, 3.0]),
        (["007", "12"], ["007", "12"]),
        (["1" * 19], ["1" * 19]),
        (["0.12345678901234567"], ["0.12345678901234567"]),
        (["true", "false", ""], [True, False, None]),
        (["True", "false"], ["True", "false"]),
        (["a", ""], ["a", ""]),
        (["", ""], ["", ""]),
        (["2024-01-01"], ["2024-01-01"]),
    ],
)
def test_cells_of_csv_are_numbers_only_if_no_digit_is_lost(cells, values):
    found = kept([{"x": cell} for cell in cells], TextCells)["x"].to_pylist()
    assert found == values
    assert list(map(type, found)) == list(map(type, values))


def test_all_rows_decide_the_type_of_a_csv_column(monkeypatch):
    monkeypatch.setattr(kept_rows, "PENDING_ROWS", 1)
    cells = ["1.50", "n/a"]
    assert kept([{"x": cell} for cell in cells], TextCells)["x"].to_pylist() == cells


def test_the_types_of_arrow_stay_and_dictionaries_are_decoded():
    batch = pa.record_batch(
        {
            "text": ["a", "b"],
            "small": pa.array([1, None], pa.uint8()),
            "when": pa.array([0, 1], pa.timestamp("us", "UTC")),
            "price": pa.array([1, 2], pa.decimal128(5, 2)),
            "word": pa.array(["x", "x"]).dictionary_encode(),
            "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array(["z"])),
            "map": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
            "nothing": pa.array([{}, None], pa.struct([])),
        }
    )
    table = of_batch(batch, frozenset({"text"}))
    assert table.schema.names[1:] == batch.schema.names[1:]
    for name in ("small", "when", "price", "map"):
        assert table.schema.field(name).type == batch.schema.field(name).type
    assert table["word"].to_pylist() == ["x", "x"]
    assert table["runs"].to_pylist() == ["z", "z"]
    assert table["nothing"].to_pylist() == ["{}", None]


def test_two_arrow_columns_of_one_name_are_counted_and_not_kept():
    batch = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], names=["x", "x", "y"])
    table = of_batch(batch)
    assert table.schema.names == ["record_offset", "y"]
    assert losses_of(table.schema) == {"duplicate_name": {"x": 1}}


def test_a_column_is_null_in_the_rows_whose_record_holds_it():
    batch = pa.record_batch({"text": ["a", ""], "content": ["c", "d"]})
    collected = KeptRows()
    collected.add(0, BatchRow(batch, 0, frozenset({"text"})))
    collected.add(1, BatchRow(batch, 1, frozenset({"content"})))
    table = collected.finish()
    assert table is not None
    assert table["text"].to_pylist() == [None, ""]
    assert table["content"].to_pylist() == ["c", None]


def test_memory_is_bounded_because_the_file_ends(monkeypatch):
    monkeypatch.setattr(kept_rows, "MAX_BYTES", 1000)
    monkeypatch.setattr(kept_rows, "PENDING_ROWS", 10)
    rows = KeptRows()
    for number in range(9):
        rows.add(number, RowValues({"x": "y" * 200}, 200))
    assert not rows.is_full
    rows.add(10, RowValues({"x": "y"}, 200))
    assert rows.is_full


def test_tables_of_several_inputs_lie_one_behind_another():
    tables = KeptTables()
    tables.add(kept([{"a": 1}, {"a": 2}]))
    tables.add(None)
    tables.add(moved(kept([{"a": "x", "b": True}]), 20))
    table = tables.finish(100)
    assert table is not None
    assert table.to_pylist() == [
        {"record_offset": 100, "a": "1", "b": None},
        {"record_offset": 110, "a": "2", "b": None},
        {"record_offset": 120, "a": '"x"', "b": True},
    ]


def test_an_archive_file_of_many_inputs_ends_when_they_have_many_columns(monkeypatch):
    monkeypatch.setattr(kept_rows, "MAX_COLUMNS", 3)
    tables = KeptTables()
    for number in range(3):
        assert not tables.is_full
        tables.add(kept([{f"key{number}": 1}]))
    assert tables.is_full


def test_rows_without_columns_make_no_table():
    rows = KeptRows()
    rows.add(0, None)
    assert rows.finish() is None
