"""The rules that `SignalSettings` switches on, in their order: cheap ones first, masking last."""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, get_args

from thresher.filters.signals import signal_thresholds  # noqa: F401 - it registers functions
from thresher.filters.signals.classifier_rule import ClassifierRule
from thresher.filters.signals.contamination import ContaminationRule, KnownHashes
from thresher.filters.signals.licenses import LicenseRule
from thresher.filters.signals.perplexity import HEAD, MAX_PERPLEXITY, PerplexityRule
from thresher.filters.signals.pii import PiiMasking
from thresher.filters.signals.pseudonyms import KINDS
from thresher.filters.signals.signal_settings import Bucket, SignalSettings
from thresher.filters.signals.word_lists import Phrases, WordListRule
from thresher.filters.text import Rule


class SignalFiles(Protocol):
    """The stored files. A rule asks for one whenever it measures a text."""

    def word_lists(self, name: str) -> Mapping[str, Phrases]:
        """Return the phrases of word lists by language."""
        ...

    def ngrams(self, name: str) -> KnownHashes:
        """Return the hashes of the n-grams of benchmarks."""
        ...

    def classifier(self, name: str) -> Callable[[str, str], float]:
        """Return a function of a text and a label: the score of the label."""
        ...

    def scorer(self, name: str) -> Callable[[str], float]:
        """Return a function of a line: the log10 of its probability."""
        ...

    def pieces(self, name: str) -> Callable[[str], list[str]]:
        """Return a function of a line: its pieces."""
        ...


def signal_rules(settings: SignalSettings, files: SignalFiles | None) -> tuple[Rule, ...]:
    """Return the rules. The paths in `settings` are names of stored files. Without `files` no text can be measured."""
    return tuple(_rules(settings, files or _NoFiles()))


def every_signal_rule() -> tuple[Rule, ...]:
    """Return every rule on signals with its default thresholds. None of them can measure a text: they decide by stored
    measurements.
    """
    named = SignalSettings(
        licenses=("CC0-1.0",),
        word_lists="-",
        benchmarks=("-",),
        toxicity_model="-",
        quality_model="-",
        perplexity_model="-",
        mask=KINDS,
    )
    return signal_rules(named, None)


class _NoFiles:
    """What rules have that decide by stored measurements, or only say their recipes."""

    def word_lists(self, name: str) -> Mapping[str, Phrases]:
        raise LookupError(name)

    def ngrams(self, name: str) -> KnownHashes:
        raise LookupError(name)

    def classifier(self, name: str) -> Callable[[str, str], float]:
        raise LookupError(name)

    def scorer(self, name: str) -> Callable[[str], float]:
        raise LookupError(name)

    def pieces(self, name: str) -> Callable[[str], list[str]]:
        raise LookupError(name)


def _rules(settings: SignalSettings, files: SignalFiles) -> Iterator[Rule]:
    if settings.licenses:
        yield LicenseRule(wanted=settings.licenses)
    if settings.word_lists:
        yield WordListRule(
            lists=settings.word_lists, most=settings.max_listed_words, phrases=files.word_lists
        )
    if settings.benchmarks:
        yield ContaminationRule(
            benchmarks=settings.benchmarks[0],
            n=settings.benchmark_words,
            most=settings.max_contamination,
            hashes=files.ngrams,
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
            models=settings.perplexity_models,
            ends=settings.bucket_ends,
            least=settings.min_perplexity,
            most=settings.max_perplexity or MAX_PERPLEXITY,
            most_bucket=HEAD + get_args(Bucket).index(settings.max_perplexity_bucket),
            scorer=files.scorer,
            pieces=files.pieces,
        )
    if settings.mask:
        yield PiiMasking(kinds=settings.mask, regions=settings.mask_regions, key=settings.key)
