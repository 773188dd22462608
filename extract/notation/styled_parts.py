"""`StyledPart`: elements that their class alone defines, because a script or a style sheet draws them. Pure.

Highlighters write a listing as a table or a list: a row a line, and a column with line numbers. The names are those of
SyntaxHighlighter 1.5 to 4, Crayon, GeSHi, CodeMirror, highlight.js with line numbers, Prism, Pygments, Rouge, Chroma,
WP-Syntax, and the listings of GitHub; formulas are those of MathJax 2 and of generators that leave TeX to a script; the
parts of a defined term are those of docutils.
"""

from enum import Enum, auto
from functools import lru_cache

MAX_CLASS_LENGTH = 400
"""Characters of a class that are read."""


class StyledPart(Enum):
    """The part that an element is."""

    LISTING = auto()
    """Code that is not in a `<pre>`."""
    LINE = auto()
    """A line of a listing."""
    GUTTER = auto()
    """Line numbers, or tools, if it is in a listing."""
    GUTTER_CELL = auto()
    """Line numbers, if it is a cell; also in front of a listing."""
    TYPESET = auto()
    """A formula that MathJax 2 has drawn; its TeX is in the script behind it."""
    PREVIEW = auto()
    """What MathJax 2 shows until the formula is drawn."""
    SOURCE = auto()
    """A formula in TeX with delimiters, which a script draws."""
    CLASSIFIER = auto()
    """The type of a defined term, before which the style sheet writes a colon."""
    SEPARATOR = auto()
    """An element that the style sheet fills, between two parts of a name."""
    SCREEN_READER_TEXT = auto()
    """Words that only screen readers say."""


BOX_PARTS = frozenset((None, StyledPart.LISTING, StyledPart.LINE))
"""Parts that an element within a line is not."""

_DRAWN = {
    **dict.fromkeys(
        ("MathJax", "MathJax_Display", "MathJax_SVG", "MathJax_SVG_Display", "MathJax_CHTML", "mjx-chtml"),
        StyledPart.TYPESET,
    ),
    "MathJax_Preview": StyledPart.PREVIEW,
}
"""Names that MathJax 2 gives; pages give their own elements names in lower case."""
_NAMES = {
    **dict.fromkeys(
        (
            "syntaxhighlighter", "dp-highlighter", "crayon-syntax", "js-file-line-container", "diff-table", "geshi",
            "react-code-lines", "codemirror-code", "enlighter",
        ),
        StyledPart.LISTING,
    ),
    **dict.fromkeys(
        (
            "line", "crayon-line", "blob-code", "hljs-ln-code", "codemirror-line", "react-file-line", "ec-line",
        ),
        StyledPart.LINE,
    ),
    **dict.fromkeys(
        (
            "linenodiv", "line-numbers-rows", "line-number", "hljs-ln-n", "crayon-nums", "crayon-num",
            "crayon-toolbar", "crayon-info", "crayon-plain-wrap", "lnt", "ln", "linenumber", "linenum", "toolbar",
            "react-syntax-highlighter-line-number", "codemirror-linenumber", "codemirror-gutter-wrapper",
            "codemirror-gutters", "tools", "line-numbers-wrapper",
        ),
        StyledPart.GUTTER,
    ),
    **dict.fromkeys(
        (
            "linenos", "lineno", "gutter", "blob-num", "js-line-number", "hljs-ln-numbers", "rouge-gutter",
            "line_numbers", "line-numbers", "line_number",
        ),
        StyledPart.GUTTER_CELL,
    ),
    **dict.fromkeys(("math", "mathjax", "arithmatex", "tex2jax_process", "mathjax_process"), StyledPart.SOURCE),
    "classifier": StyledPart.CLASSIFIER,
    **dict.fromkeys(("sep", "separator"), StyledPart.SEPARATOR),
    **dict.fromkeys(
        (
            "sr-only", "is-sr-only", "u-sronly", "show-for-sr", "visually-hidden", "visuallyhidden",
            "u-visually-hidden", "screen-reader-text", "screen-reader-only", "screenreader-only", "screen-reader",
            "element-invisible",
        ),
        StyledPart.SCREEN_READER_TEXT,
    ),
}  # fmt: skip
_LOWER = frozenset((*_NAMES, *map(str.lower, _DRAWN)))


@lru_cache(maxsize=1 << 14)
def styled_part(class_: str) -> StyledPart | None:
    """Return the part that a class names; return None if it names none."""
    class_ = class_[:MAX_CLASS_LENGTH]
    if _LOWER.isdisjoint(class_.lower().split()):
        return None
    for name in class_.split():
        if (found := _DRAWN.get(name) or _NAMES.get(name.lower())) is not None:
            return found
    return None
