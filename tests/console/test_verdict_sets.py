"""The console of a project that has ingested local files, with two sets of verdicts beside those of `process`."""

import json

import pytest

from tests.console.served import served_console
from tests.console.test_api import whole_url
from tests.pipeline.crawl_projects import project_at
from thresher.pipeline import recipe
from thresher.pipeline.engine.local.worker_pool import local_worker_pool
from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.steps.records.rule_set import rule_set, with_settings
from thresher.pipeline.terminal.progress import LineProgress

FILE = "a list, of <b>books.jsonl"
SOURCES = ("books", "news")
BESIDE = {"stars": 3, "label": "<b>bold</b>", "meta": {"license": "mit"}}
SETS = ("strict", "loose")


@pytest.fixture(scope="module")
def served_sets(redis, tmp_path_factory):
    directory = tmp_path_factory.mktemp("sets")
    project = project_at(directory, redis, more='[filters]\npreset = "gopher"\nlanguages = []')
    for source in SOURCES:
        path = directory / source / FILE
        path.parent.mkdir()
        rows = [
            {"text": f"Page {n} of the {source} is about the bridge, and {n} men built it.", **BESIDE}
            for n in range(9)
        ]
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        ingest(project.store, source, locate_inputs([path]))
    with local_worker_pool(1) as pool:
        recipe.process_sources(project, SOURCES, pool, LineProgress())
        for name in SETS:
            changes = [f"gopher_quality.fewest_words={len(name)}"]
            chosen = rule_set(with_settings(project.config.filters, changes))
            recipe.judge_sources(project, SOURCES, name, chosen, pool, LineProgress())
    with served_console(project) as found:
        yield found


def test_judged_parts_are_found_by_their_source(served_sets):
    every = served_sets.api("/api/manifests?step=judge").json["manifests"]
    assert {(each["part"].split("/")[0], each["source"]) for each in every} == {
        (name, source) for name in SETS for source in SOURCES
    }
    for source in SOURCES:
        lines = served_sets.api(f"/api/manifests?step=judge&source={source}").json["manifests"]
        assert [each["part"].split("/")[0] for each in lines] == sorted(SETS)
        page = served_sets.get(f"/manifests?step=judge&source={source}").text
        assert all(f"manifests%2Fjudge%2F{name}%2F{source}%2F" in page for name in SETS)
    assert served_sets.api("/api/manifests?step=judge&source=strict").json["manifests"] == []


def test_a_set_of_verdicts_is_no_source_of_costs(served_sets):
    cost = served_sets.run(served_sets.console.cost(wait_s=60)).value
    assert {each.name for each in cost.sources} == {*SOURCES}


@pytest.mark.parametrize("spelling", ["file:{name}#line=2", "FILE:{quoted}#line=2"])
def test_a_document_of_a_file_is_found_by_its_uri(served_sets, spelling):
    quoted = "a%20list%2C%20of%20%3Cb%3Ebooks.jsonl"
    uri = spelling.format(name=FILE, quoted=quoted)
    found = whole_url(served_sets, uri.replace("%", "%25").replace("#", "%23").replace(" ", "%20"))
    assert found.url == f"file:{quoted}#line=2"
    assert found.places == {}
    assert [each.source for each in found.sources] == [*SOURCES]
    for source in found.sources:
        (capture,) = source.captures
        assert (capture.url, capture.is_processed) == (found.url, True)


def test_no_page_links_to_a_local_file(served_sets):
    uri = "file%3Aa%2520list%252C%2520of%2520%253Cb%253Ebooks.jsonl%23line%3D2"
    found = whole_url(served_sets, uri)
    (capture,) = found.sources[0].captures
    for path in (
        f"/url?u={uri}",
        f"/document?part={capture.part.replace('%', '%25').replace('#', '%23').replace(' ', '%20')}&id={capture.document}",
    ):
        answer = served_sets.get(path)
        assert answer.status == 200
        assert "#line=2" in answer.text
        assert 'href="file:' not in answer.text.lower()
        assert "Open the live page" not in answer.text
        assert "<b>books" not in answer.text


def test_a_document_shows_the_columns_that_came_with_it(served_sets):
    uri = "file%3Aa%2520list%252C%2520of%2520%253Cb%253Ebooks.jsonl%23line%3D2"
    (capture,) = whole_url(served_sets, uri).sources[0].captures
    part = capture.part.replace("%", "%25").replace("#", "%23").replace(" ", "%20")
    document = served_sets.api(f"/api/document?part={part}&id={capture.document}").json
    assert document["columns"] == {"stars": "3", "label": "<b>bold</b>", "meta": '{"license": "mit"}'}
    page = served_sets.get(f"/document?part={part}&id={capture.document}").text
    assert "Columns of the input" in page
    assert "&lt;b&gt;bold&lt;/b&gt;" in page
