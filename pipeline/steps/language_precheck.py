"""Check before the extraction whether a page is entirely in languages that nobody wants.

A page is dropped only if every window of its text is recognised as such a language with a score of `MIN_SCORE` or more.
A page without any window is kept. So a menu, a footer or a paragraph in a wanted language saves a page. The language
filter judges its main text after the extraction.
"""

from collections.abc import Callable, Iterable
from functools import cache

from filters.models.language import LanguagePrediction, load_language_model

MIN_SCORE = 0.9
"""Minimum score of a window. The language filter itself keeps a text from a score of 0.65."""


def is_other_language(windows: Iterable[str], languages: tuple[str, ...]) -> bool:
    """Return whether all windows of a page (`extract.raw_text`) are in other languages; False if it has no window."""
    recognise = cached_recogniser()
    is_other = False
    for window in windows:
        found = recognise(window)
        is_other = found.code not in languages and found.score >= MIN_SCORE
        if not is_other:
            break
    return is_other


@cache
def cached_recogniser() -> Callable[[str], LanguagePrediction]:
    """Return the language recogniser of this process."""
    return load_language_model()
