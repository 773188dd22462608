"""A user's rule in the process step: an exception costs one record, and the rule reads nothing of the project but code."""

import sys
from collections import Counter

import pyarrow.parquet as pq
import pytest

from thresher import InputError, Project, ThresherError
from thresher.isolation import probe_confinement

RULE = """
from pathlib import Path

from thresher import Finding


class Curious:
    name = "curious"
    measures = ()
    recipe = {}

    def __call__(self, text):
        if "Raise" in text.text:
            raise ValueError("it is Raise day")
        if "Open" in text.text:
            (Path(__file__).parent / "thresher.toml").read_text()
        return Finding(measurements={}, reason=None if "Keep" in text.text else "no_reason")
"""
TEXT = "{0} is what this text says, and the other texts of this small source say something else again."


@pytest.fixture
def project(tmp_path):
    Project.create(tmp_path)
    toml = tmp_path / "thresher.toml"
    own = 'preset = "none"\nrules = ["curious_rule:Curious"]'
    toml.write_text(toml.read_text().replace('# preset = "fineweb"', own))
    (tmp_path / "curious_rule.py").write_text(RULE)
    (tmp_path / "texts").mkdir()
    before = list(sys.path)
    yield Project(tmp_path)
    sys.path[:] = before
    sys.modules.pop("curious_rule", None)


def ingest(project, *words):
    for word in words:
        (project.directory / "texts" / f"{word}.txt").write_text(TEXT.format(word))
    project.ingest("books", project.directory / "texts")


def test_what_a_rule_raises_costs_its_record_alone(project: Project):
    ingest(project, "Keep", "Drop", "Raise")
    project.process(workers=1)
    (verdicts,) = (project.directory / "data" / "verdicts" / "books").glob("*.parquet")
    found = Counter((row["rule"], row["reason"]) for row in pq.read_table(verdicts).to_pylist())
    assert found == Counter([("", ""), ("curious", "no_reason"), ("extract", "failed:judge:ValueError")])


def test_a_rule_cannot_read_the_configuration_beside_it(project: Project):
    if lacks := probe_confinement().lacks:
        pytest.skip(f"walls are missing here: {lacks}")
    ingest(project, "Keep", "Open")
    with pytest.raises(ThresherError, match=r"in quarantine: PermissionError: .*thresher\.toml"):
        project.process(workers=1)


def test_a_rule_that_is_gone_is_an_error_before_anything_is_processed(project: Project):
    ingest(project, "Keep")
    (project.directory / "curious_rule.py").unlink()
    with pytest.raises(InputError, match="No module named 'curious_rule'"):
        project.process(workers=1)
    assert not (project.directory / "data" / "verdicts").exists()
