"""A rule edits a text: the next rules, signatures, token counts and exports read the edited text, documents stay."""

import sys

import pyarrow.parquet as pq
import pytest

from thresher import Project

RULES = """
from thresher import Edit, Finding


class Masked:
    name = "masked"
    measures = ()
    recipe = {}

    def __call__(self, text):
        at = text.text.find("0123")
        edits = (Edit(at, at + 4, "####"),) if at >= 0 else ()
        return Finding(measurements={}, reason=None, edits=edits)


class Advertised:
    name = "advertised"
    measures = ("masks",)
    recipe = {}

    def __call__(self, text):
        lines = text.text.splitlines(keepends=True)
        edits, start = [], 0
        for line in lines:
            if line.startswith("Buy"):
                edits.append(Edit(start, start + len(line)))
            start += len(line)
        return Finding(measurements={"masks": text.text.count("#")}, reason=None, edits=tuple(edits))


class Empty:
    name = "empty"
    measures = ()
    recipe = {}

    def __call__(self, text):
        return Finding(measurements={}, reason=None if text.text.strip() else "nothing_left")
"""
BODY = "The same long line of prose stands in two of the texts, and nobody calls {0} any more."
TEXTS = {
    "one": "Buy one now!\n" + BODY.format("0123") + "\nBuy two!",
    "two": BODY.format("####"),
    "three": "Buy three, and pay for none of them!",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    directory = tmp_path_factory.mktemp("edits")
    Project.create(directory)
    toml = directory / "thresher.toml"
    own = 'preset = "none"\nrules = ["edit_rules:Masked", "edit_rules:Advertised", "edit_rules:Empty"]'
    toml.write_text(toml.read_text().replace('# preset = "fineweb"', own))
    (directory / "edit_rules.py").write_text(RULES)
    (directory / "texts").mkdir()
    for name, text in TEXTS.items():
        (directory / "texts" / f"{name}.txt").write_text(text)
    before = list(sys.path)
    project = Project(directory)
    project.ingest("books", directory / "texts")
    project.process(workers=1)
    yield project
    sys.path[:] = before
    sys.modules.pop("edit_rules", None)


def table(project, kind):
    (path,) = (project.directory / "data" / kind / "books").glob("*.parquet")
    return pq.read_table(path).to_pylist()


def test_documents_keep_their_text_and_verdicts_hold_the_edits(project):
    texts = {row["id"]: row["text"] for row in table(project, "documents")}
    assert sorted(texts.values()) == sorted(TEXTS.values())
    edits = {texts[row["id"]]: row["edits"] for row in table(project, "verdicts")}
    assert [(edit["start"], edit["end"], edit["replacement"]) for edit in edits[TEXTS["one"]]] == [
        (0, 13, ""),
        (TEXTS["one"].index("0123"), TEXTS["one"].index("0123") + 4, "####"),
        (len(TEXTS["one"]) - 8, len(TEXTS["one"]), ""),
    ]
    assert edits[TEXTS["two"]] == []


def test_a_rule_sees_the_text_as_the_rules_before_it_edited_it(project):
    texts = {row["id"]: row["text"] for row in table(project, "documents")}
    measured = {texts[row["id"]]: row["masks"] for row in table(project, "measurements")}
    reasons = {texts[row["id"]]: row["reason"] for row in table(project, "verdicts")}
    assert measured[TEXTS["one"]] == 4
    assert reasons[TEXTS["three"]] == "nothing_left"


def test_kept_documents_and_exports_have_the_edited_text(project, tmp_path):
    edited = BODY.format("####")
    assert [row["text"].strip() for row in project.documents("books", duplicates=True)] == [edited, edited]
    assert {row["text_bytes"] for row in table(project, "signatures")} == {len(edited) + 1, len(edited)}
    assert project.dedup("books")["exact"] == 1  # up to white space
    project.export(tmp_path / "out", workers=1)
    rows = [
        row for shard in (tmp_path / "out").rglob("*.parquet") for row in pq.read_table(shard).to_pylist()
    ]
    assert [row["text"].strip() for row in rows] == [edited]
