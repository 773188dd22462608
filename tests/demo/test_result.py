"""What the demo ends in is known, and every difference is a line that says where to look."""

import re
from dataclasses import replace
from pathlib import Path

from demo.result import DemoResult, differences, load_expected, save_expected, web_digest
from demo.web import ADDRESSES

ROOT = Path(__file__).resolve().parents[2]
HOSTS = {name: f"http://{address}:8000" for name, address in ADDRESSES.items()}


def lines(found: DemoResult):
    return list(differences(load_expected(), found, command="thresher", hosts=HOSTS))


def test_every_python_writes_the_web_that_is_expected():
    assert web_digest() == load_expected().web


def test_readme_names_what_is_expected():
    expected, readme = load_expected(), (ROOT / "README.md").read_text("utf-8")
    assert len(expected.documents) == expected.funnel["kept"] == 201
    assert f"shards: 201 documents, {expected.tokens:,} tokens in 1 shard\n" in readme
    assert f"documents: sha256 {expected.digest}, " in readme


def test_the_funnel_adds_up():
    expected = load_expected()
    assert sum(expected.funnel.values()) == expected.records


def test_the_expected_result_has_no_difference(tmp_path):
    save_expected(load_expected(), tmp_path / "expected.json")
    assert lines(load_expected(tmp_path / "expected.json")) == []


def test_a_web_without_links_differs_in_every_respect():
    front_pages = {"lantern/": "0" * 16}
    found = replace(
        load_expected(), records=12, funnel={"early/status": 1, "kept": 1}, tokens=5, documents=front_pages
    )
    shown = lines(found)
    assert "archived records: expected 419, found 12; look: thresher log main" in shown
    assert "kept: expected 201, found 1; look: thresher report" in shown
    assert "dedup/exact: expected 3, found 0; look: thresher report" in shown
    assert any(line.startswith("tokens: expected 80,086, found 5; ") for line in shown)
    assert (
        f"digest of the documents: expected {load_expected().digest}, found {found.digest}; look: thresher report"
        in shown
    )
    assert all(re.fullmatch(r"[^\n]+: expected [^\n]+, found [^\n]+; look: [^\n]+", line) for line in shown)
    assert len([line for line in shown if " text " in line]) == 10, "no list of all documents"


def test_one_changed_text_is_named_with_its_url():
    expected = load_expected()
    url = next(iter(expected.documents))
    found = replace(expected, documents={**expected.documents, url: "0" * 16})
    host, _, rest = url.partition("/")
    before = expected.documents[url]
    changed, digest = lines(found)
    assert changed == (
        f"{url}: expected text {before}, found text {'0' * 16}; look: thresher show '{HOSTS[host]}/{rest}'"
    )
    assert digest.startswith("digest of the documents: expected ")


def test_a_filter_that_drops_more_is_named_with_the_command_that_shows_what():
    expected = load_expected()
    found = replace(expected, funnel={**expected.funnel, "c4/too_few_sentences": 7, "c4/curly": 1})
    assert lines(found) == [
        "c4/too_few_sentences: expected 6, found 7; look: thresher report --dropped c4/too_few_sentences",
        "c4/curly: expected 0, found 1; look: thresher report --dropped c4/curly",
    ]
