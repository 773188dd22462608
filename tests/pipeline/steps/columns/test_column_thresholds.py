"""Columns that came with documents decide: in `[filters]`, in `judge`, in rules of users, in mixes and reports."""

import json
import sys
from typing import Any

import pyarrow.parquet as pq
import pytest

from thresher import InputError, Project
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.reports import report, rule_scan
from thresher.pipeline.reports.rule_scan import report_columns

RULE = """
from thresher import Finding


class Starred:
    name = "starred"
    measures = ("stars_seen",)
    recipe = {}
    columns = ("stars", "meta.license")

    def __call__(self, text):
        stars = float(text.columns.get("stars", -1))
        reason = "gpl" if text.columns.get("meta.license") == "gpl" else None
        return Finding(measurements={"stars_seen": stars}, reason=reason)
"""
ROWS: list[dict[str, Any]] = [
    {"score": 1.5, "stars": 3, "good": True, "meta": {"license": "mit"}},
    {"score": 2.5, "stars": 5, "good": False, "meta": {"license": "gpl"}},
    {"score": None, "stars": 7, "good": True, "meta": None},
]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Three documents, processed with a threshold on a column and with a rule that names columns."""
    root = tmp_path_factory.mktemp("columns")
    Project.create(root)
    lines = [
        {"text": f"This is what document number {at} says, and no other says it.", "id": str(at), **row}
        for at, row in enumerate(ROWS)
    ]
    (root / "a.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (root / "starred.py").write_text(RULE)
    toml = root / "thresher.toml"
    own = 'preset = "none"\nrules = ["starred:Starred"]\nthresholds = {"columns.score.min" = 2.0}'
    toml.write_text(toml.read_text().replace('# preset = "fineweb"', own))
    before = list(sys.path)
    project = Project(root)
    project.ingest("s", root / "a.jsonl")
    project.process(workers=1)
    yield project
    sys.path[:] = before
    sys.modules.pop("starred", None)


def found(project, folder="verdicts/s"):
    (verdicts,) = (project.directory / "data" / folder).glob("*.parquet")
    return [row["reason"] for row in pq.read_table(verdicts).to_pylist()]


def test_a_threshold_of_filters_names_a_column_and_a_missing_value_crosses_none(project: Project):
    assert found(project) == ["score.min", "gpl", ""]
    opened = OpenProject.at(project.directory)
    assert "columns/score.min" in [stage.name for stage in report.funnel_of(opened, ["s"]).stages]


def test_a_report_groups_documents_by_a_column(project: Project):
    opened = OpenProject.at(project.directory)
    columns = report_columns(opened.store, ["s"], ["meta.license", "good"])
    groups = rule_scan.scan_rules(opened.store, ["s"], kinds=["source"], columns=columns).groups
    assert {name: counts.documents for name, counts in groups["meta.license"].items()} == {
        "mit": 1,
        "gpl": 1,
        "unknown": 1,
    }
    assert {name: counts.kept for name, counts in groups["good"].items()} == {"true": 1, "false": 0}
    assert list(groups["source"]) == ["s"]
    for name, message in (("colour", "no column 'colour'"), ("score", "score holds double")):
        with pytest.raises(InputError, match=message):
            report_columns(opened.store, ["s"], [name])


def test_judge_has_other_thresholds_on_columns_without_reading_a_text(project: Project):
    thresholds = {"columns.score.min": 1.0, "columns.good.min": 1, "columns.stars.max": 6}
    project.judge("other", "s", thresholds=thresholds, workers=1)
    assert found(project, "judged_verdicts/other/s") == ["", "gpl", "stars.max"]


@pytest.mark.parametrize(
    ("threshold", "message"),
    [
        ("columns.scores.min", "documents have no column 'input.scores'"),
        ("columns.score.least", "write it as columns.NAME.min or columns.NAME.max"),
        ("columns.meta.min", "meta holds struct"),
    ],
)
def test_a_threshold_on_no_column_of_numbers_is_refused_before_anything_is_judged(
    project, threshold, message
):
    with pytest.raises(InputError, match=message):
        project.judge("wrong", "s", thresholds={threshold: 1.0})
    assert not (project.directory / "data" / "judged_verdicts" / "wrong").exists()


def test_a_rule_of_a_user_sees_the_columns_that_it_names(project: Project):
    (measured,) = (project.directory / "data" / "measurements" / "s").glob("*.parquet")
    assert [row["stars_seen"] for row in pq.read_table(measured).to_pylist()] == [3.0, 5.0, 7.0]
