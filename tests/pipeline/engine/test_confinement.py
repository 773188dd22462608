"""A command says once, when it starts, what its machine lacks to confine workers, and goes on; `thresher status` says it too."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from thresher.isolation import probe_confinement
from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.reports.status import isolation_line
from thresher.storage.directory_store import DirectoryStore

ROOT = Path(__file__).resolve().parents[3]
LACKING = ROOT / "tests" / "isolation" / "kernel_without.py"
WALLS = {"user": "own", "landlock": 7, "seccomp": True, "lacks": [], "browser_sandbox": True}


@pytest.mark.parametrize(
    ("found", "line"),
    [
        ({}, "workers are confined by Landlock 7, seccomp"),
        ({"user": "nobody"}, "workers are confined by Landlock 7, seccomp, user nobody"),
        (
            {"landlock": 0, "lacks": ["no Landlock (no system call): a worker may read"]},
            "workers are confined by seccomp; no Landlock (no system call): a worker may read",
        ),
        (
            {"landlock": 0, "seccomp": False, "lacks": ["no seccomp", "no Landlock"]},
            "workers are confined by limits alone; no seccomp; no Landlock",
        ),
        (
            {"browser_sandbox": False},
            "workers are confined by Landlock 7, seccomp; Chromium has no sandbox (crawler.browser_sandbox = false)",
        ),
    ],
)
def test_what_holds_and_what_does_not_is_one_line(found, line):
    assert isolation_line(WALLS | found) == f"isolation: {line}"


def thresher(project, missing, *words):
    command = [sys.executable, LACKING, missing, sys.executable, "-m", "thresher", *words]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
def test_a_machine_without_walls_is_said_and_parts_are_made(tmp_path):
    if lacks := probe_confinement().lacks:
        pytest.skip(f"the machine lacks: {lacks}")
    (tmp_path / "thresher.toml").write_text('[filters]\npreset = "none"\nlanguages = []\n')
    rows = [{"url": f"http://example.test/{number}", "text": f"Page number {number}."} for number in range(3)]
    (tmp_path / "pages.jsonl").write_text("\n".join(map(json.dumps, rows)))
    ingest(DirectoryStore(tmp_path / "data"), "pages", locate_inputs([tmp_path / "pages.jsonl"]))
    done = thresher(tmp_path, "landlock,seccomp", "process", "--workers", "2")
    said = [line for line in done.stderr.splitlines() if line.startswith("thresher: isolation: no ")]
    assert [line.split()[3] for line in said] == ["Landlock", "seccomp"]
    assert all(line.endswith("; see docs/security.md") for line in said)
    status = json.loads(thresher(tmp_path, "landlock,seccomp", "status", "--json").stdout)
    assert [source["processed"] for source in status["sources"]] == [3]
    assert status["isolation"]["landlock"] == 0
    assert not status["isolation"]["seccomp"]
    assert [lack.split()[1] for lack in status["isolation"]["lacks"]] == ["Landlock", "seccomp"]
