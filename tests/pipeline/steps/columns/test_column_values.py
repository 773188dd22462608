"""Values of columns by name, aligned with the documents of a part, wherever they lie."""

import pickle
import shutil
from functools import partial
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pytest

from thresher.core import CorruptData, InputError
from thresher.pipeline.steps.columns.column_values import column_tables, column_values, document_fields
from thresher.pipeline.steps.columns.known_columns import KnownColumns
from thresher.pipeline.steps.verdicts.verdict_sets import judged_parts
from thresher.storage import tables
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import Manifest, fingerprint, put_output, seal

PART = "s/part-a-000000000000"
IDS = [f"{number:032x}" for number in range(5)]
OFFSETS = [100, 300, 900, 1200, 1500]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Five documents: three of them measured, four with columns of an input, two signed."""
    store = DirectoryStore(tmp_path_factory.mktemp("columns"))
    documents = tables.DOCUMENTS.empty_table()
    rows = [
        {
            field.name: (IDS[at] if field.name == "id" else OFFSETS[at])
            if field.name in {"id", "record_offset"}
            else ("de" if at % 2 else "en")
            if field.name == "language"
            else (0 if pa.types.is_integer(field.type) else "")
            for field in documents.schema
        }
        for at in range(5)
    ]
    measured = pa.table(
        {"id": [IDS[4], IDS[0], IDS[2]], "quality": [0.4, 0.0, 0.2], "language_score": [1.0, 1.0, 1.0]},
    )
    signatures = tables.signature_rows(
        ids=[IDS[0], IDS[2]],
        text_hashes=[b"0" * 16] * 2,
        urls=[""] * 2,
        text_bytes=[1, 1],
        payload_bytes=[1, 1],
        fetched_at_ms=[0, 0],
        minhashes=np.zeros((2, 2), np.uint32),
    )
    made = {
        "documents": pa.Table.from_pylist(rows, schema=tables.DOCUMENTS),
        "measurements": measured,
        "verdicts": tables.VERDICTS.empty_table(),
        "signatures": signatures,
    }
    outputs = tuple(_put(store, f"{folder}/{PART}.parquet", table) for folder, table in made.items())
    _seal(store, "process@1", PART, outputs)
    kept = pa.table(
        {
            "record_offset": [100, 200, 300, 900, 1500],
            "stars": [10, 20, 30, 40, 50],
            "language": ["x", "y", "z", "u", "v"],
            "meta": [
                {"license": "mit", "deep": {"n": 1.5}},
                None,
                {"license": "bsd", "deep": None},
                None,
                None,
            ],
            "tags": [["a"], [], None, ["a", "b"], ["c"]],
        }
    )
    _seal(store, "archive@1", "s/a", (_put(store, "columns/s/a.parquet", kept),))
    return store


def _put(store, name, table):
    return put_output(store, name, len(table), partial(tables.write, table=table))


def _seal(store, step, part, outputs):
    manifest = Manifest(
        step=step,
        part=part,
        fingerprint=fingerprint(step, {}, ()),
        recipe=MappingProxyType({}),
        inputs=(),
        outputs=outputs,
        counts={},
    )
    seal(store, manifest)


def values(store, *names, clusters=b""):
    columns = KnownColumns(store, ["s"]).find_all(names, "test")
    columns = pickle.loads(pickle.dumps(columns))
    (judged,) = judged_parts(store, "s")
    found = column_values(store, column_tables(store, judged, columns, clusters), columns)
    assert found.schema.names == list(names)
    assert found.schema.types == [column.type for column in columns]
    return [found[name].to_pylist() for name in names]


def test_values_of_all_origins_stand_in_the_order_of_the_documents(store):
    own, measured, starred, sized = values(
        store, "language", "quality", "stars", "cluster_size", clusters=np.array([3, 1], "<u4").tobytes()
    )
    assert own == ["en", "de", "en", "de", "en"]
    assert measured == [0.0, None, 0.2, None, 0.4]
    assert starred == [10, 30, 40, None, 50]
    assert sized == [3, None, 1, None, None]


def test_a_name_that_two_tables_have_means_the_documents_and_input_means_the_inputs(store):
    assert values(store, "language", "input.language") == [
        ["en", "de", "en", "de", "en"],
        ["x", "z", "u", None, "v"],
    ]


def test_a_field_of_a_structure_is_named_with_dots(store):
    assert values(store, "meta.license", "meta.deep.n") == [
        ["mit", "bsd", None, None, None],
        [1.5, None, None, None, None],
    ]


def test_lists_stay_lists(store):
    assert values(store, "tags") == [[["a"], None, ["a", "b"], None, ["c"]]]


def test_a_column_reads_no_table_that_it_does_not_need(store):
    columns = KnownColumns(store, ["s"]).find_all(["stars", "title"], "test")
    (judged,) = judged_parts(store, "s")
    lies = column_tables(store, judged, columns)
    assert [span.name.partition("/")[0] for span in lies.spans] == ["documents", "columns"]
    assert document_fields(columns) == ["id", "title", "record_offset"]


def test_an_unknown_name_is_one_line_that_lists_what_there_is(store):
    with pytest.raises(InputError) as caught:
        KnownColumns(store, ["s"]).find("strs", "--mix: source a")
    assert "--mix: source a: documents have no column 'strs'; did you mean 'stars'?" in str(caught.value)
    assert "quality, stars, input.language, meta, tags" in str(caught.value).replace("language_score, ", "")
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match=r"no column 'meta.licence'; did you mean"):
        KnownColumns(store, ["s"]).find("meta.licence", "x")


def test_a_damaged_table_is_one_line(store, tmp_path):

    shutil.copytree(store.root, tmp_path / "copy")
    copied = DirectoryStore(tmp_path / "copy")
    path = copied.path("columns/s/a.parquet")
    data = bytearray(path.read_bytes())
    data[60] ^= 255
    path.write_bytes(bytes(data))
    with pytest.raises(CorruptData, match=r"columns/s/a.parquet is not as it was sealed"):
        values(copied, "stars")


def test_types_of_several_tables_are_united_when_they_are_read(store, tmp_path):
    shutil.copytree(store.root, tmp_path / "copy")
    copied = DirectoryStore(tmp_path / "copy")
    other = pa.table({"record_offset": [1], "stars": ["many"], "forks": [2.5]})
    _seal(copied, "archive@1", "s/b", (_put(copied, "columns/s/b.parquet", other),))
    assert values(copied, "stars", "forks") == [["10", "30", "40", None, "50"], [None] * 5]
