"""`extract.engine` in thresher.toml: the library runs in a confined worker, and its version is part of the recipe."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.extract.test_page_engine import DIRECT, PAGE
from thresher import InputError, Project
from thresher.extract.engines.page_engine import engine_version
from thresher.pipeline import configuration
from thresher.pipeline.configuration import FiltersConfig
from thresher.pipeline.steps import process

SETTINGS = """[project]
contact = "mailto:a@example.org"
[extract]
engine = "{}"
[filters]
preset = "none"
languages = []
obey = []
"""


@pytest.mark.parametrize("name", DIRECT)
def test_a_confined_worker_extracts_with_it(tmp_path, name):
    Project.create(tmp_path)
    (tmp_path / "thresher.toml").write_text(SETTINGS.format(name))
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "a.html").write_text(PAGE)
    project = Project(tmp_path)
    project.ingest("pages", tmp_path / "pages")
    project.process(workers=1)
    (documents,) = (tmp_path / "data" / "documents" / "pages").glob("*.parquet")
    (row,) = pq.read_table(documents).to_pylist()
    assert row["extractor"] == engine_version(name)
    assert row["text"] == DIRECT[name](PAGE)


def test_another_engine_is_another_recipe():
    recipes = [
        process.step(FiltersConfig(engine=name)).recipe for name in ("thresher", "trafilatura", "resiliparse")
    ]
    assert len({str(recipe) for recipe in recipes}) == 3
    assert engine_version("trafilatura") in recipes[1]["extractors"]


def test_the_section_sets_the_engine(tmp_path):
    assert configuration.parse("", tmp_path).filters.engine == "thresher"
    found = configuration.parse('[extract]\nengine = "resiliparse"', tmp_path)
    assert found.filters.engine == found.extract.engine == "resiliparse"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[extract]\nengine = "readability"',
            "extract.engine must be 'thresher', 'trafilatura' or 'resiliparse'",
        ),
        ('[extract]\nengine = "resiliparse"\n[filters]\nformat = "markdown"', "writes no Markdown"),
        ('[filters]\nengine = "trafilatura"', "unknown key filters.engine"),
    ],
)
def test_a_wrong_choice_is_one_line(tmp_path, text, message):
    with pytest.raises(InputError) as raised:
        configuration.parse(text, Path(tmp_path))
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
