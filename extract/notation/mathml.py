"""Read MathML as TeX while a page is parsed: the annotation that states the TeX, otherwise the elements."""

from collections.abc import Mapping

from thresher.extract.notation.formulas import grouped, identifier, join, symbol, write_formula

TEX = frozenset(("application/x-tex", "text/x-tex", "tex", "latex"))
"""Encodings of an annotation with the TeX of a formula, in lower case."""
DEEPEST = 60
"""Elements around an element at most; a deeper element belongs to the innermost of them."""
ANNOTATIONS = frozenset(("annotation", "annotation-xml"))
IGNORED = frozenset(("mphantom", "none", "mprescripts", "maligngroup", "malignmark"))
ACCENTS = {
    "\u00af": "\\bar", "\u203e": "\\overline", "^": "\\hat", "\u02c6": "\\hat", "\\to": "\\vec", "\u20d7": "\\vec",
    "~": "\\tilde", "\u02dc": "\\tilde", "\\sim": "\\tilde", "\u02d9": "\\dot", "\u00a8": "\\ddot", "_": "\\underline",
    "\u23de": "\\overbrace", "\u23df": "\\underbrace",
}  # fmt: skip
"""Commands for the signs above or below a base."""


class _Node:
    """An open element and the TeX of what is in it so far."""

    __slots__ = ("attributes", "parts", "tag")

    def __init__(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.tag = tag
        self.attributes = attributes
        self.parts: list[str] = []


class MathReader:
    """Collect one formula from the parser's events. Events outside of a `<math>` element are ignored."""

    def __init__(self) -> None:
        self.is_block = False
        self._tex = ""
        self._annotation: list[str] | None = None
        self._ignored = 0
        """Number of open elements from an annotation on."""
        self._open: list[_Node] = []
        self._too_deep = 0
        self._formula = ""

    def formula(self) -> str:
        """Return the formula between its delimiters; return `""` if there is none."""
        return write_formula(self._tex or self._formula, is_block=self.is_block)

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Handle the start of an element."""
        if tag == "math" and not self._open:
            self.is_block = self.is_block or attributes.get("display") == "block"
            self._tex = self._tex or attributes.get("alttext") or attributes.get("data-latex", "")
            self._open.append(_Node(tag, {}))
        elif not self._open:
            self._tex = self._tex or attributes.get("data-latex", "")
        elif self._ignored:
            self._ignored += 1
        elif tag in ANNOTATIONS:
            self._ignored = 1
            if attributes.get("encoding", "").strip().lower() in TEX:
                self._annotation = []
        elif len(self._open) > DEEPEST:
            self._too_deep += 1
        else:
            self._open.append(_Node(tag, dict(attributes) if tag == "mfenced" else {}))

    def data(self, text: str) -> None:
        """Handle a piece of text."""
        if self._annotation is not None:
            self._annotation.append(text)
        elif self._open and not self._ignored and (text := text.strip()):
            node = self._open[-1]
            node.parts.append(
                identifier(text) if node.tag == "mi" else text if node.tag == "mtext" else symbol(text)
            )

    def end(self, _tag: str) -> None:
        """Handle the end of an element."""
        if self._ignored:
            self._ignored -= 1
            if not self._ignored and self._annotation is not None:
                self._tex = self._tex or "".join(self._annotation).strip()
                self._annotation = None
        elif self._too_deep:
            self._too_deep -= 1
        elif self._open:
            node = self._open.pop()
            tex = _write(node)
            if self._open:
                self._open[-1].parts.append(tex)
            else:
                self._formula = self._formula or tex


def _write(node: _Node) -> str:  # noqa: C901, PLR0911 - a case for each element
    """Return the TeX of an element whose parts are written."""
    parts, tag = node.parts, node.tag
    if tag in IGNORED:
        return ""
    if tag in _TWO and len(parts) > 1:
        return _TWO[tag](parts[0], parts[1])
    if tag in _THREE and len(parts) > 2:
        return f"{grouped(parts[0])}_{grouped(parts[1])}^{grouped(parts[2])}"
    match tag:
        case "msqrt":
            return f"\\sqrt{{{join(parts)}}}"
        case "mtext":
            text = " ".join(parts)
            return f"\\text{{{text}}}" if text else ""
        case "mtd":
            return f"{join(parts)} & "
        case "mtr" | "mlabeledtr":
            return f"{''.join(parts).removesuffix(' & ')} \\\\ "
        case "mtable":
            rows = "".join(parts).removesuffix(" \\\\ ")
            return f"\\begin{{matrix}}{rows}\\end{{matrix}}"
        case "mfenced":
            begin, end = node.attributes.get("open", "("), node.attributes.get("close", ")")
            return f"{symbol(begin)}{','.join(parts)}{symbol(end)}"
        case "mspace":
            return " "
    return join(parts)


def _over(base: str, sign: str) -> str:
    return f"{ACCENTS[sign]}{{{base}}}" if sign in ACCENTS else f"{grouped(base)}^{grouped(sign)}"


def _under(base: str, sign: str) -> str:
    return f"{ACCENTS[sign]}{{{base}}}" if sign in ACCENTS else f"{grouped(base)}_{grouped(sign)}"


def _fraction(numerator: str, denominator: str) -> str:
    return f"\\frac{{{numerator}}}{{{denominator}}}"


def _root(radicand: str, degree: str) -> str:
    return f"\\sqrt[{degree}]{{{radicand}}}"


_TWO = {
    "mfrac": _fraction, "mroot": _root, "msup": _over, "mover": _over, "msub": _under, "munder": _under,
}  # fmt: skip
_THREE = frozenset(("msubsup", "munderover"))
