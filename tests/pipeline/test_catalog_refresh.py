"""`thresher catalog rebuild` says what it has read, and ignores what the catalog held before."""

import json
import sqlite3

import pytest
from typer.testing import CliRunner

from tests.storage.manifest_samples import some
from thresher.core import InputError
from thresher.pipeline.commands.app import app
from thresher.pipeline.open_project import OpenProject


@pytest.fixture
def project(tmp_path):
    (tmp_path / "thresher.toml").write_text('[project]\ncontact = "mailto:test@example.org"\n')
    some(OpenProject.at(tmp_path).store)
    return tmp_path


def thresher(*words):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


def test_it_says_what_was_read(project):
    said = thresher("catalog", "rebuild", "--project", project)
    assert said.output == "read 4 manifests and 2 runs; they list 3 archive files of 2 sources\n"
    said = thresher("catalog", "rebuild", "--project", project, "--json")
    assert json.loads(said.output) == {"manifests": 4, "runs": 2, "files": 3, "sources": 2}


def test_what_the_catalog_said_before_does_not_matter(project):
    opened = OpenProject.at(project)
    assert opened.catalog.totals("archive", "main") == {"response": 5, "request": 2}
    connection = sqlite3.connect(project / "catalog.db")
    with connection:
        connection.execute("UPDATE sealedpart SET counts = '{\"response\": 1}'")
    connection.close()
    thresher("catalog", "rebuild", "--project", project)
    assert opened.catalog.totals("archive", "main") == {"response": 5, "request": 2}


def test_a_wrong_address_is_one_line(project):
    with (project / "thresher.toml").open("a") as file:
        file.write('catalog = "mysql://me:secret@db/x"\n')
    with pytest.raises(InputError, match=r"\Aproject.catalog = [^\n]*\Z") as caught:
        thresher("catalog", "rebuild", "--project", project)
    assert "secret" not in str(caught.value)


def test_the_group_alone_says_what_it_can(project):
    assert "rebuild" in thresher("catalog").output
