"""croissant.json describes each column, and the fields of structures as fields of their own."""

import json

import pyarrow as pa
import pytest

from thresher.shards.croissant import croissant
from thresher.shards.dataset import ShardFile

SHARD = ShardFile(name="data/shard-00000.parquet", bytes=10, sha256="a" * 64, documents=2, tokens=30)
NUMBERS = pa.list_(pa.int64())


def field(kind, name="column"):
    schema = pa.schema([pa.field(name, kind)])
    body = json.loads(croissant({"sources": ["web"]}, [SHARD], schema, "mit"))
    return body["recordSet"][0]["field"]


def described(fields):
    """Each field without a column as what it consists of, and others as type, list, and path."""
    return {
        each["@id"].removeprefix("documents/"): described(each["subField"])
        if "subField" in each
        else (
            each["dataType"],
            each.get("repeated", False),
            each["source"].get("transform", {}).get("jsonPath"),
        )
        for each in fields
    }


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (pa.int8(), {"column": ("sc:Integer", False, None)}),
        (NUMBERS, {"column": ("sc:Integer", True, None)}),
        (
            pa.struct([("a", pa.string()), ("b c", pa.struct([("d", NUMBERS)]))]),
            {
                "column": {
                    "column/a": ("sc:Text", False, "a"),
                    "column/b␣c": {"column/b␣c/d": ("sc:Integer", True, '"b c".d')},
                }
            },
        ),
        (pa.list_(pa.struct([("a", NUMBERS)])), {"column": {"column/a": ("sc:Integer", False, "a")}}),
    ],
    ids=str,
)
def test_a_column_has_a_type_or_the_fields_that_it_consists_of(kind, found):
    assert described(field(kind)) == found
    assert field(pa.list_(pa.struct([("a", NUMBERS)])))[0]["repeated"] is True


@pytest.mark.parametrize(
    "kind",
    [
        pa.decimal128(8, 2),
        pa.binary(),
        pa.list_(NUMBERS),
        pa.struct([("a", pa.binary())]),
        pa.list_(pa.struct([("a", pa.list_(pa.struct([("b", pa.int8())])))])),
    ],
    ids=str,
)
def test_a_column_whose_values_have_no_type_is_left_out(kind):
    assert field(kind) == []
