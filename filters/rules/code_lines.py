"""`CodeLines`: the share of a text that is program code, by its lines.

A line is code if it ends as statements and blocks do (`;`, `{`, `}`, `);`, `=>`), or begins as they do (`import x`,
`def f(`, `#include`, `</`, `$ `). This is Thresher's own measure; C4 looks for a brace, and Dolma for repositories.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from thresher.core.unicode14 import known
from thresher.filters.text import AnalyzedText, Finding

MAX_LOOKED_AT = 200
"""Characters of a line that are searched: its start says what it is, and the expression is quadratic."""
_CODE = re.compile(
    r"^\s*(?:[$>]{1,3} \S|#include\b|#!/|</?\w+[^<>\n]*>|//|/\*|\*/|@\w+$"
    r"|(?:import|from|package|using|require|include) [\w.<\"']+"
    r"|(?:def|func|fn|function) \w+\s*[(<]|(?:public|private|protected|static|const|let|var|class|struct|enum) \w+"
    r"|(?:if|for|while|switch|elif|catch)\s*\(|return\b[^.]*;?$|\}|\{)"
    r"|(?:[;{}]|=>|\)\s*:|&&|\|\||\\)\s*$",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeLines:
    """Drop texts that are mostly code (`most`), or that are mostly not (`least`)."""

    most: float = 0.5
    least: float = 0.0

    name: ClassVar[str] = "code_lines"
    measures: ClassVar[tuple[str, ...]] = ("code_characters",)

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Every parameter."""
        return asdict(self)

    def __call__(self, text: AnalyzedText) -> Finding:
        """Measure the share of characters in lines of code."""
        total = sum(map(len, text.lines))
        code = sum(len(line) for line in text.lines if _CODE.search(known(line[:MAX_LOOKED_AT])))
        share = code / max(total, 1)
        limits = ((share > self.most, "too_much_code"), (share < self.least, "too_little_code"))
        return Finding(
            measurements={"code_characters": share},
            reason=next((reason for broken, reason in limits if broken), None),
        )
