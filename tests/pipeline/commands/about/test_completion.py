"""What Tab completes: in the process of the test, and in real shells."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from thresher.filters.rules.presets import PRESETS
from thresher.pipeline.commands.app import app
from thresher.pipeline.commands.exports.export_commands import ShardFormat
from thresher.pipeline.reports.rule_scan import GROUP_KINDS

THRESHER = Path(sys.executable).with_name("thresher")
"""Shells complete for the program of this name, not for `python -m thresher`."""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with an ingest, a crawl and a set of verdicts. Only names of folders count."""
    directory = tmp_path_factory.mktemp("project")
    (directory / "thresher.toml").write_text('[project]\nstorage = "file:stored"\n')
    for folder in ("manifests/archive/docs", "manifests/archive/web", "log/web", "manifests/judge/short"):
        (directory / "stored" / folder).mkdir(parents=True)
    return directory


@pytest.fixture
def completed(project, monkeypatch):
    """Completes the last word of a line, in the project."""
    monkeypatch.chdir(project)

    def complete(*words):
        variables = {
            "_THRESHER_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(("thresher", *words)),
            "COMP_CWORD": str(len(words)),
        }
        said = CliRunner().invoke(app, [], env=variables, prog_name="thresher")
        assert said.exit_code == 0
        return said.output.split()

    return complete


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("rep",), ["report"]),
        (("frontier", "h"), ["hosts", "hold"]),
        (("process", ""), ["docs", "web"]),
        (("process", "docs", "w"), ["web"]),
        (("crawl", ""), ["web"]),
        (("log", "w"), ["web"]),
        (("seed", "seeds.txt", "--crawl", ""), ["web"]),
        (("export-wacz", "d"), ["docs"]),
        (("report", "--verdicts", ""), ["short"]),
        (("report", "--by", ""), [*GROUP_KINDS]),
        (("export", "--format", ""), [each.value for each in ShardFormat]),
        (("judge", "--set", "preset="), sorted(f"preset={name}" for name in PRESETS)),
        (("help", "run"), ["run", "runbook"]),
    ],
)
def test_names_are_completed(completed, words, found):
    assert set(found) <= set(completed(*words))
    if not words[0].startswith("frontier"):
        assert completed(*words) == found


@pytest.mark.parametrize("before", [True, False])
def test_the_project_that_the_line_names_counts(completed, project, monkeypatch, tmp_path, before):
    monkeypatch.chdir(tmp_path)
    assert completed("process", "") == []
    named = ("--project", str(project))
    assert (
        completed(*named, "process", "d") == ["docs"]
        if before
        else completed("process", *named, "d") == ["docs"]
    )


@pytest.mark.parametrize(
    "text",
    ["[project]\nstorage = 's3://bucket/prefix'", "[project", "[project]\nstorage = 5", "project = 5", "\0"],
)
def test_what_cannot_be_listed_completes_to_nothing(completed, tmp_path, monkeypatch, text):
    (tmp_path / "thresher.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert completed("process", "") == []


def test_a_completion_imports_nothing_that_is_slow(project):
    """It has .3 s of CPU. PyArrow and NumPy take .1 s each, boto3 more."""
    variables = {
        **os.environ,
        "_THRESHER_COMPLETE": "complete_bash",
        "COMP_WORDS": "thresher process d",
        "COMP_CWORD": "2",
    }
    done = subprocess.run(
        [sys.executable, "-X", "importtime", THRESHER],
        env=variables,
        cwd=project,
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert imported.isdisjoint({"pyarrow", "numpy", "boto3", "redis", "aiohttp", "asyncio"})


SHELLS = {
    "bash": (
        'eval "$(_THRESHER_COMPLETE=source_bash thresher)"; complete -p thresher >&2; '
        "COMP_WORDS=(thresher process d); COMP_CWORD=2; _thresher_completion thresher; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    ),
    "fish": "_THRESHER_COMPLETE=source_fish thresher | source; complete -C 'thresher process d'",
    "zsh": (
        "zmodload zsh/zpty; zpty z 'zsh -f -i'; "
        "zpty -w z 'autoload -Uz compinit; compinit -D -u; "
        'eval "$(_THRESHER_COMPLETE=source_zsh thresher)"; echo read\\y\'; '
        "zpty -r z line '*ready*'; zpty -w -n z $'thresher process d\\t'; "
        "zpty -r z line '*docs*'; print -r -- $line; zpty -d z"
    ),
}


@pytest.mark.parametrize(
    "shell",
    ["bash", pytest.param("zsh", marks=pytest.mark.slow), pytest.param("fish", marks=pytest.mark.slow)],
)
def test_a_real_shell_completes_with_the_script_that_the_command_shows(shell, project):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell}")
    path = f"{THRESHER.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [program, "-c", SHELLS[shell]],
        cwd=project,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "docs" in done.stdout
