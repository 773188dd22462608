"""Gopher's rules, at their limits."""

import json
from types import SimpleNamespace

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.shared import shared_file
from thresher.core import InputError
from thresher.filters.judge import judge
from thresher.filters.models.language import LanguagePrediction
from thresher.filters.ngrams import REPEATED_LENGTHS, TOP_LENGTHS
from thresher.filters.rules.dclm import DclmRepetition
from thresher.filters.rules.gopher import GopherQuality, GopherRepetition
from thresher.filters.rules.presets import preset_rules
from thresher.filters.text import AnalyzedText

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in ("nd", "rt", "lk", "mp")]


def text(body, language="en"):
    return AnalyzedText(text=body, language=language, language_score=1.0)


def prose(count, tail="the of"):
    """So many different words, stop words among them."""
    words = [*tail.split(), *WORDS, *(f"{word}er" for word in WORDS), *(f"{word}ing" for word in WORDS)]
    return " ".join(words[:count])


def quality(body, language="en"):
    return GopherQuality()(text(body, language)).reason


def repetition(body):
    return GopherRepetition()(text(body)).reason


@pytest.mark.parametrize(("count", "reason"), [(49, "too_few_words"), (50, None)])
def test_fifty_words_are_enough(count, reason):
    assert quality(prose(count)) == reason


def test_a_hundred_thousand_words_are_the_most():
    assert quality("word the of " * 33_333 + "word") is None
    assert quality("word the of " * 33_334) == "too_many_words"


@pytest.mark.parametrize(
    ("word", "reason"), [("ab", "short_words"), ("abc", None), ("a" * 10, None), ("a" * 11, "long_words")]
)
def test_words_are_three_to_ten_letters_long_on_average(word, reason):
    assert GopherQuality()(text(" ".join([word] * 60), "de")).reason == reason


def test_hashes_and_ellipses_are_at_most_a_tenth_of_the_words():
    body = prose(60)
    assert quality(body + " #" * 6) is None
    assert quality(body + " #" * 7) == "too_many_hashes"
    assert quality(body + " ..." * 6 + " end") is None
    assert quality(body + " …" * 7 + " end") == "too_many_ellipses"


def test_lines_that_are_bullets_or_cut_off():
    words = prose(100).split()
    bullets = "\n".join(f"- {' '.join(words[n : n + 10])}" for n in range(0, 100, 10))
    assert quality(bullets) == "too_many_bullets"
    assert quality(bullets + "\nthe end of it\nand that is all") is None  # 10 of 12
    cut = "\n".join(" ".join(words[n : n + 10]) + "..." for n in range(0, 100, 10))
    assert quality(cut) == "too_many_cut_lines"


def test_four_words_of_five_have_a_letter():
    letters, numbers = prose(80), " ".join(str(1000 + n) for n in range(20))
    assert quality(f"{letters} {numbers}") is None
    assert quality(f"{letters} {numbers} 2000") == "too_few_letters"


def test_two_distinct_stop_words_in_english_only():
    assert quality(prose(60, tail="the the")) == "too_few_stop_words"
    assert quality(prose(60, tail="the of")) is None
    assert quality(prose(60, tail="der die"), "de") is None


def test_stop_words_of_an_unknown_language_only_where_all_are_english():
    body = prose(60, tail="the the")
    for languages, asked in ((["en"], True), (["en", "de"], False), ([], False)):
        (rule,) = (rule for rule in preset_rules("gopher", languages) if isinstance(rule, GopherQuality))
        assert (rule(text(body, "")).reason == "too_few_stop_words") is asked


def test_symbols_are_no_words_but_count_where_words_are_counted_by():
    measured = GopherQuality()(text("one two . . ! !")).measurements
    assert measured["words"] == 2
    assert measured["words_with_letter"] == 2 / 6


@pytest.mark.parametrize(
    "declaration", ["cmn_hans", "jpn", "tha", "khm", "lao", "hin", "ben", "tam", "kor", "arb"]
)
@pytest.mark.shared
def test_prose_in_any_script_passes(declaration):
    with shared_file("langid/udhr2.jsonl.zst").open("rb") as file:
        raw = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(file).read().decode()
    rows = [json.loads(line) for line in raw.split("\n") if line]
    body = "\n".join(row["text"] for row in rows if row["udhr"] == declaration)
    verdict = judge(
        SimpleNamespace(id="0", text=body, url="", license=""),  # type: ignore[arg-type]
        LanguagePrediction(code="", score=1),
        preset_rules("gopher", []),
    )
    assert (verdict.rule, verdict.reason) == ("", "")


def test_repeated_lines_and_paragraphs():
    line = "Everyone knows this line by heart."
    other = prose(100).split()
    lines = [" ".join(other[n : n + 10]) for n in range(0, 70, 10)]
    assert repetition("\n".join(lines)) is None
    assert repetition("\n".join([*lines[:5], *[line] * 5])) == "repeated_lines"
    assert repetition("\n\n".join([*lines[:5], *[line] * 5])) == "repeated_paragraphs"


def test_repeated_n_grams():
    once = prose(120)
    assert repetition(once) is None
    assert repetition(f"{once} {' '.join(once.split()[:60])}").startswith("repeated_")
    assert repetition("buy cheap " * 50) == "top_2_gram"


def test_texts_of_a_few_words_are_dropped_as_datatrove_drops_them():
    assert repetition("two words") == "top_2_gram"
    assert repetition("") == "empty"


def test_a_large_text_is_measured_up_to_a_million_tokens(monkeypatch):
    monkeypatch.setattr("thresher.filters.text.MAX_NUMBERED", 500)
    monkeypatch.setattr("thresher.filters.rules.gopher.MAX_NUMBERED", 500)
    monkeypatch.setattr("thresher.filters.text.PIECE", 1000)
    once, twice = prose(480), f"{prose(480)} {prose(480)}"
    assert repetition(once) is None
    assert repetition(twice) is None
    monkeypatch.undo()
    assert repetition(twice) == "repeated_5_grams"


@given(st.text(max_size=2000))
def test_any_text_is_judged_and_ratios_are_ratios(body):
    for rule in (GopherQuality(), GopherRepetition()):
        finding = rule(text(body))
        assert set(finding.measurements) <= set(rule.measures)
        if finding.reason is None:
            assert set(finding.measurements) == set(rule.measures)
    measured = GopherRepetition()(text(body)).measurements
    assert all(value >= 0 for value in measured.values())
    # Occurrences of a most frequent n-gram overlap, and are counted whole, as in datatrove: `: : :` is 2 x `: :`.
    assert all(value <= 1 for name, value in measured.items() if not name.startswith("top_"))


@pytest.mark.parametrize("rule", [GopherRepetition, DclmRepetition])
@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_limit_belongs_to_its_length_whatever_other_limits_there_are(rule, language):
    """A rule with one limit measures what the rule with all limits measures of the same n-grams."""
    words = (
        "今日は学校に行きました。" * 9
        if language == "ja"
        else "one two three four five six seven eight nine ten " * 9
    )
    body = text(words + prose(30), language)
    least = {"lines": 9.0, "paragraphs": 9.0, "line_characters": 9.0, "paragraph_characters": 9.0}
    every = tuple((n, 9.0) for n in REPEATED_LENGTHS)
    whole = rule(top=tuple((n, 9.0) for n in TOP_LENGTHS), repeated=every, **least)(body).measurements
    for n in (2, 3, 4):
        found = rule(top=((n, 9.0),), repeated=(), **least)(body).measurements
        assert {name: value for name, value in found.items() if "gram" in name}.items() <= whole.items()
        assert any(f"top_{n}_gram" in name for name in found)
    for n in (5, 8, 10):
        found = rule(top=(), repeated=((n, 9.0),), **least)(body).measurements
        assert [name for name in found if "gram" in name] == [
            name for name in whole if f"repeated_{n}_gram" in name
        ]
        assert found.items() <= whole.items()
    assert not any("gram" in name for name in rule(top=(), repeated=(), **least)(body).measurements)


@pytest.mark.parametrize(
    "limits",
    [{"top": [[5, 0.1]]}, {"top": [[2, 0.1], [2, 0.2]]}, {"repeated": [[0, 0.1]]}, {"repeated": [[-1, 0.1]]}],
)
@pytest.mark.parametrize("name", ["gopher_repetition", "dclm_repetition"])
def test_a_limit_for_a_length_that_is_not_measured_is_refused(name, limits):
    (key,) = limits
    with pytest.raises(InputError, match=f"{name}: `{key}` must have pairs of a length and a limit") as error:
        preset_rules("none", [], [json.dumps({"rule": name, **limits})])
    assert "\n" not in str(error.value)
