"""Words in a document's URL, as FineWeb and RefinedWeb block them (arXiv:2306.01116, section G.1).

The words are parameters, because published lists belong to others: `hard` words block a URL that has one of them
between characters that are no letters or digits, `soft` words if at least `fewest_soft` different ones occur, and
`parts` wherever they occur, also across such characters. Case is as in datatrove's `URLFilter`: `hard` and `soft` words
are compared as they are in the URL, `parts` in lower case. Lists of domains and of addresses are `filters.blocklist`.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, ClassVar

from thresher.filters.text import AnalyzedText, Finding

_BETWEEN = re.compile(r"[^a-zA-Z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlWords:
    """Drop documents whose URL has unwanted words."""

    hard: tuple[str, ...] = ()
    soft: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    fewest_soft: int = 2

    name: ClassVar[str] = "url_words"
    measures: ClassVar[tuple[str, ...]] = ("url_soft_words",)

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Every parameter."""
        return {
            key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()
        }

    def __call__(self, text: AnalyzedText) -> Finding:
        """Count the words, and name the kind that blocks the URL."""
        words = set(_BETWEEN.split(text.url))
        soft = len(words & _normalized(self.soft))
        limits = (
            (not words.isdisjoint(_normalized(self.hard)), "hard_word"),
            (soft >= self.fewest_soft, "soft_words"),
            (bool(self.parts) and _any_of(self.parts).search(_normal(text.url)) is not None, "part_of_word"),
        )
        reason = next((reason for is_blocked, reason in limits if is_blocked), None)
        return Finding(measurements={"url_soft_words": float(soft)}, reason=reason)


def _normal(text: str) -> str:
    return _BETWEEN.sub("", text).lower()


@lru_cache(maxsize=8)
def _normalized(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(_normal, words)) - {""}


@lru_cache(maxsize=8)
def _any_of(parts: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(_normalized(parts)))) or r"(?!)")
