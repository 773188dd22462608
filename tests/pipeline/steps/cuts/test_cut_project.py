"""What a user sees of cuts: `thresher dedup`, exports, the funnel, reports, and `thresher show`."""

import json

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import thresher
from thresher.core import InputError
from thresher.pipeline.commands.app import app
from thresher.pipeline.configuration import parse

FOOTER = "All rights reserved by the publisher of these pages.\nSubscribe to our letter"
PASSAGE = " ".join(f"repeated{number}" for number in range(30))


def words(seed, count):
    return " ".join(f"{seed}word{number}" for number in range(count))


TEXTS = {
    "http://one.example/first": f"{words('a', 90)}\n\n{PASSAGE} {words('b', 5)}\n{FOOTER}",
    "http://one.example/second": f"{words('c', 60)}\n\n{words('d', 3)} {PASSAGE} {words('e', 3)}\n{FOOTER}",
    "http://two.example/third": f"{words('f', 50)}\n{FOOTER}",
    "http://two.example/short": f"{words('g', 5)}\n{PASSAGE}",
}
LEFT = {
    "http://one.example/first": TEXTS["http://one.example/first"],
    "http://one.example/second": f"{words('c', 60)}\n\n{words('d', 3)} {words('e', 3)}",
    "http://two.example/third": words("f", 50),
}
TOML = """
[filters]
preset = "none"
languages = []
[dedup]
near = "off"
prefer = ["longest"]
substring_words = 20
line_documents = 3
min_words = 10
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    directory = tmp_path_factory.mktemp("project")
    (directory / "thresher.toml").write_text(TOML)
    rows = [json.dumps({"url": url, "text": text}) + "\n" for url, text in TEXTS.items()]
    (directory / "texts.jsonl").write_text("".join(rows))
    project = thresher.Project(directory)
    project.ingest("texts", directory / "texts.jsonl")
    project.process(workers=1)
    return project


@pytest.fixture(scope="module")
def call(project):
    def run(*arguments):
        return CliRunner().invoke(app, [*arguments, "--project", str(project.directory)])

    first = run("dedup", "--json", "--workers", "1")
    assert first.exit_code == 0, first.output
    run.first = json.loads(first.stdout)  # type: ignore[attr-defined]
    return run


def test_dedup_says_what_it_cut(call):
    lines = 2 * len(FOOTER)
    assert call.first["cut"] == {
        "characters": {"paragraph": 0, "line": lines, "substring": len(PASSAGE)},
        "documents": 2,
        "too_short": 1,
    }
    again = call("dedup", "--workers", "1")
    assert f"cut characters: 0 of paragraphs, {lines:,} of lines" in again.output
    assert "in 2 documents; 1 too short" in again.output


def test_exports_have_what_is_left(project, call, tmp_path):
    project.export(tmp_path / "out", tokenizer="bytes", workers=1)
    rows = [
        row for shard in (tmp_path / "out").rglob("*.parquet") for row in pq.read_table(shard).to_pylist()
    ]
    assert {row["url"]: row["text"] for row in rows} == LEFT
    assert {row["url"]: row["text"] for row in project.documents()} == LEFT
    funnel = json.loads((tmp_path / "out" / "report.json").read_text())
    kept = funnel["stages"][-1]
    assert kept["documents"] == len(LEFT)
    assert kept["text_bytes"] == sum(len(text.encode()) for text in LEFT.values())
    assert not kept["tokens_estimated"]


def test_the_funnel_has_a_stage_for_each_kind(call):
    stages = {row["stage"]: row for row in json.loads(call("report", "--json").stdout)["stages"]}
    assert stages["dedup/too_short"]["documents"] == 1
    assert stages["dedup/line"]["documents"] == stages["dedup/substring"]["documents"] == 0
    total = sum(len(text.encode()) for text in TEXTS.values())
    assert sum(row["text_bytes"] for row in stages.values()) == total


def test_the_report_on_duplicates_has_the_characters_of_each_kind(call):
    assert json.loads(call("report", "--duplicates", "--json").stdout)["cut"] == call.first["cut"]
    assert "cut characters: " in call("report", "--duplicates").output


def test_a_document_that_is_too_short_says_so(call):
    shown = call("show", "http://two.example/short")
    assert "dropped by dedup: too_short" in shown.output
    assert "kept" in call("show", "http://two.example/third").output


def test_every_cut_names_its_witness(project, call):
    (table,) = (project.directory / "data" / "cuts").rglob("*.parquet")
    rows = pq.read_table(table).to_pylist()
    texts = {row["id"]: row["text"] for row in project.documents("texts", duplicates=True)}
    assert {row["kind"] for row in rows} == {"line", "substring"}
    for row in rows:
        assert row["id"] != row["witness"]
        witness = texts[row["witness"]][row["witness_start"] : row["witness_end"]]
        assert texts[row["id"]][row["start"] : row["end"]] == witness


def test_other_settings_need_another_run(project, call, tmp_path):
    toml = project.directory / "thresher.toml"
    toml.write_text(TOML.replace("line_documents = 3", "line_documents = 2"))
    try:
        with pytest.raises(
            thresher.InputError, match=r"was not cut with these settings.*thresher dedup texts"
        ):
            thresher.Project(project.directory).export(tmp_path / "out", workers=1)
    finally:
        toml.write_text(TOML)


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        ("substring_words", 5, "dedup.substring_words must be 0, or from 10 to 1000"),
        ("line_documents", 1, "dedup.line_documents must be 0, or 2 or more"),
        ("lines_within", '"host"', "dedup.lines_within"),
    ],
)
def test_settings_that_make_no_sense_are_refused(tmp_path, key, value, error):
    with pytest.raises(InputError, match=error):
        parse(f"[dedup]\n{key} = {value}\n", tmp_path)
