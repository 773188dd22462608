"""Whether a page is foreign: all that a glance at it sees is surely in languages that nobody wants.

A page goes only if every window of its text is recognised as such a language, with `SURE` each, and there is text enough to be sure of. So a menu, a
footer or a paragraph in a wanted language saves a page; what its main text comes to is judged where it is extracted.
"""

from collections.abc import Callable, Iterable
from functools import cache

from filters.models.language import LanguagePrediction, load_language_model

MIN_SCORE = 0.9
"""Score of a window; what the language filter asks for before it keeps a text is 0.65."""


def is_other_language(windows: Iterable[str], languages: tuple[str, ...]) -> bool:
    """Of a page's windows (`extract.raw_text`); where there is none, nobody knows."""
    recognise = cached_recogniser()
    foreign = False
    for window in windows:
        found = recognise(window)
        foreign = found.code not in languages and found.score >= MIN_SCORE
        if not foreign:
            break
    return foreign


@cache
def cached_recogniser() -> Callable[[str], LanguagePrediction]:
    """The recogniser of this process."""
    return load_language_model()
