"""Thresholds of the rules on signals, so that verdicts follow from stored measurements (`filters.thresholds`)."""

from dataclasses import replace

from thresher.filters.signals.classifier_rule import ClassifierRule
from thresher.filters.signals.contamination import ContaminationRule
from thresher.filters.signals.perplexity import PerplexityRule
from thresher.filters.signals.word_lists import WordListRule
from thresher.filters.thresholds import Threshold, thresholds_of


@thresholds_of.register
def _(rule: WordListRule) -> tuple[Threshold, ...]:
    return (_maximum("listed_words", "listed_words", rule.most),)


@thresholds_of.register
def _(rule: ContaminationRule) -> tuple[Threshold, ...]:
    return (_maximum("benchmark", "contaminated_ngrams", rule.most),)


@thresholds_of.register
def _(rule: ClassifierRule) -> tuple[Threshold, ...]:
    score = f"{rule.name}_score"
    return (
        _minimum(f"low_{rule.name}", score, rule.least),
        _maximum(f"high_{rule.name}", score, rule.most),
    )


@thresholds_of.register
def _(rule: PerplexityRule) -> tuple[Threshold, ...]:
    return (
        _minimum("low_perplexity", "perplexity", rule.least),
        _maximum("high_perplexity", "perplexity", rule.most),
        replace(
            _maximum("perplexity_bucket", "perplexity_bucket", rule.most_bucket), parameter="most_bucket"
        ),
    )


def _minimum(reason: str, measurement: str, value: float) -> Threshold:
    return Threshold(reason=reason, measurement=measurement, drops="<", value=value, parameter="least")


def _maximum(reason: str, measurement: str, value: float) -> Threshold:
    return Threshold(reason=reason, measurement=measurement, drops=">", value=value, parameter="most")
