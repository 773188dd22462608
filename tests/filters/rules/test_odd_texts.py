"""Odd texts get a verdict from every rule, in bounded time and memory."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from filters.edits import apply
from filters.judge import judge
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
    document = SimpleNamespace(id="0", text=body, url="https://example.org/", license="")
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


PROGRAM = """
import resource, sys, time
from filters.rules.chosen_rules import RULES
from filters.text import AnalyzedText
text = eval(sys.argv[1])
for kind in RULES.values():
    begun = time.process_time()
    finding = kind()(AnalyzedText(text=text, language="en", language_score=1.0))
    assert set(finding.measurements) <= set(kind.measures)
    print(kind.name, time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "expression",
    [
        "'a' * 10**8",
        "'some words and others, ' * (10**8 // 23)",
        "'(' * 10**8",
        "'\\U0001f600' * 10**7",
        "' '.join(map(str, range(3_000_000)))",
        "'ab\\n' * 10**6",
        "''.join(f'It is {n}.\\n' for n in range(3 * 10**5))",
    ],
)
def test_a_large_text_takes_bounded_time_and_memory(expression):
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, expression], stdout=subprocess.PIPE, text=True, check=True
    )
    for line in process.stdout.splitlines():
        name, seconds, peak_mb = line.split()
        assert float(seconds) < 120, name
        assert float(peak_mb) < 3000, name
