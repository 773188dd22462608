"""Columns of an input come out of every format as they went in, opened by the program that the format is made for."""

import datetime as dt
import decimal
import hashlib
import json
import subprocess
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.end_to_end.conftest import CallingUser
from tests.shards.toolsenv import croissant_reader, loaders

TOML = '[filters]\npreset = "none"\nlanguages = []\n[dedup]\nnear = "off"\n'
NOON = dt.datetime(2026, 1, 2, 12, 0, 0, 123456, tzinfo=dt.UTC)
FIELDS: "list[pa.Field[Any]]" = [
    pa.field("text", pa.string()),
    pa.field("id", pa.string()),
    pa.field("url", pa.string()),
    pa.field("language", pa.string()),
    # As FineWeb, Dolma, DCLM and The Stack have them.
    pa.field("token_count", pa.int64()),
    pa.field("language_score", pa.float64()),
    pa.field("int_score", pa.int32()),
    pa.field(
        "metadata", pa.struct([("subset", pa.string()), ("quality", pa.struct([("mean", pa.float32())]))])
    ),
    pa.field("attributes", pa.list_(pa.struct([("name", pa.string()), ("spans", pa.list_(pa.int64()))]))),
    pa.field("licenses", pa.list_(pa.string())),
    pa.field("stars", pa.uint16()),
    pa.field("is_vendor", pa.bool_()),
    pa.field("created", pa.timestamp("us", "UTC")),
    pa.field("day", pa.date32()),
    pa.field("price", pa.decimal128(8, 2)),
    pa.field("ext", pa.dictionary(pa.int8(), pa.string())),
    pa.field("place", pa.string()),
]
SCHEMA = pa.schema(FIELDS)
KEPT = [*SCHEMA.names[4:5], *SCHEMA.names[6:], "input.language_score", "metadata.subset"]
"""Without `language_score`, which is a measurement of ours as well, unless the input's own is named."""


def rows():
    found: list[dict[str, object]] = [
        {
            "text": f"Document {number} says something of its own, number {number}. " * 3,
            "id": f"row-{number}",
            "url": f"https://{number}.example/",
            "language": "en",
            "token_count": number * 10**10,
            "language_score": number / 7,
            "int_score": number % 5,
            "metadata": {"subset": "web", "quality": {"mean": number / 4}},
            "attributes": [{"name": "toxic", "spans": [number, 2]}, {"name": "é", "spans": []}],
            "licenses": ["mit", "apache-2.0"][: number % 3],
            "stars": number,
            "is_vendor": number % 2 == 0,
            "created": NOON + dt.timedelta(days=number),
            "day": NOON.date(),
            "price": decimal.Decimal("12.50"),
            "ext": "py" if number % 2 else "rs",
            "place": "a place",
        }
        for number in range(12)
    ]
    found.append(
        {**dict.fromkeys(SCHEMA.names), "text": "A row with nothing but a text and an id.", "id": "row-12"}
    )
    return found


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """The directory of an export in five formats."""
    directory = tmp_path_factory.mktemp("columns_out")
    (directory / "thresher.toml").write_text(TOML)
    pq.write_table(pa.Table.from_pylist(rows(), schema=SCHEMA), directory / "corpus.parquet")
    user = CallingUser(directory)
    user.run("ingest", "corpus", "corpus.parquet")
    user.run("process")
    user.run("dedup")
    formats = [f"--format={name}" for name in ("parquet", "jsonl", "hf", "webdataset", "mds", "tokens")]
    columns = ",".join(["external_id", *KEPT])
    user.run("export", "--out", "out", "--tokenizer", "bytes", *formats, "--columns", columns)
    return directory / "out"


def expected():
    found = {}
    for row in rows():
        row = dict(row)  # noqa: PLW2901 - a copy
        row["input.language_score"] = row["language_score"]
        row["metadata.subset"] = (row["metadata"] or {}).get("subset")
        found[row["id"]] = {name: row[name] for name in KEPT}
    return found


def by_id(found):
    return {row["external_id"]: {name: row[name] for name in KEPT} for row in found}


def in_json(row):
    """A row as JSON has it: times in ISO 8601, decimal numbers as texts."""

    def plain(value):
        if isinstance(value, dt.datetime):
            return value.isoformat().replace("+00:00", "Z")
        return str(value)

    return json.loads(json.dumps(row, default=plain))


EXPECTED_JSON = {identity: in_json(row) for identity, row in expected().items()}


def test_duckdb_reads_parquet_with_the_types_of_the_input(out):
    assert by_id(pq.read_table(out / "data").to_pylist()) == expected()
    with duckdb.connect() as connection:
        query = f"select stars, metadata.quality.mean, attributes[1].spans[1], created from '{out}/data/*.parquet'"
        found = connection.sql(f"{query} where external_id = 'row-3'").fetchall()
        kinds = dict(
            connection.sql(
                f"select column_name, column_type from (describe from '{out}/data/*.parquet')"
            ).fetchall()
        )
    assert [row[:3] for row in found] == [(3, 0.75, 3)]
    assert kinds["price"] == "DECIMAL(8,2)"
    assert kinds["created"] == "TIMESTAMP WITH TIME ZONE"


def test_duckdb_reads_json_lines(out):
    with duckdb.connect() as connection:
        names = ", ".join(f'"{name}"' for name in ["external_id", *KEPT])
        query = f"select to_json(row_to_json(r)) from (select {names} from '{out}/jsonl/*.jsonl.zst') r"
        found = [json.loads(line) for (line,) in connection.sql(query).fetchall()]
    for row in found:  # DuckDB takes the text in ISO 8601 for a time, as it should
        row["created"] = row["created"] and row["created"].replace(" ", "T").replace("+00", "Z")
    assert by_id(found) == EXPECTED_JSON


def test_datasets_reads_the_folder_for_the_hub_by_its_card(out, tmp_path):
    from datasets import load_dataset

    found = load_dataset(str(out / "hf"), split="train", cache_dir=str(tmp_path))
    assert by_id(found.to_list()) == expected()
    card = (out / "hf" / "README.md").read_text()
    assert "dtype: timestamp[us, tz=UTC]" in card


@pytest.mark.parametrize("card", ["README.md", "hf/README.md"])
def test_a_card_shows_the_funnel_as_a_file_beside_it(out, card):
    assert "](funnel.svg)\n" in (out / card).read_text()
    picture = (out / card).with_name("funnel.svg")
    assert b">kept</text>" in picture.read_bytes()
    named = {
        file["name"]: file["sha256"] for file in json.loads((out / "manifest.json").read_bytes())["files"]
    }
    assert named[str(picture.relative_to(out))] == hashlib.sha256(picture.read_bytes()).hexdigest()


def test_references_beside_tokens_have_the_columns(out):
    (path,) = out.glob("tokens/*/*.refs.parquet")
    assert by_id(pq.read_table(path).to_pylist()) == expected()


LOADERS = {
    "webdataset": """
import glob, json, sys, webdataset
files = sorted(glob.glob(sys.argv[1] + "/webdataset/*.tar"))
found = [row["json"] for row in webdataset.WebDataset(files, shardshuffle=False).decode()]
""",
    "mds": """
import json, sys, streaming
rows = streaming.StreamingDataset(local=sys.argv[1] + "/mds", shuffle=False, batch_size=1)
found = [{k: v for k, v in rows[at].items() if k != "input_ids"} for at in range(len(rows))]
""",
}


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", LOADERS)
def test_loaders_of_others_read_the_columns(out, name, request):
    python = loaders(request.config.cache)
    code = LOADERS[name] + "\nprint(json.dumps(found))"
    done = subprocess.run([python, "-c", code, out], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert by_id(json.loads(done.stdout.splitlines()[-1])) == EXPECTED_JSON


CROISSANT = """
import json, sys, mlcroissant
dataset = mlcroissant.Dataset(sys.argv[1] + "/croissant.json")
assert not dataset.metadata.ctx.issues.errors
rows = list(dataset.records("documents"))
print(json.dumps(sorted(row["documents/external_id"].decode() for row in rows)))
print(json.dumps(sorted(int(row["documents/stars"] or 0) for row in rows)))
structures = ("metadata", "metadata/quality", "attributes")
print(json.dumps({
    row["documents/external_id"].decode(): [row["documents/" + name] for name in structures] for row in rows
}, default=bytes.decode))
"""


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_reader_of_mlcommons_validates_and_reads_croissant(out, request):
    python = croissant_reader(request.config.cache)
    done = subprocess.run([python, "-c", CROISSANT, out], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    names, stars, structures = map(json.loads, done.stdout.splitlines()[-3:])
    assert names == sorted(EXPECTED_JSON)
    assert stars == sorted(row["stars"] or 0 for row in EXPECTED_JSON.values())
    for name, row in EXPECTED_JSON.items():
        metadata = row["metadata"] or {"subset": None, "quality": {"mean": None}}
        assert structures[name] == [
            {"documents/metadata/subset": metadata["subset"]},
            {"documents/metadata/quality/mean": metadata["quality"]["mean"]},
            [
                {f"documents/attributes/{key}": value for key, value in each.items()}
                for each in row["attributes"] or [{"name": None, "spans": None}]
            ],
        ]
