"""Texts that must not change go in and out byte for byte: `ingest --exact-text`, `process`, an export of texts."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.end_to_end.conftest import CallingUser
from tests.end_to_end.source_files import SOURCE_FILES

TOML = '[filters]\npreset = "none"\nlanguages = []\n[dedup]\nnear = "off"\n'
CHANGED = sum(
    text.decode().replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").strip("\ufeff \t\n\f").encode()
    != text
    for text in SOURCE_FILES.values()
)


def csv_of(rows):
    quoted = (
        "content,path\n",
        *(f'"{row["content"].replace(chr(34), chr(34) * 2)}",{row["path"]}\n' for row in rows),
    )
    return "".join(quoted).encode()


def put(directory, name, rows):
    if name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(rows), directory / name)
    elif name.endswith(".csv"):
        (directory / name).write_bytes(csv_of(rows))
    else:
        (directory / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize("name", ["code.jsonl", "code.parquet", "code.csv"])
def test_source_files_of_20_languages_go_in_and_out_byte_for_byte(tmp_path, name):
    assert len(SOURCE_FILES) == 20
    (tmp_path / "thresher.toml").write_text(TOML)
    # A CSV with NUL is taken for a binary file, and refused.
    texts = {path: text for path, text in SOURCE_FILES.items() if "csv" not in name or b"\0" not in text}
    rows = [{"content": text.decode(), "path": path} for path, text in texts.items()]
    put(tmp_path, name, rows)
    user = CallingUser(tmp_path)
    user.run("ingest", "code", name, "--text-column", "content", "--id-column", "path", "--exact-text")
    user.run("process")
    user.run("dedup")
    user.run("export", "--out", "out")
    (shard,) = (tmp_path / "out" / "data").iterdir()
    found = {row["text"].encode() for row in pq.read_table(shard).to_pylist()}
    assert found == set(texts.values())
    assert "normalised_texts" not in user.run("report", "--json").json
    assert {document["route"] for document in documents(tmp_path)} == {"exact"}


def documents(directory):
    return [
        row
        for path in directory.glob("data/documents/**/*.parquet")
        for row in pq.read_table(path).to_pylist()
    ]


def test_what_normalisation_changed_is_counted(tmp_path):
    (tmp_path / "thresher.toml").write_text(TOML)
    put(tmp_path, "code.jsonl", [{"text": text.decode()} for text in SOURCE_FILES.values()])
    user = CallingUser(tmp_path)
    user.run("ingest", "code", "code.jsonl")
    user.run("process")
    assert user.run("report", "--json").json["normalised_texts"] == CHANGED > 10
    assert f"{CHANGED} texts of inputs lost white space at an end" in user.run("report").out
    other = user.run("ingest", "code", "code.jsonl", "--exact-text", code=2).err
    assert "options.exact_text was absent, is true now; use the same options, or another source" in other


def test_half_a_surrogate_pair_is_no_exact_text_and_is_counted(tmp_path):
    (tmp_path / "thresher.toml").write_text(TOML)
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n{"text": "\\ud800"}\n')
    found = CallingUser(tmp_path).run("ingest", "a", "a.jsonl", "--exact-text", "--json").json
    assert (found["entries"], found["unusable"]) == (1, {"not_utf8": 1})
