"""What is said of dependencies: a vulnerability fails, a registry that does not answer is named and fails nothing."""

import json
import sys

import pytest

from deploy import dependency_audit as module
from deploy.dependency_audit import NOT_AUDITED, audit, audit_result

CLEAN = {"name": "a", "version": "1", "vulns": []}
UNKNOWN = {"name": "b", "skip_reason": "not found"}
BROKEN = {"name": "c", "version": "2", "vulns": [{"id": "PYSEC-1", "fix_versions": ["3"]}]}


@pytest.mark.parametrize(
    ("packages", "code", "said"),
    [
        ([CLEAN, CLEAN], 0, "audit: no known vulnerability in 2 packages"),
        ([CLEAN, UNKNOWN], 0, "in 1 packages; NOT audited, because the registry does not know them: b"),
        ([UNKNOWN, UNKNOWN], 0, f"{NOT_AUDITED}: the registry knows none of the 2 packages"),
        ([CLEAN, UNKNOWN, BROKEN], 1, "audit: c 2 has PYSEC-1; fixed in 3"),
    ],
)
def test_what_was_audited_is_told_from_what_was_not(packages, code, said):
    found, lines = audit_result({"dependencies": packages})
    assert found == code
    assert said in "\n".join(lines)


def program(code):
    return [sys.executable, "-c", code]


def test_a_report_is_read_whatever_the_program_exits_with(tmp_path):
    report = tmp_path / "audit.json"
    text = json.dumps({"dependencies": [BROKEN]})
    code = f"import pathlib, sys; pathlib.Path({str(report)!r}).write_text({text!r}); sys.exit(1)"
    assert audit(program(code), report)[0] == 1


def test_a_registry_that_does_not_answer_fails_nothing_and_is_named(tmp_path, monkeypatch):
    report = tmp_path / "audit.json"
    report.write_text(json.dumps({"dependencies": [CLEAN]}))  # of another day
    failed = program("import sys; sys.exit('ERROR: connection refused')")
    assert audit(failed, report) == (0, [f"{NOT_AUDITED}: ERROR: connection refused"])
    monkeypatch.setattr(module, "MAX_DURATION_S", 0.1)
    assert audit(program("import time; time.sleep(60)"), report)[1][0].startswith(NOT_AUDITED)
