"""Check before the extraction whether a page is entirely in languages that nobody wants.

A page is dropped only if every window of its text is recognised as such a language with a score of `MIN_SCORE` or more.
A page without any window is kept. So a menu, a footer or a paragraph in a wanted language saves a page. The language
filter judges its main text after the extraction.
"""

from collections.abc import Iterable
from functools import cache

from filters.models.language import LanguageModel, Recogniser, load_language_model
from filters.models.language_codes import canonical, group_of

MIN_SCORE = 0.9
"""Minimum score of a window, and minimum share of it that is in that language. The language filter itself keeps a text
from lower scores (`filters.models.language_thresholds`)."""


def is_other_language(windows: Iterable[str], languages: tuple[str, ...]) -> bool:
    """Return whether all windows of a page (`extract.raw_text`) are in other languages; False if it has no window.

    A language that models confuse with a wanted one is not another language.
    """
    recognise = cached_recogniser("ensemble")
    kept = frozenset().union(*(group_of(canonical(code)) for code in languages))
    is_other = False
    for window in windows:
        found = recognise(window)
        is_other = found.code not in kept and found.score >= MIN_SCORE and found.share >= MIN_SCORE
        if not is_other:
            break
    return is_other


@cache
def cached_recogniser(model: LanguageModel) -> Recogniser:
    """Return the language recogniser of this process."""
    return load_language_model(model)
