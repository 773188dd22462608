"""Check before the extraction whether a page is entirely in languages that nobody wants.

A page is dropped only if every window of its text is recognised as such a language with a score of `MIN_SCORE` or more.
A page without any window is kept. So a menu, a footer or a paragraph in a wanted language saves a page. The language
filter judges its main text after the extraction.
"""

from collections.abc import Sequence
from functools import cache

from thresher.extract.raw_text import declared_language, page_windows
from thresher.filters.models.language import LanguageModel, Recogniser, load_language_model
from thresher.filters.models.language_codes import canonical, group_of
from thresher.filters.models.language_ensemble import Reading, read, sure_answer, unsure_answer

MIN_SCORE = 0.9
"""Minimum score of a window, and minimum share of it that is in that language. The language filter itself keeps a text
from lower scores (`filters.models.language_thresholds`)."""


def is_other_language(windows: Sequence[str], languages: tuple[str, ...]) -> bool:
    """Return whether all windows of a page (`extract.raw_text`) are in other languages; False if it has no window.

    A language that models confuse with a wanted one is not another language. All models are asked about a window only
    if CLD2, which is ten times as fast, is sure of no window in a wanted language.
    """
    kept = frozenset().union(*(group_of(canonical(code)) for code in languages))

    def is_other(answer: tuple[str, float, float]) -> bool:
        code, score, share = answer
        return code not in kept and score >= MIN_SCORE and share >= MIN_SCORE

    unsure: list[Reading] = []
    # Windows in the middle come first: most pages begin and end with menus.
    middle = len(windows) // 2
    for number in sorted(range(len(windows)), key=lambda number: abs(number - middle)):
        reading = read(windows[number])
        answer = sure_answer(reading)
        if answer is None:
            unsure.append(reading)
        elif not is_other(answer):
            return False
    return bool(windows) and all(is_other(unsure_answer(reading)) for reading in unsure)


def language_precheck(wanted: tuple[str, ...], html: str) -> str | None:
    """Return why a page can be dropped before its extraction, or None.

    A page that declares a wanted language is not checked: if the declaration is wrong, the filters see it in the text.
    """
    if canonical(declared_language(html)) in map(canonical, wanted):
        return None
    return "other_language" if is_other_language(page_windows(html), wanted) else None


@cache
def cached_recogniser(model: LanguageModel) -> Recogniser:
    """Return the language recogniser of this process."""
    return load_language_model(model)
