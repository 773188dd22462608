"""The rules that `SignalSettings` switches on, in their order: cheap ones first, masking last."""

from collections.abc import Callable, Iterator
from typing import Protocol

from filters.signals.classifier_rule import ClassifierRule
from filters.signals.contamination import ContaminationRule
from filters.signals.licenses import LicenseRule
from filters.signals.perplexity import PerplexityRule
from filters.signals.pii import PiiMasking
from filters.signals.signal_settings import SignalSettings
from filters.signals.word_lists import WordListRule
from filters.text import Rule

RULE_NAMES = ("license", "word_list", "contamination", "toxicity", "quality", "perplexity", "pii")
"""Names of these rules; no rule of a user may have one of them."""


class SignalFiles(Protocol):
    """The stored files. A rule asks for one when it measures its first text, so recipes need none."""

    def read(self, name: str) -> bytes:
        """Return the bytes of a file."""
        ...

    def classifier(self, name: str) -> Callable[[str, str], float]:
        """Return a function of a text and a label: the score of the label."""
        ...

    def scorer(self, name: str) -> Callable[[str], float]:
        """Return a function of a line: the log10 of its probability."""
        ...


def signal_rules(settings: SignalSettings, files: SignalFiles) -> tuple[Rule, ...]:
    """Return the rules. The paths in `settings` are names of stored files."""
    return tuple(_rules(settings, files))


def _rules(settings: SignalSettings, files: SignalFiles) -> Iterator[Rule]:
    if settings.licenses:
        yield LicenseRule(wanted=settings.licenses)
    if settings.word_lists:
        yield WordListRule(lists=settings.word_lists, most=settings.max_listed_words, read=files.read)
    if settings.benchmarks:
        yield ContaminationRule(
            benchmarks=settings.benchmarks[0],
            n=settings.benchmark_words,
            most=settings.max_contamination,
            read=files.read,
        )
    if settings.toxicity_model:
        yield ClassifierRule(
            name="toxicity",
            model=settings.toxicity_model,
            label=settings.toxicity_label,
            most=settings.max_toxicity,
            classifier=files.classifier,
        )
    if settings.quality_model:
        yield ClassifierRule(
            name="quality",
            model=settings.quality_model,
            label=settings.quality_label,
            least=settings.min_quality,
            classifier=files.classifier,
        )
    if settings.perplexity_model:
        yield PerplexityRule(
            model=settings.perplexity_model,
            cuts=settings.perplexity_cuts,
            keep=settings.perplexity_keep,
            scorer=files.scorer,
        )
    if settings.mask:
        yield PiiMasking(kinds=settings.mask, regions=settings.mask_regions, key=settings.key)
