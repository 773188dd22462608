"""`ListingPart`: what the class of an element says about code and formulas that a script has set; and languages. Pure.

Highlighters write a listing as a table or a list: a row a line, and a column with line numbers. The names are those of
SyntaxHighlighter 1.5 to 4, Crayon, GeSHi, CodeMirror, highlight.js with line numbers, Prism, Pygments, Rouge, Chroma,
WP-Syntax, and the listings of GitHub; formulas are those of MathJax 2 and of generators that leave TeX to a script.
"""

import re
from collections.abc import Mapping
from enum import Enum, auto
from functools import lru_cache

LONGEST = 400
"""Characters of a class that are read."""
LANGUAGE_ATTRIBUTES = ("data-lang", "data-language", "data-code-language")


class ListingPart(Enum):
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


BOX_PARTS = frozenset((None, ListingPart.LISTING, ListingPart.LINE))
"""Parts that an element within a line is not."""

_DRAWN = {
    **dict.fromkeys(
        ("MathJax", "MathJax_Display", "MathJax_SVG", "MathJax_SVG_Display", "MathJax_CHTML", "mjx-chtml"),
        ListingPart.TYPESET,
    ),
    "MathJax_Preview": ListingPart.PREVIEW,
}
"""Names that MathJax 2 gives; pages give their own elements names in lower case."""
_NAMES = {
    **dict.fromkeys(
        (
            "syntaxhighlighter", "dp-highlighter", "crayon-syntax", "js-file-line-container", "diff-table", "geshi",
            "react-code-lines", "codemirror-code", "enlighter",
        ),
        ListingPart.LISTING,
    ),
    **dict.fromkeys(
        (
            "line", "crayon-line", "blob-code", "hljs-ln-code", "codemirror-line", "react-file-line", "ec-line",
        ),
        ListingPart.LINE,
    ),
    **dict.fromkeys(
        (
            "linenodiv", "line-numbers-rows", "line-number", "hljs-ln-n", "crayon-nums", "crayon-num",
            "crayon-toolbar", "crayon-info", "crayon-plain-wrap", "lnt", "ln", "linenumber", "linenum", "toolbar",
            "react-syntax-highlighter-line-number", "codemirror-linenumber", "codemirror-gutter-wrapper",
            "codemirror-gutters", "tools", "line-numbers-wrapper",
        ),
        ListingPart.GUTTER,
    ),
    **dict.fromkeys(
        (
            "linenos", "lineno", "gutter", "blob-num", "js-line-number", "hljs-ln-numbers", "rouge-gutter",
            "line_numbers", "line-numbers", "line_number",
        ),
        ListingPart.GUTTER_CELL,
    ),
    **dict.fromkeys(("math", "mathjax", "arithmatex", "tex2jax_process", "mathjax_process"), ListingPart.SOURCE),
    "classifier": ListingPart.CLASSIFIER,
    **dict.fromkeys(("sep", "separator"), ListingPart.SEPARATOR),
}  # fmt: skip
_LOWER = frozenset((*_NAMES, *map(str.lower, _DRAWN)))


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_LABELLED = re.compile(
    r"(?:\b(?:language|lang|highlight-source|highlight-text|highlight|src|source)-|\bbrush:\s*|\blang:)"
    r"([a-z][\w+#.-]*)"
)
_HOSTS = _words(
    """hljs sourcecode highlight chroma prism-code src code prettyprint codehilite geshi shiki syntax syntaxhighlighter
    crayon-syntax"""
)
"""Names of listings beside which the name of the language may stand alone."""
_LANGUAGES = _words(
    """abap actionscript ada apache applescript asm awk bash basic bat batch c c++ c# clojure cmake cobol coffeescript
    cpp crystal cs csharp css csv cuda cython d dart delphi diff dockerfile elixir elm erlang f# fortran fsharp go
    golang graphql groovy haml handlebars haskell hcl html http ini java javascript js json json5 jsonc jsx julia kotlin
    latex less lisp lua make makefile markdown markup matlab md mermaid nasm nginx nim nix objc objective-c objectivec
    ocaml octave pascal perl php plsql powershell prolog properties protobuf ps1 puppet py py3 pycon python python3 r rb
    ruby rs rust sass scala scheme scss sh shell shell-session solidity sql svelte swift tcl terraform tex toml ts tsx
    typescript vala vb vbnet verilog vhdl vim vue wasm xhtml xml xslt yaml yml zig zsh console ipython3 cfg"""
)
_NO_LANGUAGES = _words(
    """none plain plaintext plain_text text txt nohighlight no-highlight default auto unknown undefined literal block"""
)


@lru_cache(maxsize=1 << 14)
def listing_part(class_: str) -> ListingPart | None:
    """Return the part that a class names; return None if it names none."""
    class_ = class_[:LONGEST]
    if _LOWER.isdisjoint(class_.lower().split()):
        return None
    for name in class_.split():
        if (found := _DRAWN.get(name) or _NAMES.get(name.lower())) is not None:
            return found
    return None


def language(names: str) -> str:
    """Return the language of code that the class of an element names, for a fence; return `""` if it names none."""
    names = names[:LONGEST].lower()
    if labelled := _LABELLED.search(names):
        found = labelled[1].rstrip(".;-")
        return "" if found in _NO_LANGUAGES else found
    words = names.split()
    if len(words) > 1 and not _HOSTS.isdisjoint(words):
        return next((word for word in words if word in _LANGUAGES), "")
    return words[0] if len(words) == 1 and words[0] in _LANGUAGES else ""


def known_language(names: str) -> str:
    """Return the language that the class of an element around code names, if it is a known one."""
    found = language(names)
    return found if found in _LANGUAGES else ""


def code_language(attributes: Mapping[str, str]) -> str:
    """Return the language of code that the attributes of its element state; return `""` if they state none."""
    for name in LANGUAGE_ATTRIBUTES:
        if stated := attributes.get(name):
            return language(f"language-{stated}")
    return language(attributes.get("class", ""))
