"""A filter rule of your own: drop pages that want to sell something.

Put this file into the project's directory, name the rule in thresher.toml, and judge again:

    [filters]
    rules = ["own_rule:Selling"]

    thresher process --redo && thresher report

Your rules are asked behind those of the preset. `python own_rule.py FILE...` tries this one on text files.
"""

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from thresher import AnalyzedText, Finding

PHRASES = ("add to cart", "buy now", "free shipping", "in stock", "special offer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selling:
    """Drops a text in which phrases of shops are frequent. The fields are its parameters."""

    most_phrases_per_1000_words: float = 5.0

    name: ClassVar[str] = "selling"
    measures: ClassVar[tuple[str, ...]] = ("shop_phrases_per_1000_words",)

    @property
    def recipe(self) -> Mapping[str, Any]:
        """All that a verdict depends on. If it changes, what was judged before has to be judged again (`--redo`)."""
        return {**asdict(self), "phrases": PHRASES}

    def __call__(self, text: AnalyzedText) -> Finding:
        """Measure, and name a reason to drop the text; None keeps it. The same text must give the same finding."""
        lowered = text.text.lower()
        found = 1000 * sum(map(lowered.count, PHRASES)) / max(len(text.words), 1)
        return Finding(
            measurements={"shop_phrases_per_1000_words": found},
            reason="too_many_phrases" if found > self.most_phrases_per_1000_words else None,
        )


def main() -> None:
    """Show what the rule finds in each file."""
    for name in sys.argv[1:]:
        text = AnalyzedText(text=Path(name).read_text(encoding="utf-8"), language="en", language_score=1.0)
        finding = Selling()(text)
        print(f"{name}: {finding.reason or 'kept'} {dict(finding.measurements)}")


if __name__ == "__main__":
    main()
