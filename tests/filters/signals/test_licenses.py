"""A licence counts if the page states it for its own text; a name that is only mentioned does not."""

import time

import pytest

from bench.filters.labelled.license_set import SET
from thresher.filters.signals.licenses import LicenseRule, page_license, stated_license_url, statements
from thresher.filters.text import AnalyzedText


def analyzed(text: str, license_: str = "") -> AnalyzedText:
    return AnalyzedText(text=text, language="en", language_score=1.0, license=license_)


@pytest.mark.parametrize(("text", "licenses"), SET)
def test_the_labelled_set_is_read_as_labelled(text: str, licenses: tuple[str, ...]):
    assert {each.license for each in statements(text)} == {*licenses}


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://creativecommons.org/licenses/by-nc-sa/3.0/de/", "CC-BY-NC-SA-3.0"),
        ("http://www.creativecommons.org/licenses/by/4.0", "CC-BY-4.0"),
        ("https://creativecommons.org/licenses/by-sa/", "CC-BY-SA"),
        ("https://creativecommons.org/publicdomain/zero/1.0/", "CC0-1.0"),
        ("https://example.org/terms", ""),
        ("", ""),
    ],
)
def test_the_url_of_the_markup_names_a_licence(url: str, name: str):
    assert page_license(url) == name


@pytest.mark.parametrize(
    ("text", "markup", "reason"),
    [
        ("Nothing is said.", "", "no_license"),
        ("Nothing is said.", "https://creativecommons.org/licenses/by/4.0/", None),
        ("This work is licensed under CC BY 3.0.", "", None),
        ("This work is licensed under CC BY-NC 3.0.", "", "unwanted_license"),
        (
            "This work is licensed under CC BY-NC 3.0.",
            "https://creativecommons.org/licenses/by/4.0/",
            "unwanted_license",
        ),
        ("License: MIT", "", "unwanted_license"),
    ],
)
def test_every_licence_that_a_page_states_must_be_wanted(text: str, markup: str, reason: str | None):
    assert LicenseRule(wanted=("CC-BY", "CC0-1.0"))(analyzed(text, markup)).reason == reason


def test_a_wanted_licence_with_a_version_allows_no_other_version():
    rule = LicenseRule(wanted=("cc-by-sa-4.0",))
    assert rule.allows("CC-BY-SA-4.0")
    assert not rule.allows("CC-BY-SA-3.0")
    assert not rule.allows("CC-BY-SA")


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("This work is licensed under CC BY-SA 4.0.", "https://creativecommons.org/licenses/by-sa/4.0/"),
        ("This work is licensed under CC BY.", "https://creativecommons.org/licenses/by/"),
        ("This work is released under CC0.", "https://creativecommons.org/publicdomain/zero/1.0/"),
        ("License: Apache-2.0", "https://spdx.org/licenses/Apache-2.0.html"),
        ("License: MIT\n\nThis text is licensed under CC BY 4.0.", ""),
        ("No word about it.", ""),
    ],
)
def test_a_text_with_one_licence_gives_its_url(text: str, url: str):
    assert stated_license_url(text) == url


@pytest.mark.parametrize(
    "unit", ["licensed under ", "cc by ", "this work ", "GPL ", "public domain ", "license \n", "i"]
)
def test_time_grows_with_the_length_alone(unit: str):
    text = "license " + unit * (300_000 // len(unit))
    began = time.process_time()
    statements(text)
    assert time.process_time() - began < 5
