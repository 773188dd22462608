"""`export --columns`: what is known of a document goes with it into every format that has rows, typed."""

import inspect
import json
import tarfile
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipeline.steps.made_exports import (  # noqa: F401 - fixtures are imported by name
    KEPT,
    PARTS,
    contents,
    dataset_of,
    exported,
    json_rows,
    mix_of,
    parquet_rows,
    processed,
)
from thresher.core import InputError
from thresher.pipeline.reports.kept_documents import exported_documents
from thresher.pipeline.steps.options.export_options import chosen_options

COLUMNS = ("language", "language_score", "cluster_size", "external_id", "record_length", "url")
ADDED = ["language", "language_score", "cluster_size", "external_id", "record_length"]
TYPES = [pa.string(), pa.float64(), pa.int64(), pa.string(), pa.int64()]


def without(rows, *names):
    return [{name: value for name, value in row.items() if name not in names} for row in rows]


def stored(store):
    """What the project's own tables say of each document."""
    found = {}
    for folder in ("documents", "measurements"):
        for name in store.list(f"{folder}/"):
            with store.open(name) as file:
                for row in pq.read_table(file).to_pylist():
                    found.setdefault(row["id"], {}).update(row)
    return found


def test_columns_are_those_of_the_projects_tables(exported, processed):
    out = exported(columns=COLUMNS)
    schema = pq.read_schema(out / "data" / "shard-00000.parquet")
    assert schema.names[-6:] == ["text", *ADDED]
    assert [schema.field(name).type for name in ADDED] == TYPES
    rows, known = parquet_rows(out), stored(processed[0])
    assert without(rows, *ADDED) == parquet_rows(exported("plain"))
    for row in rows:
        expected = known[row["id"]]
        for name in ("language", "language_score", "external_id", "record_length"):
            assert row[name] == expected[name]
    sizes = {row["cluster_size"]: row["text"][:14] for row in rows}
    assert sorted(sizes) == [1, 5]
    assert sizes[5] == "The same text "


def test_every_format_has_the_same_columns(exported):
    out = exported(
        formats=("parquet", "jsonl", "hf", "webdataset", "tokens"), columns=COLUMNS, shard_bytes=20_000
    )
    rows = parquet_rows(out)
    assert parquet_rows(out, "hf/data/*.parquet") == rows
    assert json_rows(out) == rows
    facts = []
    for path in sorted(out.glob("webdataset/*.tar")):
        with tarfile.open(path) as tar:
            facts += [
                json.loads(tar.extractfile(each).read())  # type: ignore[union-attr]
                for each in tar
                if each.name.endswith(".json")
            ]
    assert facts == without(rows, "input_ids", "text")
    references = {row["id"]: row for row in parquet_rows(out, "tokens/*/*.refs.parquet")}
    assert len(references) == KEPT
    for row in rows:
        assert {name: references[row["id"]][name] for name in ADDED} == {name: row[name] for name in ADDED}


def test_the_manifest_and_the_cards_list_the_columns(exported):
    out = exported(formats=("parquet", "hf"), columns=COLUMNS)
    dataset = dataset_of(out)
    assert [each["name"] for each in dataset.schema["parquet"]][-5:] == ADDED
    assert dataset.schema["hf"][-4] == {"name": "language_score", "type": "double", "nullable": True}
    assert [each["origin"] for each in dataset.recipe["columns"]] == [
        "document",
        "measurement",
        "cluster",
        "document",
        "document",
    ]
    for card in ("README.md", "hf/README.md"):
        assert "| `cluster_size` | `int64` |" in (out / card).read_text()
    assert "  - name: language_score\n    dtype: float64\n" in (out / "hf" / "README.md").read_text()


def test_columns_go_with_texts_and_with_mixes(exported):
    mix = mix_of({"name": "all", "share": 1, "repeat": 5, "weight": "cluster_size"}, by="documents")
    out = exported(tokenizer="none", mix=mix, columns=("language", "cluster_size"))
    rows = parquet_rows(out)
    assert list(rows[0])[-3:] == ["text", "language", "cluster_size"]
    assert {row["cluster_size"] for row in rows if row["text"].startswith("The same")} == {5}


def test_a_lost_shard_with_columns_is_made_again(exported):
    options = {"formats": ("parquet", "jsonl"), "columns": COLUMNS, "shard_bytes": 20_000}
    out = exported(**options)
    before = contents(out)
    (out / "data" / "shard-00001.parquet").unlink()
    exported(**options)
    assert contents(out) == before


def test_python_gets_the_documents_of_an_export_as_arrow_tables(exported, processed):
    (store, removed), names = processed, ("language_score", "cluster_size", "title")
    found = list(exported_documents(store, list(PARTS), removed, None, names))
    assert len({table.schema for table in found}) == 1
    rows = {row["id"]: row for table in found for row in table.to_pylist()}
    expected = parquet_rows(exported(tokenizer="none", columns=names))
    assert len(rows) == len(expected) == KEPT
    for row in expected:
        assert row.items() <= rows[row["id"]].items()
    assert list(rows[row["id"]])[-2:] == ["language_score", "cluster_size"]


def test_a_name_that_is_no_column_is_refused_with_the_names_that_are(exported):
    with pytest.raises(
        InputError, match="--columns: documents have no column 'langage'; did you mean 'language'"
    ):
        exported(columns=("langage",))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pack": 64, "formats": ["parquet"]}, "packed rows of parquet hold the ids of their documents"),
        ({"formats": ["megatron"]}, "megatron has no place for columns"),
        ({"text": False, "columns": "text"}, "give one of the two"),
    ],
)
def test_columns_without_a_place_are_refused_in_one_line(options, words):
    usual = {"formats": ["parquet"], "columns": "language, title", "text": True, "pack": None}
    unset = dict.fromkeys(inspect.signature(chosen_options).parameters)
    with pytest.raises(InputError, match=words) as error:
        chosen_options(**{**unset, **usual, **options})
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_the_cards_say_which_languages_the_documents_have(exported):
    out = exported(formats=("parquet", "hf"))
    languages = Counter(row["language"] for row in parquet_rows(exported("named", columns=("language",))))
    dataset = dataset_of(out)
    assert dict(dataset.contents) == {"language": dict(sorted(languages.items())), "license": {"": KEPT}}
    code = max((code for code in languages if code), key=languages.__getitem__)
    for card in ("README.md", "hf/README.md"):
        words = (out / card).read_text()
        assert f"language:\n- {code}\n" in words
        assert "license: unknown\n" in words
        assert f"| {code} | {languages[code]} |" in words
    (out / "data" / "shard-00000.parquet").unlink()
    before = contents(out)
    exported(formats=("parquet", "hf"))
    assert {name: data for name, data in contents(out).items() if "shard-" not in name} == before


@pytest.mark.slow
def test_croissant_names_every_shard_and_the_type_of_every_column(exported):
    out = exported(columns=COLUMNS, shard_bytes=20_000)
    body, dataset = json.loads((out / "croissant.json").read_bytes()), dataset_of(out)
    *files, shards = body["distribution"]
    assert {file["contentUrl"]: file["sha256"] for file in files} == {
        shard.name: shard.sha256 for shard in dataset.shards
    }
    assert shards["includes"] == "data/*.parquet"
    (records,) = body["recordSet"]
    types = {field["name"]: field["dataType"] for field in records["field"]}
    assert list(types) == [column["name"] for column in dataset.schema["parquet"]]
    assert (types["input_ids"], types["language_score"], types["text"]) == (
        "sc:Integer",
        "sc:Float",
        "sc:Text",
    )
    assert not (exported("lines", formats=("jsonl",)) / "croissant.json").exists()
