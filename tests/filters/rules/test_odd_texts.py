"""Odd texts get a verdict from every rule, in bounded time and memory."""

import time
import tracemalloc
from types import SimpleNamespace

import pytest

from filters import judge
from filters.edits import apply
from filters.models.language import LanguagePrediction
from filters.rules.chosen_rules import RULES
from filters.rules.presets import PRESETS, preset_rules
from filters.text import AnalyzedText

ODD = {
    "empty": "",
    "blank": " \t\n\u2003\n",
    "emoji": "😀🎉👩‍👩‍👧 " * 200,
    "emoji in one run": "😀" * 3000,
    "right to left": "\u200fكان النهر منخفضا في الصيف، وكانت القوارب على الحجارة.\n" * 9,
    "chinese": "夏天河水很低，船停在石头上，直到雨又来了。\n" * 9,
    "thai": "แม่น้ำตื้นในฤดูร้อนและเรือจอดอยู่บนก้อนหินจนกว่าฝนจะกลับมา\n" * 9,
    "nul": "a\x00b \x00\x00 c.\n" * 50,
    "lone surrogates": "half \ud800 of a \udfff pair.\n" * 20,
    "marks": "\u0301" * 500 + " e" + "\u0301" * 500,
    "brackets": "([{" * 2000,
    "dots": "." * 5000 + "\n" + "…" * 5000,
    "apostrophes": "'’" * 4000,
    "at signs": "a@" * 900 + ".b@" * 900,
    "slashes": "http://" * 200,
    "line separators": "one two three.\u2028four five six.\x85seven eight nine.\x0b" * 9,
    "many breaks": "\n" * 9000,
}


def verdict(body, rules, language="en"):
    document = SimpleNamespace(id="0", text=body, url="https://example.org/")
    return judge(document, LanguagePrediction(code=language, score=1.0), rules)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("language", ["en", "zh", ""])
def test_every_rule_finds_something_about_an_odd_text(name, language):
    text = AnalyzedText(text=ODD[name], language=language, language_score=1.0)
    for kind in RULES.values():
        finding = kind()(text)
        assert all(value == value for value in finding.measurements.values()), kind.name
        assert text.edited(finding.edits).text == apply(ODD[name], finding.edits)


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_judges_an_odd_text(name, preset):
    found = verdict(ODD[name], preset_rules(preset, []))
    assert found.keep == (found.reason == "")
    apply(ODD[name], found.edits)


def large(kind):
    return {
        "one word": lambda: "a" * 10**8,
        "one line": lambda: "some words and others, " * (10**8 // 23),
        "one line of brackets": lambda: "(" * 10**8,
        "one line of emoji": lambda: "😀" * 10**7,
        "different words": lambda: " ".join(map(str, range(3_000_000))),
        "tiny lines": lambda: "ab\n" * 10**6,
        "tiny sentences": lambda: "".join(f"It is {n}.\n" for n in range(10**6)),
    }[kind]()


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        "one word", "one line", "one line of brackets", "one line of emoji", "different words", "tiny lines", "tiny sentences",
    ],
)  # fmt: skip
def test_a_large_text_takes_bounded_time_and_memory(kind):
    text = large(kind)
    rules = [made() for made in RULES.values()]
    tracemalloc.start()
    try:
        for rule in rules:
            begun = time.process_time()
            finding = rule(AnalyzedText(text=text, language="en", language_score=1.0))
            assert set(finding.measurements) <= set(rule.measures)
            # With memory traced, all takes several times as long.
            assert time.process_time() - begun < 240, rule.name
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 12 * len(text.encode()) + 600e6
