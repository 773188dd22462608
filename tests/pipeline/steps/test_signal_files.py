"""Signals in the process step: files come from the storage, secrets stay out of it, results follow the files."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from core import InputError, ThresherError
from pipeline.commands.app import app
from pipeline.open_project import OpenProject
from pipeline.steps.records import signal_files
from storage.manifest import manifests

TEXT = (
    "The office of the society answers letters on every working day of the week, and the members write to {} when they"
    " have something to ask. The minutes of the last meeting are in the archive, which is open in the morning."
)
SECRET = "a secret of more than sixteen bytes"


def project_with(directory: Path, keys: str, *texts: str) -> Path:
    (directory / "thresher.toml").write_text(f'[filters]\npreset = "none"\nlanguages = []\n{keys}\n')
    (directory / "texts").mkdir()
    for number, text in enumerate(texts):
        (directory / "texts" / f"{number}.txt").write_text(text)
    run(directory, "ingest", "t", str(directory / "texts"))
    return directory


def run(directory: Path, *command: str) -> str:
    result = CliRunner().invoke(app, [*command, "--project", str(directory)])
    assert result.exit_code == 0, result.output or result.exception
    return result.output


def refusal(directory: Path, *command: str) -> str:
    error = CliRunner().invoke(app, [*command, "--project", str(directory)]).exception
    assert isinstance(error, ThresherError), error
    return str(error)


def rows_of(directory: Path, table: str) -> list[dict]:
    tables = sorted((directory / "data" / table / "t").glob("*.parquet"))
    return [row for table in tables for row in pq.read_table(table).to_pylist()]


def test_masked_data_is_in_the_documents_and_not_in_what_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MASK_SECRET", SECRET)
    keys = 'mask = ["email"]\nmask_key = "env:MASK_SECRET"'
    project_with(tmp_path, keys, TEXT.format("jane@firma.de"), TEXT.format("81.2.69.142"))
    run(tmp_path, "process", "t", "--workers", "1")
    rows = rows_of(tmp_path, "measurements")
    assert sorted(row["pii_emails"] for row in rows) == [0.0, 1.0]
    (edit,) = (edit for row in rows for edit in row["edits"])
    assert edit["replacement"].endswith("@example.com")
    stored = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    assert SECRET.encode() not in stored


def test_another_secret_is_another_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MASK_SECRET", SECRET)
    project_with(tmp_path, 'mask = ["email"]\nmask_key = "env:MASK_SECRET"', TEXT.format("jane@firma.de"))
    run(tmp_path, "process", "t", "--workers", "1")
    monkeypatch.setenv("MASK_SECRET", SECRET[::-1])
    assert "--redo" in refusal(tmp_path, "process", "t", "--workers", "1")


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("env:NO_SUCH_SECRET", "the environment variable NO_SUCH_SECRET is not set; set it to the output of"),
        ("env:", "it names no variable; write env:VARIABLE"),
        ("env:EMPTY_SECRET", "the environment variable EMPTY_SECRET has 0 bytes"),
        ("nothing.txt", "cannot be read"),
        ("short.txt", "has 5 bytes"),
    ],
)
def test_a_missing_or_short_secret_is_refused_before_anything_is_processed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, problem: str
):
    monkeypatch.setenv("EMPTY_SECRET", "")
    (tmp_path / "short.txt").write_text("short")
    project_with(tmp_path, f'mask = ["email"]\nmask_key = "{key}"', TEXT)
    assert problem in refusal(tmp_path, "process", "t")
    project = OpenProject.at(tmp_path)
    assert not list(manifests(project.store, "process", "t"))
    with pytest.raises(InputError, match=problem):
        signal_files.stored_filters(project.store, tmp_path, project.config.filters)


def test_a_signal_whose_package_is_missing_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(signal_files, "find_spec", lambda name: None)
    project_with(tmp_path, 'mask = ["email", "phone"]', TEXT)
    assert "install the extra 'signals'" in refusal(tmp_path, "process", "t")
