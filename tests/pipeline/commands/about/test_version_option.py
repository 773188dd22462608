"""`thresher --version`: every version is that which the code uses."""

import json
import platform
from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from thresher.pipeline.commands.about.version_option import versions
from thresher.pipeline.commands.app import app
from thresher.pipeline.commands.exports.export_commands import ShardFormat
from thresher.shards.formats.registry import FORMATS
from thresher.storage.catalog import schema
from thresher.storage.migrations import REVISIONS
from thresher.storage.warc import exchange_records


@pytest.mark.parametrize("words", [("--version", "--json"), ("--json", "--version")])
def test_programs_get_one_object(words):
    said = CliRunner().invoke(app, [*words])
    assert said.exit_code == 0
    body = json.loads(said.output)
    assert body == versions()
    assert (body["thresher"], body["python"]) == (version("thresher"), platform.python_version())


def test_people_see_every_format_and_every_step():
    said = CliRunner().invoke(app, ["--version"]).output
    body = versions()
    for name in (*body["formats"].values(), *body["inputs"], *body["shards"]):
        assert name in said
    assert all(f"{name}@{number}" in said for name, number in body["steps"].items())


def test_what_has_two_places_is_the_same_in_both():
    """A record begins with its version; the shard formats and the revisions have a second, lighter place."""
    body = versions()
    assert exchange_records._record([], b"").startswith(f"{body['formats']['archive']}\r\n".encode())
    assert sorted(ShardFormat) == sorted(FORMATS)
    assert f"revision {schema.HEAD}" == body["formats"]["catalog"]
    assert REVISIONS[-1] == schema.HEAD


def test_every_step_of_the_recipe_is_there():
    assert {"archive", "log", "process", "judge", "dedup", "cut", "export"} <= versions()["steps"].keys()
