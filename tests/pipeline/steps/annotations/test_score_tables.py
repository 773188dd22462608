"""A table of values that was made elsewhere is joined with documents by their ids or addresses."""

import csv
import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from tests.pipeline.steps.annotations.annotated_project import (
    annotations,
    table_bytes,
)
from thresher import Conflict, InputError
from thresher.pipeline.commands.app import app
from thresher.pipeline.steps.annotations.score_tables import ScorePlan, score_index


def write_parquet(path, columns):
    pq.write_table(pa.table(columns), path, row_group_size=7)
    return path


def scores(project, key="url", step=2):
    """Return a table with the even documents in reverse order, and a row that no document has."""
    numbers = [*range(0, 20, step)][::-1]
    names = [f"https://example.org/{n}" if key == "url" else f"d{n}" for n in numbers]
    columns = {
        key: [*names, "other"],
        "edu": [*(n / 2 for n in numbers), 0.5],
        "tags": [*([str(n)] for n in numbers), []],
    }
    return write_parquet(project.directory / "scores.parquet", columns)


@pytest.mark.parametrize("key", ["url", "external_id"])
def test_documents_get_the_row_with_their_key(project, key):
    ran = project.annotate("edu", table=scores(project, key), key=key)
    assert (ran.documents, ran.annotated) == (20, 10)
    found = annotations(project, "edu")
    assert [row["edu"] for row in found] == [n / 2 if n % 2 == 0 else None for n in range(20)]
    assert [row["tags"] for row in found] == [[str(n)] if n % 2 == 0 else None for n in range(20)]


def test_a_table_that_joins_nothing_says_so(project):
    words = ["annotate", "edu", "--table", scores(project), "--key", "id=url", "--project", project.directory]
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == 0, done.output
    assert "0 of 20 documents are annotated" in done.stdout
    assert "--key id=url: no row of " in done.stderr


def test_the_ids_of_documents_are_a_key_and_the_column_may_have_another_name(project):
    ids = {row["url"]: row["id"] for row in project.documents(duplicates=True)}
    path = write_parquet(
        project.directory / "by_id.parquet", {"doc": [*ids.values()], "n": [*range(len(ids))]}
    )
    assert project.annotate("n", table=path, key="id=doc").annotated == len(ids)
    by_id = {row["id"]: row["n"] for row in annotations(project, "n")}
    assert [by_id[id_] for id_ in ids.values()] == [*range(len(ids))]


@pytest.mark.parametrize("form", ["csv", "csv.gz", "jsonl", "directory"])
def test_tables_of_other_formats_are_joined(project, form):
    entries = [{"external_id": f"d{n}", "edu": n / 4} for n in range(20)]
    path = project.directory / f"scores.{form}"
    if form == "directory":
        path.mkdir()
        for n in (0, 10):
            write_parquet(path / f"{n}.parquet", pa.Table.from_pylist(entries[n : n + 10]).to_pydict())
    elif form == "jsonl":
        path.write_text("".join(f"{json.dumps(each)}\n" for each in entries))
    else:
        with (gzip.open if form.endswith("gz") else open)(path, "wt") as file:
            writer = csv.DictWriter(file, ["external_id", "edu"])
            writer.writeheader()
            writer.writerows(entries)
    assert project.annotate("edu", table=path, key="external_id").annotated == 20
    assert [row["edu"] for row in annotations(project, "edu")] == [n / 4 for n in range(20)]


def test_a_second_command_does_nothing_and_another_table_is_joined_again(project):
    table = scores(project)
    project.annotate("edu", table=table, key="url")
    before = table_bytes(project, "edu")
    assert project.annotate("edu", table=table, key="url").step.already == 2
    assert table_bytes(project, "edu") == before
    assert project.annotate("edu", table=scores(project, step=4), key="url").annotated == 5
    assert table_bytes(project, "edu") != before


def test_a_table_does_not_take_the_place_of_a_function(project):
    project.annotate("edu", function="mine:length")
    with pytest.raises(Conflict, match="was made with mine:length, not with --table"):
        project.annotate("edu", table=scores(project), key="url")


@pytest.mark.parametrize(
    ("columns", "options", "problem"),
    [
        ({"url": ["a", "b", "a"], "n": [1, 2, 3]}, {}, "rows 1 and 3 have the same key 'a'"),
        ({"address": ["a"], "n": [1]}, {}, "it has no column url; it has address, n; name the one"),
        ({"url": ["a"]}, {}, "it has no column besides url"),
        ({"url": ["a"], "id": [1]}, {}, "its column id has a name that annotations use"),
        ({"url": ["a"], "n": [1]}, {"key": "title"}, "--key title: give id, url or external_id"),
        ({"url": ["a"], "n": [1]}, {"key": ""}, "say with --key what joins it"),
        ({"url": ["a"], "n": [1]}, {"documents": "all"}, "--all does not go with --table"),
        ({"url": ["a"], "n": [1]}, {"function": "mine:length"}, "give either --with"),
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_joined_is_refused_in_one_line(project, columns, options, problem):
    path = write_parquet(project.directory / "scores.parquet", columns)
    with pytest.raises(InputError, match=problem) as raised:
        project.annotate("edu", **{"table": path, "key": "url", **options})
    assert "\n" not in str(raised.value)
    assert project.annotations == ()


@pytest.mark.parametrize("name", ["gone.parquet", "scores.txt", "broken.parquet"])
def test_a_file_that_is_no_table_is_refused_in_one_line(project, name):
    path = project.directory / name
    if not name.startswith("gone"):
        path.write_text("no table")
    with pytest.raises(InputError, match=f"--table .*{name}: "):
        project.annotate("edu", table=path, key="url")


def test_keys_with_one_hash_are_told_apart(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("xxhash.xxh3_64_intdigest", len)
    path = write_parquet(tmp_path / "t.parquet", {"url": ["a", "bb", "b", "c", None], "n": [1, 2, 3, 4, 5]})
    with score_index(ScorePlan(annotation="n", table=path, key="url", column="url")) as index:
        found, rows = index.find(["c", "x", "b", "bb", "a", ""])
        values = dict(zip(found.tolist(), index.take(rows)["n"].to_pylist(), strict=True))
    assert values == {0: 4, 2: 3, 3: 2, 4: 1}
