"""Odd texts get a verdict from every rule, in bounded time and memory."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.filters.odd_texts import LARGE, ODD
from thresher.filters.edits import apply
from thresher.filters.judge import judge
from thresher.filters.models.language import LanguagePrediction
from thresher.filters.rules.chosen_rules import RULES
from thresher.filters.rules.presets import PRESETS, preset_rules
from thresher.filters.text import AnalyzedText


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
from thresher.filters.rules.chosen_rules import RULES
from thresher.filters.text import AnalyzedText
from tests.filters.odd_texts import LARGE, ODD
text = eval(sys.argv[1])
for kind in RULES.values():
    begun = time.process_time()
    finding = kind()(AnalyzedText(text=text, language="en", language_score=1.0))
    assert set(finding.measurements) <= set(kind.measures)
    print(kind.name, time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_a_large_text_takes_bounded_time_and_memory(name):
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, LARGE[name]], stdout=subprocess.PIPE, text=True, check=True
    )
    for line in process.stdout.splitlines():
        rule, seconds, peak_mb = line.split()
        assert float(seconds) < 120, rule
        assert float(peak_mb) < 3000, rule
