"""`thresher` itself: its version, and the project that a command works on."""

import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from thresher.core import InputError
from thresher.pipeline.commands.app import app
from thresher.pipeline.commands.options import PROJECT_VARIABLE

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def types(monkeypatch):
    """Types a command, in an environment of its own, and returns what came of it."""

    def command(*words, project=None):
        with monkeypatch.context() as patch:
            patch.setenv(PROJECT_VARIABLE, str(project or ""))  # so that what a command sets is undone
            if project is None:
                patch.delenv(PROJECT_VARIABLE)
            return CliRunner().invoke(app, [*map(str, words)])

    return command


@pytest.fixture
def projects(tmp_path):
    found = [tmp_path / name for name in ("one", "two", "three")]
    for directory in found:
        directory.mkdir()
        (directory / "thresher.toml").write_text("")
    return found


def worked_on(result):
    """The directory of the project, which the error of an empty one names."""
    assert isinstance(result.exception, InputError), result.output
    directory, _, rest = str(result.exception).partition(": ")
    assert rest.startswith("nothing is archived yet")
    return Path(directory)


def test_version_says_the_version_first(types):
    said = types("--version")
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert (said.exit_code, said.output.splitlines()[0]) == (0, f"thresher {declared}")
    assert declared == version("thresher")


def test_json_before_the_verb_is_refused_with_the_line_to_type(types):
    assert str(types("--json", "report").exception).endswith("thresher report --json")


@pytest.mark.parametrize("verb", [("report",), ("process", "--workers", "1"), ("dedup",)])
def test_project_works_before_and_behind_the_verb(types, projects, verb):
    one, two, _ = projects
    assert worked_on(types("--project", one, *verb)) == one
    assert worked_on(types(*verb, "--project", two)) == two


def test_behind_the_verb_wins_then_before_it_then_the_environment(types, projects):
    one, two, three = projects
    assert worked_on(types("--project", one, "report", "--project", two, project=three)) == two
    assert worked_on(types("--project", one, "report", project=three)) == one
    assert worked_on(types("report", project=three)) == three


def test_project_works_before_a_verb_of_a_group(types, projects):
    one, two, _ = projects
    for words in (
        ("--project", one / "none", "catalog", "rebuild"),
        ("catalog", "rebuild", "--project", one / "none"),
        ("--project", two, "catalog", "rebuild", "--project", one / "none"),
    ):
        said = types(*words)
        assert isinstance(said.exception, InputError)
        assert str(said.exception).startswith(f"project {one / 'none'}: no such directory")


def test_the_directory_is_here_where_nothing_names_one(types, projects, monkeypatch):
    monkeypatch.chdir(projects[2])
    assert worked_on(types("report")) == projects[2]
