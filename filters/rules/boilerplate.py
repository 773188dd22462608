"""`Boilerplate`: remove the lines that pages repeat around their text, and drop pages that are little else.

A line of at most `longest_line` words goes if it has one of the phrases: notices of rights, cookies and policies, calls
to subscribe, share, log in or comment. NeMo Curator drops a page if more than 40 % of its paragraphs have such phrases;
that limit is the default here, for lines.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, ClassVar

from thresher.core.unicode14 import known
from thresher.filters.edits import keeping, stripped
from thresher.filters.text import AnalyzedText, Finding

PHRASES = (
    *("all rights reserved", "terms of use", "terms of service", "terms and conditions", "privacy policy"),
    *(
        "cookie policy",
        "uses cookies",
        "use of cookies",
        "use cookies",
        "accept all cookies",
        "powered by wordpress",
    ),
    *(
        "subscribe to our newsletter",
        "sign up for our newsletter",
        "enter your email address",
        "follow us on",
    ),
    *("share this article", "share on facebook", "share on twitter", "leave a comment", "leave a reply"),
    *("log in to comment", "your email address will not be published", "skip to main content", "back to top"),
    *(
        "click here to read more",
        "continue reading",
        "javascript is disabled",
        "enable javascript",
        "add to cart",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Boilerplate:
    """Remove boilerplate lines; drop a page if they are more than `most` of its lines."""

    phrases: tuple[str, ...] = PHRASES
    longest_line: int = 25
    most: float = 0.4

    name: ClassVar[str] = "boilerplate"
    measures: ClassVar[tuple[str, ...]] = ("boilerplate_lines",)

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Every parameter."""
        return {**asdict(self), "phrases": list(self.phrases)}

    def __call__(self, text: AnalyzedText) -> Finding:
        """Remove the lines, and measure their share."""
        pattern = _pattern(self.phrases)
        if pattern is None or pattern.search(text.known) is None:
            return Finding(measurements={"boilerplate_lines": 0.0}, reason=None)
        kept: list[tuple[int, int]] = []
        count = start = 0
        for line in text.known.split("\n"):
            if line.strip():
                count += 1
            is_short = len(line.split(None, self.longest_line)) <= self.longest_line
            if not (is_short and pattern.search(line)):
                kept.append((start, start + len(line)))
            start += len(line) + 1
        share = 1 - (len(kept) - (text.text.count("\n") + 1 - count)) / max(count, 1)
        return Finding(
            measurements={"boilerplate_lines": share},
            reason="too_much_boilerplate" if share > self.most else None,
            edits=stripped(text.text, tuple(keeping(text.text, kept, "\n"))) if share else (),
        )


@lru_cache(maxsize=8)
def _pattern(phrases: tuple[str, ...]) -> re.Pattern[str] | None:
    words = [re.escape(known(phrase)).replace(r"\ ", r"[^\S\n]+") for phrase in phrases if phrase.strip()]
    return re.compile("|".join(words), re.IGNORECASE) if words else None
