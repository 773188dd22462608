"""Settings that have every signal measured."""

from thresher.filters.signals.pseudonyms import KINDS
from thresher.filters.signals.signal_settings import PerplexityModel, SignalSettings

EVERY_SIGNAL = SignalSettings(
    licenses=("CC-BY",),
    word_lists="w",
    benchmarks=("b",),
    toxicity_model="t",
    quality_model="q",
    perplexity_model="p",
    perplexity_models=(PerplexityModel("", "p"),),
    mask=KINDS,
)
