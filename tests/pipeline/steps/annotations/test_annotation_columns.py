"""Annotations are columns: of mixes and of everything else that names columns of documents."""

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thresher import InputError
from thresher.pipeline.steps.columns.column_values import column_tables, column_values
from thresher.pipeline.steps.columns.known_columns import KnownColumns
from thresher.pipeline.steps.verdicts.verdict_sets import judged_parts
from thresher.storage.directory_store import DirectoryStore

MIX = """by = "documents"
[[source]]
name = "long"
share = 1
[source.where]
label = "long"
words = {{ {bounds} }}
"""


def values(project, *names, sources=("docs",)):
    """Return the values of columns, of all parts one after the other."""
    store = DirectoryStore(project.directory / "data")
    columns = KnownColumns(store, sources).find_all(names, "test")
    tables = [
        column_values(store, column_tables(store, judged, columns), columns)
        for source in sources
        for judged in judged_parts(store, source)
    ]
    return [[value for table in tables for value in table[name].to_pylist()] for name in names]


def test_values_of_functions_and_of_tables_stand_beside_those_of_rules(project):
    path = project.directory / "scores.jsonl"
    path.write_text(
        "".join(
            f"{json.dumps({'url': f'https://example.org/{n}', 'edu': n, 'more': {'dump': n}})}\n"
            for n in range(12)
        )
    )
    project.annotate("labels", function="mine:Labels")
    project.annotate("edu", table=path, key="url")
    words, edu, dumps, language = values(project, "words", "edu", "edu.more.dump", "language")
    assert edu == dumps == [*range(12), *[None] * 8]
    assert words[:3] == [None, 10, 11]
    assert set(language) == {"en"}


def test_a_column_of_several_annotations_is_named_with_its_annotation(project):
    project.annotate("a", function="mine:Labels")
    project.annotate("words", function="mine:Labels", arguments={"by": "2"})
    known = KnownColumns(DirectoryStore(project.directory / "data"), ("docs",))
    assert {"a.label", "a.words", "words", "words.label"} <= set(known.names)
    with pytest.raises(
        InputError, match=r"here: 'label' is a column of several annotations; name one of a.label, words.l"
    ):
        known.find("label", "here")
    once, twice = values(project, "a.words", "words")
    assert [each and 2 * each for each in once] == twice
    assert values(project, "annotation.a.words") == [once]


def test_an_unknown_name_lists_the_annotations(project):
    project.annotate("length", function="mine:length")
    with pytest.raises(
        InputError, match=r"here: documents have no column 'lenght'; did you mean 'length'.*; known are"
    ):
        KnownColumns(DirectoryStore(project.directory / "data"), ("docs",)).find("lenght", "here")


@pytest.mark.slow
def test_a_source_without_the_annotation_has_no_values_and_a_part_without_it_is_an_error(project):
    path = project.directory / "three.jsonl"
    path.write_text(json.dumps({"id": "d99", "text": "This is a new text that came later than the others."}))
    project.annotate("length", function="mine:length")
    project.ingest("more", path)
    project.process(workers=1)
    assert values(project, "length", sources=("docs", "more"))[0][-1] is None
    project.ingest("docs", path)
    project.process(workers=1)
    with pytest.raises(
        InputError, match=r"docs/part-three.* has no annotation length yet; run `thresher annotate length d"
    ):
        values(project, "length")
    project.annotate("length", function="mine:length")
    assert len(values(project, "length")[0]) == 21


def test_an_annotation_of_earlier_documents_is_an_error(project):
    project.annotate("length", function="mine:length")
    store = DirectoryStore(project.directory / "data")
    columns = KnownColumns(store, ("docs",)).find_all(["length"], "test")
    judged = next(iter(judged_parts(store, "docs")))
    other = {**judged.tables, "documents": replace(judged.documents, sha256="0" * 64)}
    with pytest.raises(
        InputError, match=r"the annotation length of docs/part-.* was made of earlier documents"
    ):
        column_tables(store, replace(judged, tables=other), columns)


def test_a_mix_takes_documents_by_annotations(project, tmp_path):
    project.annotate("labels", function="mine:Labels")
    project.dedup()
    mix = tmp_path / "mix.toml"
    mix.write_text(MIX.format(bounds="min = 11, max = 13"))
    dataset = project.export(tmp_path / "out", mix=mix, workers=1)
    words = [each for each in values(project, "words")[0] if each is not None]
    assert dataset.documents == sum(11 <= each <= 13 for each in words) > 0
    mix.write_text(MIX.format(bounds="min = 1").replace("label =", "labels ="))
    with pytest.raises(InputError, match=r"where.labels: documents have no column 'labels'"):
        project.export(tmp_path / "other", mix=mix)


def test_an_export_has_annotations_as_columns(project, tmp_path):
    project.annotate("labels", function="mine:Labels")
    project.dedup()
    project.export(tmp_path / "out", formats=("parquet",), columns=("words", "labels.label"), workers=1)
    (path,) = (tmp_path / "out").rglob("*.parquet")
    table = pq.read_table(path)
    assert table.schema.field("words").type == pa.int32()
    found = {row["id"]: (row["words"], row["labels.label"]) for row in table.to_pylist()}
    ids, words, labels = values(project, "id", "words", "label")
    every = {id_: pair for id_, *pair in zip(ids, words, labels, strict=True)}
    assert found == {id_: tuple(every[id_]) for id_ in found}
    assert len(found) == sum(word is not None for word in words)


def test_new_documents_keep_the_address_of_their_origin_and_the_other_columns_of_the_function(project):
    project.annotate("shout", function="mine:shout", into="loud")
    project.process("loud", workers=1)
    origins, tones = values(project, "origin_url", "tone", sources=("loud",))
    assert sorted(origins) == ["https://example.org/17"] * 2 + ["https://example.org/7"] * 2
    assert set(tones) == {"loud"}


def test_judge_has_thresholds_of_annotations(project):
    project.annotate("length", function="mine:length")
    lengths = dict(zip(*values(project, "id", "length"), strict=True))
    project.judge("long", thresholds={"columns.length.min": 50})
    project.dedup(verdicts="long")
    kept = {row["id"] for row in project.documents(verdicts="long")}
    assert kept == {id_ for id_, length in lengths.items() if length is not None and length >= 50}
    assert 0 < len(kept) < 16
