"""Words of URLs, lengths, code, boilerplate, and FineWeb-2's limits by language."""

import pytest

from thresher.filters.rules.addresses import UrlWords
from thresher.filters.rules.boilerplate import Boilerplate
from thresher.filters.rules.code_lines import CodeLines
from thresher.filters.rules.lengths import Length
from thresher.filters.rules.presets import preset_rules
from thresher.filters.text import AnalyzedText


def text(body="", url="", language="en"):
    return AnalyzedText(text=body, language=language, language_score=1.0, url=url)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://example.org/a/page", None),
        ("https://bad.example.org/", "hard_word"),
        ("https://example.org/badminton", None),
        ("https://example.org/soft/page", None),
        ("https://example.org/soft-cushion", "soft_words"),
        ("https://aw-ful.example.org/", "part_of_word"),
        ("https://example.org/AWFUL", "part_of_word"),
        ("", None),
    ],
)
def test_words_of_a_url(url, reason):
    rule = UrlWords(hard=("bad",), soft=("soft", "cushion"), parts=("awful",))
    assert rule(text(url=url)).reason == reason


def test_without_words_every_url_is_kept():
    assert UrlWords()(text(url="https://example.org/")).reason is None


def test_lengths():
    rule = Length(fewest_characters=10, most_characters=30, fewest_words=2, most_words=4)
    reasons = [
        rule(text(body)).reason
        for body in ("short", "a" * 31, "oneverylongword", "a b c d e f g", "just right now")
    ]
    assert reasons == ["too_few_characters", "too_many_characters", "too_few_words", "too_many_words", None]


CODE = (
    "import os\n\ndef main(argv):\n    if (x) {\n        return y;\n    }\nfor (int i = 0; i < 3; i++) {\n}"
)
PROSE = "It rained all day, and the boats lay on the stones.\nNobody came (it was cold), so we left.\nHe said: go home."


def test_code_and_prose():
    assert CodeLines()(text(CODE)).reason == "too_much_code"
    assert CodeLines()(text(PROSE)).measurements["code_characters"] == 0
    assert CodeLines(least=0.1, most=1.0)(text(PROSE)).reason == "too_little_code"


def test_boilerplate_goes_and_a_page_of_it_is_dropped():
    body = f"{PROSE}\nCopyright 2020. All rights reserved.\nFollow  us on Facebook"
    finding = Boilerplate()(text(body))
    assert text(body).edited(finding.edits).text == PROSE
    assert finding.reason is None
    assert finding.measurements["boilerplate_lines"] == pytest.approx(2 / 5)
    assert (
        Boilerplate()(text(f"{PROSE}\n\nBack to top\n\nLeave a comment\nAdd to cart")).reason
        == "too_much_boilerplate"
    )
    assert Boilerplate()(text(PROSE)).edits == ()
    long = " ".join(["word"] * 30) + " all rights reserved"
    assert Boilerplate()(text(long)).edits == ()


def test_fineweb2_has_limits_for_each_language():
    rules = {rule.name: rule for rule in preset_rules("fineweb2", [])}
    assert list(rules) == ["gopher_repetition", "fineweb", "gopher_quality"]
    german = (
        "Und der Fluss war im Sommer niedrig und die Boote lagen auf den Steinen, bis der Regen kam. " * 3
    )
    words = "wort baum haus stein fluss berg feld wald see meer " * 6
    assert rules["gopher_quality"](text(german, language="de")).reason is None
    assert rules["gopher_quality"](text(words, language="de")).reason == "too_few_stop_words"
    assert rules["gopher_quality"](text(words, language="xx")).reason is None
    assert rules["gopher_quality"].recipe["by_language"]["de"]["longest_mean"] == 15
