"""Remove marks within lines: tags, external links, emphasis, switches. Later, in blocks, decode entities and trim
blanks.
"""

import re

from thresher.core.unicode14 import known, upper
from thresher.extract.notation import inline_markdown, superscripts
from thresher.extract.references import unescape
from thresher.extract.wikitext.marks import LINE_BREAK_MARK, REMOVED_MARK
from thresher.extract.wikitext.quotes import mark_emphasis, strip_emphasis

PARAGRAPHS = frozenset(
    (
        "p",
        "div",
        "center",
        "blockquote",
        "dl",
        "ul",
        "ol",
        "section",
        "poem",
        "article",
        "figure",
        "figcaption",
    )
)
"""Tags whose start and end both end a paragraph."""
WIKITEXT = {
    "table": ("\n{|\n", "\n|}\n"), "tr": ("\n|-\n", "\n"), "td": ("\n|", "\n"), "th": ("\n!", "\n"),
    "caption": ("\n|+", "\n"),
    "li": ("\n* ", "\n"), "dt": ("\n; ", "\n"), "dd": ("\n: ", "\n"), "hr": ("\n----\n", ""),
    "br": (LINE_BREAK_MARK, ""),
    "h1": ("\n= ", " =\n"), "h2": ("\n== ", " ==\n"), "h3": ("\n=== ", " ===\n"), "h4": ("\n==== ", " ====\n"),
    "h5": ("\n===== ", " =====\n"), "h6": ("\n====== ", " ======\n"),
}  # fmt: skip
"""Wikitext for the start and the end of a tag."""
HIDING = frozenset(("span", "div", "small", "p"))
SIGNS = {"sup": (superscripts.BEGIN, superscripts.END), "rt": ("(", ")")}
"""What stands for the start and the end of a tag within a line."""
UNSEEN = "rp"
"""Tag of the parentheses around a reading, which stand in its place for browsers that cannot show it."""

_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]{0,20})((?>[\s/][^<>]*+|))>")
_POEM = re.compile(r"<poem(?>\s[^<>]*+|)>|</poem>", re.IGNORECASE)
_SPANNING = re.compile(r"\b(?:col|row)span\b", re.IGNORECASE)
_HIDDEN = re.compile(r"display\s*+:\s*+none")
_EXTERNAL = re.compile(
    r"\[(?:https?:|ftps?:|mailto:|news:|ircs?:|//)[^\s\[\]<>\"\x00-\x1f]*+[ \t]*+([^\[\]\n]*+)\]",
    re.IGNORECASE,
)
_VARIANT = re.compile(r"-\{([^{}]*+)\}-")
_SWITCH = re.compile(r"__(\w{3,40}?)__")
_BETWEEN_ANY = rf"[\s{REMOVED_MARK},;:，；、/]"
_BETWEEN = rf"{_BETWEEN_ANY}*+"
_EMPTY = re.compile(rf"[(（\[]({_BETWEEN})[)）\]]")
_EMPTY_FIRST = re.compile(rf"([(（])({_BETWEEN})")
_EMPTY_LAST = re.compile(rf"(?<!{_BETWEEN_ANY}){_BETWEEN_ANY}++(?=[)）])")
_COMMA_LAST = re.compile(rf"[,;:，；、]\s*+{REMOVED_MARK}++(?=[)）])")
_GONE_LINE = re.compile(rf"^[ \t]*+{REMOVED_MARK}[{REMOVED_MARK} \t]*+", re.MULTILINE)
_GONE_BEFORE = re.compile(rf" {REMOVED_MARK}++(?=[ \t.,;:!?)\n，。；：！？）])")
_GONE_BEHIND = re.compile(rf"(?<!{REMOVED_MARK}){REMOVED_MARK}++[ \t]++(?=[.,;:!?。，；：！？])")
_MARK = re.compile("[\x10-\x17]")
_BLANKS = re.compile(r"  ++")
_EMPTY_LINES = re.compile(r"\n{3,}+")


def strip_inline_markup(text: str, *, markdown: bool) -> str:
    """Return the page without the marks within its lines."""
    text = _BLANKS.sub(" ", text.replace("&nbsp;", " ").replace("\xa0", " "))
    if "-{" in text:
        text = _VARIANT.sub(lambda found: _variant(found[1]), text)
    text = mark_emphasis(text) if markdown else strip_emphasis(text)
    if "<" in text:
        text = _untagged(_with_breaks(text), markdown=markdown)
    if superscripts.BEGIN in text or superscripts.END in text:
        text = superscripts.write_superscripts(text)
    text = _EXTERNAL.sub(lambda found: found[1].strip() or REMOVED_MARK, text)
    if "__" in text:
        text = _SWITCH.sub(lambda found: found[0] if _is_word(found[1]) else REMOVED_MARK, text)
    if REMOVED_MARK in text:
        text = _EMPTY.sub(lambda found: REMOVED_MARK if REMOVED_MARK in found[1] else found[0], text)
        text = _EMPTY_FIRST.sub(lambda found: found[1] if REMOVED_MARK in found[2] else found[0], text)
        text = _COMMA_LAST.sub("", _EMPTY_LAST.sub(_without_last, text))
        text = _GONE_BEHIND.sub("", _GONE_BEFORE.sub("", _GONE_LINE.sub("", text)))
        text = text.replace(f"|{REMOVED_MARK}", "| ").replace(
            REMOVED_MARK, ""
        )  # a cell may hold nothing else
    return text


def write_markdown(text: str) -> str:
    """Return finished blocks with inline marks as Markdown, line by line."""
    return "\n".join(
        f"{line[: len(line) - len(line.lstrip())]}{inline_markdown.write_inline(line)}"
        if "<" in line or _MARK.search(line)
        else line
        for line in text.split("\n")
    )


def unescape_and_trim(text: str) -> str:
    """Return the blocks with decoded entities and without superfluous blanks."""
    text = known(unescape(text)).replace("\xa0", " ").replace("\xad", "")
    return _EMPTY_LINES.sub("\n\n", text) if "\n\n\n" in text else text


def _without_last(found: re.Match[str]) -> str:
    """Return the text before a closing parenthesis without the separators around removed parts."""
    kept, gone, _ = found[0].partition(REMOVED_MARK)
    return kept + gone


def _variant(written: str) -> str:
    """Return the first form of `-{...}-`, with which Chinese and other wikis convert between scripts."""
    flags, pipe, rest = written.rpartition("|")
    if pipe and set("HTNDA") & set(flags) and "A" not in flags:
        return ""
    first = rest.split(";", 1)[0]
    _, colon, form = first.partition(":")
    return form.strip() if colon and ";" in rest else rest


def _is_word(name: str) -> bool:
    """Return whether `__name__` is a word. Switches of MediaWiki are in capitals, or in a script without capitals."""
    return name != upper(name) or name.startswith("_") or name.isdecimal()


def _with_breaks(text: str) -> str:
    """Return the page with marks at the line ends of poems."""
    if "<poem" not in text and "<POEM" not in text and "<Poem" not in text:
        return text
    out: list[str] = []
    at, is_poem = 0, False
    for tag in _POEM.finditer(text):
        piece = text[at : tag.start()]
        out.append(piece.strip().replace("\n", LINE_BREAK_MARK) if is_poem else piece)
        out.append(tag[0])
        is_poem, at = not tag[0].startswith("</"), tag.end()
    return "".join((*out, text[at:]))


def _untagged(text: str, *, markdown: bool) -> str:
    out: list[str] = []
    at = hidden = 0
    hiding = ""
    for tag in _TAG.finditer(text):
        piece = text[at : tag.start()]
        if hidden and "\n\n" in piece:  # the hiding element was not closed
            hidden = 0
        if not hidden:
            out.append(piece)
        at = tag.end()
        closes, name, alone = bool(tag[1]), tag[2].lower(), tag[3].endswith("/")
        if hidden:
            hidden += (-1 if closes else not alone) * (name == hiding)
        elif not (closes or alone) and (name == UNSEEN or (name in HIDING and _HIDDEN.search(tag[3]))):
            hidden, hiding = 1, name
        else:
            out.append(_in_wikitext(name, tag[3], closes=closes, markdown=markdown))
    rest = text[at:]
    return "".join((*out, rest if not hidden or "\n\n" in rest else ""))


def _in_wikitext(name: str, attributes: str, *, closes: bool, markdown: bool) -> str:
    if name in WIKITEXT:
        if name in {"td", "th"} and not closes and _SPANNING.search(attributes):
            return f"{WIKITEXT[name][0]}{attributes} |"
        return WIKITEXT[name][closes]
    if name in PARAGRAPHS:
        return "\n\n"
    if name in SIGNS:
        return SIGNS[name][closes]
    if markdown and (mark := inline_markdown.ELEMENTS.get(name)) is not None:
        return inline_markdown.ENDS[mark] if closes else mark
    return ""
