"""What is not markup within a page: comments, references, code, formulas. It is taken out first, and put back last.

MediaWiki does the same with its strip markers. What is not closed is no element: its tag goes and its text stays, but a
comment goes on to the end of the page.
"""

import re

from extract.references import unescape
from extract.wikitext.marks import LITERAL_MARK, REMOVED_MARK

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
"""Elements of which a reader of the text gets nothing."""
FORMULAS = frozenset(("math", "chem", "ce"))
CODE = frozenset(("pre", "syntaxhighlight", "source"))
_NAMES = "|".join(sorted((*DROPPED, *FORMULAS, *CODE, "nowiki"), reverse=True))
_BEGIN = re.compile(rf"<!--|<({_NAMES})((?:[\s/][^<>]*+)?+)>", re.IGNORECASE)
_LANGUAGE = re.compile(r"""\blang\s*+=\s*+["']?+([\w+#.-]{1,40})""", re.IGNORECASE)
_IS_INLINE = re.compile(r"""\binline\b(?!\s*=\s*["']?(?:false|0))""", re.IGNORECASE)
_IS_BLOCK = re.compile(r"""\bdisplay\s*+=\s*+["']?+block""", re.IGNORECASE)
_BLANK_LINE = re.compile(r"[ \t]*+\n")
_KEPT = re.compile(f"{LITERAL_MARK}(\\d+){LITERAL_MARK}")


def replace_literals(text: str, *, markdown: bool) -> tuple[str, list[str]]:
    """The page with a mark for each thing, and what each mark stands for, in finished form."""
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
                ends[name] = None  # nor will there be one for those that follow
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
    """The page with what was set aside in the place of the marks."""
    return _KEPT.sub(lambda mark: kept[int(mark[1])], text)


def _behind_comment(text: str, start: int) -> int:
    """Where the page goes on; a line that holds nothing but the comment goes with it."""
    end = text.find("-->", start + 4)
    if end < 0:
        return len(text)
    line = text.rfind("\n", max(0, start - 80), start) + 1
    if (line or start < 80) and not text[line:start].strip() and (rest := _BLANK_LINE.match(text, end + 3)):
        return rest.end()
    return end + 3


def _shown(name: str, attributes: str, content: str, *, markdown: bool) -> tuple[str, bool]:
    """What is read of an element, and whether it is a block of its own."""
    if name == "nowiki":
        return unescape(content), False
    if name in FORMULAS:
        is_block = _IS_BLOCK.search(attributes) is not None
        tex = " ".join(unescape(content).split())
        if markdown and name != "math":
            tex = f"\\ce{{{tex}}}"
        fence = ("$$" if is_block else "$") if markdown else ""
        return f"{fence}{tex}{fence}", is_block
    code = unescape(content) if name == "pre" else content
    if name != "pre" and _IS_INLINE.search(attributes):
        return (f"`{code.strip()}`" if markdown else code.strip()), False
    code = code.strip("\n").rstrip()
    if not markdown:
        return code, True
    language = _LANGUAGE.search(attributes)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", code)), default=0))
    return f"{fence}{language[1] if language and name != 'pre' else ''}\n{code}\n{fence}", True
