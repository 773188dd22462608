"""Write formulas as TeX: between `$`, or between `$$` if a formula stands on a line of its own. Pure."""

import re
import unicodedata

BEGIN, END = "\x19", "\x1a"
"""Enclose a formula within running text until `separate_formulas` has set it apart from the words around it."""
STYLES = ("{\\displaystyle", "{\\textstyle", "{\\scriptstyle")
"""Start of a formula that is wrapped in a command for its size."""
DELIMITERS = (("\\(", "\\)"), ("\\[", "\\]"), ("$$", "$$"), ("$", "$"))
"""What encloses a formula that its page has already delimited."""

MAX_SOURCE_CHARACTERS = 200
"""Characters of the address of an image that are read."""

_DRAWER = re.compile(r"codecogs\.com/|mathtex\.cgi|mimetex\.cgi|latex\.php\?|/math/render/", re.IGNORECASE)
"""Addresses of programs that draw a formula; the text of such an image is its TeX."""
_FORMULA = re.compile(r"\b(?:mwe-math|latex|tex|math)(?![a-z])", re.IGNORECASE)
_SYMBOLS = {
    "\u2212": "-", "\u2211": "\\sum", "\u220f": "\\prod", "\u222b": "\\int", "\u221e": "\\infty", "\u2264": "\\leq",
    "\u2265": "\\geq", "\u2260": "\\neq", "\u00d7": "\\times", "\u22c5": "\\cdot", "\u00b7": "\\cdot", "\u2192": "\\to",
    "\u2208": "\\in", "\u2209": "\\notin", "\u00b1": "\\pm", "\u2202": "\\partial", "\u2207": "\\nabla",
    "\u2026": "\\ldots", "\u22ef": "\\cdots", "\u2248": "\\approx", "\u2261": "\\equiv", "\u223c": "\\sim",
    "\u221d": "\\propto", "\u2200": "\\forall", "\u2203": "\\exists", "\u222a": "\\cup", "\u2229": "\\cap",
    "\u2282": "\\subset", "\u2286": "\\subseteq", "\u2205": "\\emptyset", "\u27e8": "\\langle", "\u27e9": "\\rangle",
    "\u21d2": "\\Rightarrow", "\u21d4": "\\Leftrightarrow", "\u2223": "\\mid", "\u2225": "\\|", "\u2016": "\\|",
    "\u2227": "\\wedge", "\u2228": "\\vee", "\u00ac": "\\neg", "\u2218": "\\circ", "\u2297": "\\otimes",
    "\u2295": "\\oplus", "\u210f": "\\hbar", "\u2113": "\\ell", "\u211d": "\\mathbb{R}", "\u2115": "\\mathbb{N}",
    "\u2124": "\\mathbb{Z}", "\u211a": "\\mathbb{Q}", "\u2102": "\\mathbb{C}", "\u2032": "'", "\u2033": "''",
    "{": "\\{", "}": "\\}", "%": "\\%", "#": "\\#", "&": "\\&", "$": "\\$", "_": "\\_",
    "\u2061": "", "\u2062": "", "\u2063": "", "\u2064": "", "\u200b": "", "\xa0": " ",
}  # fmt: skip
_FUNCTIONS = frozenset(
    [
        "arccos",
        "arcsin",
        "arctan",
        "arg",
        "cos",
        "cosh",
        "cot",
        "csc",
        "deg",
        "det",
        "dim",
        "exp",
        "gcd",
        "hom",
        "inf",
        "ker",
        "lim",
        "liminf",
        "limsup",
        "ln",
        "log",
        "max",
        "min",
        "sec",
        "sin",
        "sinh",
        "sup",
        "tan",
        "tanh",
    ]
)
_SPECIAL = re.compile(f"[{re.escape(''.join(_SYMBOLS))}\u0391-\u03c9\u03d1\u03d5\u03f5]")
_COMMAND_LAST = re.compile(r"\\[A-Za-z]++\Z")
_PADDED_BEGIN = re.compile(rf"(?<=\w) *+{BEGIN}")
_PADDED_END = re.compile(rf"{END} *+(?=\w)")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_CLOSING = {"(": ")", "[": "]"}


def write_formula(tex: str, *, is_block: bool = False) -> str:
    """Return a formula between its delimiters; return `""` if it is empty."""
    tex = tex.strip()
    for begin, end in DELIMITERS:
        if tex.startswith(begin) and tex.endswith(end) and len(tex) >= len(begin) + len(end):
            is_block = is_block or begin in {"\\[", "$$"}
            tex = tex[len(begin) : len(tex) - len(end)].strip()
            break
    if tex.startswith(STYLES) and tex.endswith("}"):
        tex = tex[tex.index("style") + len("style") : -1].strip()
    fence = "$$" if is_block else "$"
    return f"{fence}{tex}{fence}" if tex else ""


def separate_formulas(text: str) -> str:
    """Return the text with a blank between each enclosed formula and a letter or digit beside it; the marks stay."""
    return _PADDED_END.sub(f"{END} ", _PADDED_BEGIN.sub(f" {BEGIN}", text))


def rewrite_delimiters(text: str, *, is_marked: bool = False) -> str:
    r"""Return the text of a page that MathJax or KaTeX typesets, with `$` for `\(` and `$$` for `\[`.

    With `is_marked`, formulas are enclosed between `BEGIN` and `END`.
    """
    if "\\)" not in text and "\\]" not in text:
        return text
    begin, end = (BEGIN, END) if is_marked else ("", "")
    parts: list[str] = []
    done = 0
    opened: re.Match[str] | None = None
    for found in _ESCAPE.finditer(text):
        if found[1] in _CLOSING:
            opened = found
        elif found[1] in _CLOSING.values():
            if opened is not None and _CLOSING[opened[1]] == found[1] and opened.end() < found.start():
                formula = write_formula(text[opened.end() : found.start()], is_block=opened[1] == "[")
                parts += [text[done : opened.start()], begin, formula, end]
                done = found.end()
            opened = None
    return "".join([*parts, text[done:]])


def symbol(text: str) -> str:
    """Return characters of a formula as TeX: commands for Greek letters and operators."""
    text = " ".join(text.split())
    if not _SPECIAL.search(text):
        return text
    return join([_command(character) for character in text])


def identifier(text: str) -> str:
    """Return an identifier as TeX: a function by its command, another word of several letters upright."""
    text = text.strip()
    if len(text) > 1 and text.isalpha():
        return (
            f"\\{text}" if text in _FUNCTIONS else f"\\mathrm{{{text}}}" if text.isascii() else symbol(text)
        )
    return symbol(text)


def join(parts: list[str]) -> str:
    """Return the parts of a formula together; a blank ends a command before a letter."""
    out: list[str] = []
    for part in filter(None, parts):
        if out and part[0].isalpha() and _COMMAND_LAST.search(out[-1]):
            out.append(" ")
        out.append(part)
    return "".join(out)


def grouped(part: str) -> str:
    """Return a part of a formula as one argument of a command or a base of an exponent."""
    return part if len(part) == 1 or re.fullmatch(r"\\[A-Za-z]+|[0-9]+", part) else f"{{{part}}}"


def _command(character: str) -> str:
    if (found := _SYMBOLS.get(character)) is not None:
        return found
    name = unicodedata.name(character, "").split()
    if len(name) == 4 and name[:1] == ["GREEK"] and name[2] == "LETTER" and name[3] != "OMICRON":
        letter = "lambda" if name[3] == "LAMDA" else name[3].lower()
        return f"\\{letter if name[1] == 'SMALL' else letter.capitalize()}"
    return {"\u03c2": "\\varsigma", "\u03d1": "\\vartheta", "\u03d5": "\\varphi", "\u03f5": "\\epsilon"}.get(
        character, character
    )


def is_drawing(class_: str, source: str) -> bool:
    """Return whether an image is a formula: its class or its address says so."""
    return _FORMULA.search(class_) is not None or _DRAWER.search(source[:MAX_SOURCE_CHARACTERS]) is not None
