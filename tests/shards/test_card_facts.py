"""What the cards of a dataset say of languages, licences and filters."""

import pytest

from thresher.shards.card_facts import OTHERS, CardFacts


def facts(languages=None, licenses=None, stages=()):
    contents = {"language": languages or {}, "license": licenses or {}}
    return CardFacts(id_bytes=2, contents=contents, stages=stages)


def test_languages_stand_in_the_order_of_their_documents():
    found = facts({"de": 3, "en": 7, "": 2, OTHERS: 9})
    assert found.languages == ("en", "de")
    assert found.front_matter == "language:\n- en\n- de\nlicense: unknown\n"
    assert "| en | 7 |\n| de | 3 |\n| (none) | 2 |\n| (others) | 9 |\n" in found.sections


@pytest.mark.parametrize(
    ("licenses", "name"),
    [
        ({}, "unknown"),
        ({"": 5}, "unknown"),
        ({"https://creativecommons.org/licenses/by-sa/4.0/": 5}, "cc-by-sa-4.0"),
        ({"http://creativecommons.org/publicdomain/zero/1.0/": 5}, "cc0-1.0"),
        ({"MIT": 5}, "mit"),
        ({"MIT": 5, "": 1}, "other"),
        ({"MIT": 5, "Apache-2.0": 1}, "other"),
        ({"a licence of our own": 5}, "other"),
    ],
)
def test_a_licence_is_named_only_if_all_documents_have_it(licenses, name):
    assert facts(licenses=licenses).license_name == name


def test_words_of_strangers_stay_within_their_cell():
    found = facts(licenses={"<b>a</b>|b\n| c `x`": 1})
    assert "| &lt;b>a&lt;/b>\\|b \\| c 'x' | 1 |\n" in found.sections


def test_filters_are_listed_with_what_they_left_out():
    stages = [{"stage": "rights/noai", "documents": 1000, "share": 0.25}]
    assert "| rights/noai | 1,000 | 25.00% |\n" in facts(stages=stages).sections
    assert "![Records that each filter left out](funnel.svg)" in facts(stages=stages).sections
    assert list(facts(stages=stages).pictures) == ["funnel.svg"]
    assert CardFacts(id_bytes=2).pictures == {}
    assert CardFacts(id_bytes=2).sections == CardFacts(id_bytes=2).front_matter == ""
