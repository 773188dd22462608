"""Odd texts get a measurement from every signal, in bounded time and memory."""

import io
import math
import subprocess
import sys

import pytest

from tests.filters.odd_texts import LARGE, ODD
from tests.filters.signals.every_signal import EVERY_SIGNAL
from thresher.filters.edits import apply
from thresher.filters.signals.contamination import KnownHashes, benchmark_hashes
from thresher.filters.signals.fasttext_file import load_classifier
from thresher.filters.signals.kenlm_file import load_pieces, load_scorer
from thresher.filters.signals.signal_rules import signal_rules
from thresher.filters.signals.signal_settings import BucketEnds, PerplexityModel, SignalSettings
from thresher.filters.signals.word_lists import Phrases
from thresher.filters.text import AnalyzedText, Rule
from thresher.filters.training.classifier_training import TrainingOptions, train_classifier
from thresher.filters.training.kneser_ney import train_perplexity
from thresher.filters.training.piece_training import train_pieces


class Files:
    """Small stored files of every kind."""

    def __init__(self) -> None:
        examples = [(label, f"{label} words of day {n}") for label in ("toxic", "good") for n in range(99)]
        options = TrainingOptions(dimensions=4, buckets=100, epochs=2)
        self._classifier = load_classifier(train_classifier(examples, options))
        arpa = io.BytesIO()
        train_perplexity([f"the cat sat on the mat in room {n % 7}" for n in range(50)], 3, arpa)
        self._scorer = load_scorer(arpa.getvalue())
        self._pieces = load_pieces(train_pieces(["the cat sat on the mat in room 0"], 30))
        sentence = "which of the following animals lays its eggs in the nests of other birds and never more"
        self._ngrams = KnownHashes(benchmark_hashes([sentence], 13)[0])
        self._lists = {"": Phrases.of(["ass", "two words", "坏话"])}

    def word_lists(self, _: str) -> dict[str, Phrases]:
        return self._lists

    def ngrams(self, _: str) -> KnownHashes:
        return self._ngrams

    def classifier(self, _: str):
        return self._classifier

    def scorer(self, _: str):
        return self._scorer

    def pieces(self, _: str):
        return self._pieces


def every_signal() -> tuple[Rule, ...]:
    files = Files()
    over_pieces = SignalSettings(
        perplexity_model="p",
        perplexity_models=(PerplexityModel("", "p", "s"),),
        bucket_ends=(BucketEnds("en", 2.0, 3.0),),
    )
    return (*signal_rules(EVERY_SIGNAL, files), *signal_rules(over_pieces, files))


@pytest.fixture(scope="module")
def signals() -> tuple[Rule, ...]:
    return every_signal()


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("language", ["en", "zh", ""])
def test_every_signal_measures_an_odd_text(signals, name, language):
    text = AnalyzedText(text=ODD[name], language=language, language_score=1.0)
    assert len(signals) == 8
    for rule in signals:
        finding = rule(text)
        assert set(finding.measurements) <= set(rule.measures), rule.name
        assert all(map(math.isfinite, finding.measurements.values())), rule.name
        assert apply(ODD[name], finding.edits)[:1] == ODD[name][:1], rule.name


PROGRAM = """
import resource, sys, time
from thresher.filters.text import AnalyzedText
from tests.filters.signals.test_odd_signals import every_signal
signals = every_signal()
text = eval(sys.argv[1])
for rule in signals:
    begun = time.process_time()
    rule(AnalyzedText(text=text, language="en", language_score=1.0))
    print(rule.name, time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_a_large_text_takes_every_signal_bounded_time_and_memory(name):
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, LARGE[name]], stdout=subprocess.PIPE, text=True, check=True
    )
    measured = process.stdout.splitlines()
    assert len(measured) == 8
    for line in measured:
        rule, seconds, peak_mb = line.split()
        assert float(seconds) < 120, rule
        assert float(peak_mb) < 3000, rule
