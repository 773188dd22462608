"""Write superscripts and fractions that a page sets by elements: `10^6`, `m^2`, `x^(n-1)`, `3 1/2`. Pure.

A superscript is an exponent if it is a number, a sign or a small expression, and follows a number, a closing bracket, a
unit or a variable. Others keep their letters alone: ordinals (`2nd`), abbreviations, and the numbers of footnotes.
"""

import re

BEGIN, END = "\x0e", "\x0f"
"""Enclose a superscript until `write_superscripts` has written it."""
REACH = 24
"""Characters before a superscript that are read."""
LONG_BASES = frozenset(
    (
        "bar",
        "cos",
        "det",
        "exp",
        "inch",
        "log",
        "max",
        "mil",
        "mile",
        "min",
        "mol",
        "rad",
        "sec",
        "sin",
        "tan",
        "yard",
    )
)
"""Units and functions that have an exponent; other words of more than two letters have a footnote."""

_SUPERSCRIPT = re.compile(rf"{BEGIN}([^{BEGIN}{END}]*+){END}(\s*+[/\u2044]\s*+(?=\d))?")
_NUMBER = r"[+\u2212\u2013-]?\d++(?>[.,/]\d++|)[+\u2212-]?"
_SIMPLE = re.compile(rf"{_NUMBER}|[+\u2212\u2013-]|[+\u2212\u2013-]?[nkmxyijtT]|\d[nkxyt]")
_TERM = r"(?:\d{1,4}|[^\W\d_]{1,2}|\d[^\W\d_])"
_OPERATION = rf"\s?[+\u2212*/\u00b7-]\s?{_TERM}"
_EXPRESSION = re.compile(rf"[+\u2212-]?{_TERM}(?>{_OPERATION})(?:{_OPERATION}|)*+")
_LETTERS = re.compile(r"(?<![^\W\d_])[^\W\d_]++\Z")
_SYMBOL = re.compile(r"[A-Za-z\u00b5\u0370-\u03ff]{1,2}")
_MARKS = re.compile("[\x10-\x1a]")


def write_superscripts(text: str) -> str:
    """Return the text with every superscript written."""
    return _SUPERSCRIPT.sub(_write, text).replace(BEGIN, "").replace(END, "")


def _write(found: re.Match[str]) -> str:
    power, slash = found[1].strip(), found[2] or ""
    before = _MARKS.sub("", found.string[max(0, found.start() - REACH) : found.start()])
    if slash and power.isdecimal():  # the numerator of a fraction
        return f"{' ' if before[-1:].isdigit() else ''}{power}{slash.strip()}"
    if not _is_base(before):
        return power + slash
    if _SIMPLE.fullmatch(power):
        return f"^{power}{slash}"
    return f"^({power}){slash}" if _EXPRESSION.fullmatch(power) else power + slash


def _is_base(before: str) -> bool:
    """Return whether a superscript after this text may be an exponent."""
    last = before[-1:]
    if last.isdigit() or last in {")", "]", "}"}:
        return True
    word = _LETTERS.search(before)
    return word is not None and (_SYMBOL.fullmatch(word[0]) is not None or word[0].lower() in LONG_BASES)
