"""Replace literals, the parts of a page that are not markup: comments, references, code, formulas.

They are replaced by marks first and restored last, as MediaWiki does with its strip markers. If an element is not
closed, its tag is removed and its text stays; a comment that is not closed extends to the end of the page.
"""

import re

from thresher.extract.notation.formulas import write_formula
from thresher.extract.notation.inline_markdown import code_span, fenced
from thresher.extract.references import unescape
from thresher.extract.wikitext.marks import LITERAL_MARK, REMOVED_MARK

DROPPED = frozenset(
    (
        "ref",
        "references",
        "gallery",
        "includeonly",
        "templatestyles",
        "templatedata",
        "timeline",
        "graph",
        "chart",
    )
) | frozenset(
    ("mapframe", "maplink", "score", "imagemap", "indicator", "inputbox", "categorytree", "section", "hiero")
)
"""Elements that show no text."""
FORMULAS = frozenset(("math", "chem", "ce"))
CODE = frozenset(("pre", "syntaxhighlight", "source"))
_NAMES = "|".join(sorted((*DROPPED, *FORMULAS, *CODE, "nowiki"), reverse=True))
_BEGIN = re.compile(rf"<!--|<({_NAMES})((?>[\s/][^<>]*+|))>", re.IGNORECASE)
_LANGUAGE = re.compile(r"""\blang\s*+=\s*+["']?+([\w+#.-]{1,40})""", re.IGNORECASE)
_IS_INLINE = re.compile(r"""\binline\b(?!\s*=\s*["']?(?:false|0))""", re.IGNORECASE)
_IS_BLOCK = re.compile(r"""\bdisplay\s*+=\s*+["']?+block""", re.IGNORECASE)
_BLANK_LINE = re.compile(r"[ \t]*+\n")
_KEPT = re.compile(f"{LITERAL_MARK}(\\d+){LITERAL_MARK}")


def replace_literals(text: str, *, markdown: bool) -> tuple[str, list[str]]:
    """Return the page with a mark for each literal, and the finished text of each mark."""
    out: list[str] = []
    kept: list[str] = []
    ends: dict[str, re.Pattern[str] | None] = {}
    at = 0
    while found := _BEGIN.search(text, at):
        out.append(text[at : found.start()])
        if found[1] is None:
            at = _behind_comment(text, found.start())
            continue
        name, attributes, at = found[1].lower(), found[2], found.end()
        content = ""
        if not attributes.endswith("/"):
            end = ends.setdefault(name, re.compile(rf"</{name}\s*+>", re.IGNORECASE))
            closed = end.search(text, at) if end else None
            if closed is None:
                ends[name] = None  # later elements of this name are not closed either
                continue
            content, at = text[at : closed.start()], closed.end()
        if name in DROPPED:
            out.append(REMOVED_MARK)
        elif content.strip():
            shown, is_block = _shown(name, attributes, content, markdown=markdown)
            mark = f"{LITERAL_MARK}{len(kept)}{LITERAL_MARK}"
            out.append(f"\n{mark}\n" if is_block else mark)
            kept.append(shown)
    out.append(text[at:])
    return "".join(out), kept


def restore_literals(text: str, kept: list[str]) -> str:
    """Return the page with its literals in the place of the marks."""
    return _KEPT.sub(lambda mark: kept[int(mark[1])], text)


def _behind_comment(text: str, start: int) -> int:
    """Return the position after a comment; a line that holds only the comment is skipped as a whole."""
    end = text.find("-->", start + 4)
    if end < 0:
        return len(text)
    line = text.rfind("\n", max(0, start - 80), start) + 1
    if (line or start < 80) and not text[line:start].strip() and (rest := _BLANK_LINE.match(text, end + 3)):
        return rest.end()
    return end + 3


def _shown(name: str, attributes: str, content: str, *, markdown: bool) -> tuple[str, bool]:
    """Return the shown text of an element, and whether it is a block of its own."""
    if name == "nowiki":
        return unescape(content), False
    if name in FORMULAS:
        is_block = _IS_BLOCK.search(attributes) is not None
        tex = " ".join(unescape(content).split())
        if name != "math":
            tex = f"\\ce{{{tex}}}"
        return write_formula(tex, is_block=is_block), is_block
    code = unescape(content) if name == "pre" else content
    if name != "pre" and _IS_INLINE.search(attributes):
        return (code_span(code) if markdown else code.strip()), False
    code = code.strip("\n").rstrip()
    if not markdown:
        return code, True
    language = _LANGUAGE.search(attributes)
    return fenced(code, language[1] if language and name != "pre" else ""), True
