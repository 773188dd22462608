"""`annotate` gives documents what a user's function returns for them, and calls it for nothing twice."""

import io
import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from tests.pipeline.steps.annotations.annotated_project import (
    annotations,
    rows,
    table_bytes,
)
from thresher import Conflict, InputError, ThresherError
from thresher.pipeline.integrity.verify import repair, verify_storage
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.reports.status import render, storage_status
from thresher.pipeline.terminal.progress import SilentProgress
from thresher.storage.directory_store import DirectoryStore


def calls():
    """Return what the functions of the project's module were called with."""
    return sys.modules["mine"].CALLS


def test_a_function_is_called_with_the_kept_documents_in_batches(project):
    ran = project.annotate("length", function="mine:length", batch=3)
    assert (ran.documents, ran.annotated, ran.step.made) == (20, 16, 2)
    assert [len(batch) for batch in calls()] == [3, 3, 2, 3, 3, 2]
    texts = [row["text"] for row in rows(20)]
    found = [row["length"] for row in annotations(project, "length")]
    assert found == [None if n % 5 == 0 else float(len(text)) for n, text in enumerate(texts)]


def test_rows_lie_in_the_order_of_the_documents(project):
    project.annotate("length", function="mine:length")
    data = project.directory / "data"
    for path in (data / "documents" / "docs").glob("*.parquet"):
        made = pq.read_table(data / "annotations" / "length" / "docs" / path.name)
        assert made["id"].to_pylist() == pq.read_table(path)["id"].to_pylist()


def test_a_class_is_made_once_and_its_columns_have_the_declared_types(project):
    project.annotate("labels", function="mine:Labels", arguments={"by": "2"})
    assert sys.modules["mine"].Labels.made == 1
    path = next((project.directory / "data" / "annotations" / "labels" / "docs").glob("*.parquet"))
    schema = pq.read_schema(path)
    assert (schema.names[2:], schema.field("words").type) == (["words", "label"], pa.int32())
    assert {row["label"] for row in annotations(project, "labels")} == {"long", None}


def test_every_document_is_annotated_if_the_user_says_so(project):
    assert project.annotate("length", function="mine:length", documents="all").annotated == 20


def test_documents_that_deduplication_removed_are_not_annotated_if_the_user_says_so(project):
    path = project.directory / "again.jsonl"
    path.write_text(json.dumps({"id": "again", "text": list(rows(20))[1]["text"]}))
    project.ingest("more", path)
    project.process(workers=1)
    with pytest.raises(InputError, match="no deduplication covers docs, more"):
        project.annotate("length", function="mine:length", documents="deduplicated")
    assert project.dedup()["exact"] == 1
    assert project.annotate("length", function="mine:length", documents="deduplicated").annotated == 16
    assert project.annotate("length", function="mine:length").annotated == 17


def test_a_second_command_calls_nothing(project):
    project.annotate("length", function="mine:length")
    before = len(calls())
    assert project.annotate("length", function="mine:length").step.already == 2
    assert len(calls()) == before


def test_after_a_change_of_the_texts_only_changed_ones_are_annotated_again(project):
    """A rule that masks the address in one text changes that text, and every table of `process`."""
    project.annotate("length", function="mine:length")
    before = annotations(project, "length")
    calls().clear()
    toml = project.directory / "thresher.toml"
    toml.write_text(f'{toml.read_text()}mask = ["email"]\n')
    again = type(project)(project.directory)
    again.process(workers=1, redo=True)
    assert again.annotate("length", function="mine:length").step.made == 1
    assert calls() == [["d8"]]
    differing = [
        n
        for n, pair in enumerate(zip(before, annotations(again, "length"), strict=True))
        if pair[0] != pair[1]
    ]
    assert differing == [8]


def test_new_documents_of_the_source_are_annotated_and_no_others(project):
    project.annotate("length", function="mine:length")
    path = project.directory / "three.jsonl"
    path.write_text(json.dumps({"id": "d99", "text": "This is a new text that came later than the others."}))
    project.ingest("docs", path)
    project.process(workers=1)
    calls().clear()
    assert project.annotate("length", function="mine:length").step.made == 1
    assert calls() == [["d99"]]


def test_another_version_or_argument_makes_all_values_again(project, capsys):
    project.annotate("labels", function="mine:Labels")
    sys.modules["mine"].Labels.VERSION = 2
    calls().clear()
    project.annotate("labels", function="mine:Labels")
    assert sum(map(len, calls())) == 16
    assert "another version or other documents: 2 annotated parts are made again" in capsys.readouterr().err
    calls().clear()
    project.annotate("labels", function="mine:Labels", arguments={"by": "3"})
    assert sum(map(len, calls())) == 16


def test_a_file_of_the_version_is_part_of_it(project):
    weights = project.directory / "weights.bin"
    weights.write_bytes(b"1")
    project.annotate("length", function="mine:length", version_of=[weights])
    calls().clear()
    moved = weights.rename(project.directory / "moved.bin")
    assert project.annotate("length", function="mine:length", version_of=[moved]).step.already == 2
    weights.write_bytes(b"2")
    project.annotate("length", function="mine:length", version_of=[weights])
    assert sum(map(len, calls())) == 16


def test_more_documents_of_the_same_version_keep_the_values_that_are_there(project):
    project.annotate("length", function="mine:length")
    calls().clear()
    assert project.annotate("length", function="mine:length", documents="all").annotated == 20
    assert sorted(id_ for batch in calls() for id_ in batch) == ["d0", "d10", "d15", "d5"]


def test_values_that_were_kept_give_the_bytes_of_values_made_in_one_go(project):
    project.annotate("length", function="mine:length")
    project.annotate("length", function="mine:length", documents="all")
    kept = table_bytes(project, "length")
    project.annotate("length", function="mine:length", documents="all", redo=True)
    assert table_bytes(project, "length") == kept


def test_a_damaged_earlier_table_costs_calls_and_nothing_else(project):
    project.annotate("length", function="mine:length")
    for path in (project.directory / "data" / "annotations").rglob("*.parquet"):
        path.chmod(0o644)
        path.write_bytes(path.read_bytes()[:-9])
    assert project.annotate("length", function="mine:length", documents="all").annotated == 20


def test_a_name_belongs_to_one_function(project):
    project.annotate("a", function="mine:length")
    with pytest.raises(
        Conflict, match="the annotation a was made with mine:length, not with mine:Labels; give"
    ):
        project.annotate("a", function="mine:Labels")
    project.annotate("a", function="mine:Labels", redo=True)
    assert {"words", "label"} < set(annotations(project, "a")[0])
    assert project.annotations == ("a",)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"function": "mine:short"}, "mine:short returned 1 values for a, and its batch has 8 documents"),
        ({"function": "mine:mixed"}, "mine:mixed returned (str|int) for a; without COLUMNS"),
        ({"function": "mine:Unmade"}, r"--with mine:Unmade: it cannot be made \(OSError: no weights here\)"),
        ({"function": "mine:VALUE"}, "mine:VALUE: it is int, and neither a function nor a class"),
        ({"function": "mine:none"}, "module 'mine' has no attribute 'none'"),
        ({"function": "nothing:none"}, r"it cannot be loaded \(ModuleNotFoundError: No module named 'nothing'\)"),
        ({"function": "mine"}, "--with mine: name it package.module:NAME"),
        ({"function": "mine:length", "arguments": {"x": "1"}}, "its arguments do not fit: .*'x'"),
        ({"function": "mine:length", "version_of": ["gone.bin"]}, "--version-of gone.bin: it cannot be read"),
        ({"function": "mine:length", "gpu": True}, "--gpu: this machine shows no GPU"),
        ({"function": "mine:length", "into": "docs"}, "--into docs: its own documents are annotated"),
        ({"function": "mine:length", "key": "url"}, "--key does not go with --with"),
        ({}, "give either --with package.module:NAME"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_before_anything_is_sealed(project, monkeypatch, options, problem):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    sources = () if options.get("into") is None else ("docs",)
    with pytest.raises(InputError, match=problem) as raised:
        project.annotate("a", *sources, **options)
    assert "\n" not in str(raised.value)
    assert project.annotations == ()


def test_an_exception_names_the_document_and_costs_its_part_alone(project):
    with pytest.raises(
        ThresherError, match=r"mine:divided fails at document \w{32} \(https://example.org/7\): ZeroD"
    ):
        project.annotate("a", function="mine:divided")
    assert len(annotations(project, "a")) == 10
    with pytest.raises(ThresherError, match=r"mine:leaves fails at document .*: it calls sys.exit\(3\)"):
        project.annotate("b", function="mine:leaves")


@pytest.mark.parametrize("name", ["", "a/b", "1a", "a-b", "a" * 65])
def test_a_name_that_is_none_is_refused(project, name):
    with pytest.raises(InputError, match="is no name of an annotation"):
        project.annotate(name, function="mine:length")


def test_texts_become_documents_of_a_new_source_that_name_their_origin(project):
    ran = project.annotate("shout", function="mine:shout", into="loud")
    assert ran.new_documents == 4
    assert project.annotate("shout", function="mine:shout", into="loud").step.already == 2
    project.process("loud", workers=1)
    origins = {row["external_id"]: row["id"] for row in project.documents("docs", duplicates=True)}
    made = list(project.documents("loud", duplicates=True))
    assert sorted(row["external_id"] for row in made) == sorted([origins["d7"], origins["d17"]] * 2)
    assert {row["text"] for row in made} >= {"THIS IS THE TEXT OF NUMBER 7 ABOUT THINGS."}


def test_a_function_that_writes_no_text_makes_no_documents(project):
    with pytest.raises(InputError, match="--into loud: mine:length returned no column `text`, but a; return"):
        project.annotate("a", function="mine:length", into="loud")


def test_the_status_counts_the_documents_of_each_annotation(project):
    project.annotate("length", function="mine:length")
    opened = OpenProject.at(project.directory)
    (source,) = storage_status(opened)["sources"]
    assert source["annotations"] == {"length": {"parts": 2, "documents": 20, "annotated": 16}}
    console = Console(width=300, record=True, file=io.StringIO())
    render({**storage_status(opened), "sources": [{**source, "parts": 3}], "isolation": None}, console)
    assert "docs: annotation length: 16 of 20 documents; 1 of 3 parts have none yet" in console.export_text()


def test_damaged_tables_are_found_and_made_again(project):
    project.annotate("length", function="mine:length")
    before = annotations(project, "length")
    store = DirectoryStore(project.directory / "data")
    (first, _) = store.list("annotations/length/")
    path = project.directory / "data" / first
    path.chmod(0o644)
    path.write_bytes(b"damaged")
    found = verify_storage(store, SilentProgress())
    assert [first in line for line in found.damage] == [True]
    repair(store, found)
    project.annotate("length", function="mine:length")
    assert annotations(project, "length") == before


def test_texts_of_another_version_need_another_source(project):
    project.annotate("quiet", function="mine:quiet", into="other")
    vars(sys.modules["mine"])["VOICE"] = "low"
    sys.modules["mine"].quiet.VERSION = 2
    with pytest.raises(
        InputError, match=r"--into other: .*; give the texts of another version another source"
    ):
        project.annotate("quiet", function="mine:quiet", into="other")
