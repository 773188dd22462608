"""Remove emphasis (`''` and `'''`) or mark it for Markdown, and keep the apostrophes among the quotes."""

import re

from thresher.extract.notation.inline_markdown import EMPHASIS, ENDS, STRONG

_RUN = re.compile(r"'{2,}+")
_BOLD_LINE = re.compile(r"^.*'''.*$", re.MULTILINE)


def strip_emphasis(text: str) -> str:
    """Return the text without emphasis."""
    if "'''" in text:
        text = _BOLD_LINE.sub(lambda found: _with_apostrophe(found[0]), text)
    return _RUN.sub(lambda found: {2: "", 3: "", 4: "'", 5: ""}.get(n := len(found[0]), "'" * (n - 5)), text)


def mark_emphasis(text: str) -> str:
    """Return the text with inline marks for emphasis, which ends with its line."""
    return "\n".join(_marked(line) if "''" in line else line for line in text.split("\n"))


def _marked(line: str) -> str:
    if line.startswith("="):  # headings have no emphasis
        return strip_emphasis(line)
    apostrophe = _apostrophe(line)
    runs = list(_RUN.finditer(line))
    is_open = {EMPHASIS: False, STRONG: False}
    out: list[str] = []
    at = 0
    for number, run in enumerate(runs):
        out.append(line[at : run.start()])
        at, size = run.end(), len(run[0])
        if run.start() == apostrophe:
            out.append("'")
            marks = [EMPHASIS]
        elif size < 5:
            out.append("'" * (size == 4))
            marks = [EMPHASIS if size == 2 else STRONG]
        else:
            out.append("'" * (size - 5))
            # What begins last ends first; the next run tells which ends first.
            closes_bold = number + 1 < len(runs) and len(runs[number + 1][0]) == 3
            marks = [EMPHASIS, STRONG] if closes_bold or is_open[EMPHASIS] else [STRONG, EMPHASIS]
        for mark in marks:
            out.append(ENDS[mark] if is_open[mark] else mark)
            is_open[mark] = not is_open[mark]
    return "".join((*out, line[at:], *(ENDS[mark] for mark in is_open if is_open[mark])))


def _with_apostrophe(line: str) -> str:
    """Return the line without the first of its quotes that are an apostrophe and italics."""
    start = _apostrophe(line)
    return line if start < 0 else f"{line[:start]}'{line[start + 3 :]}"


def _apostrophe(line: str) -> int:
    """Return the position of three quotes that are an apostrophe and italics; -1 if there are none.

    They are so in `l'''Odyssée''`, as in MediaWiki (Parser::doQuotes).

    This applies if neither bold nor italic marks come in pairs. It applies to the first `'''` after a word of one
    letter; if there is none, to the first after a longer word; if there is none, to the first after a blank.
    """
    runs = list(_RUN.finditer(line))
    sizes = [min(len(run[0]), 5) for run in runs]  # four are an apostrophe and three
    bold = [run for run, size in zip(runs, sizes, strict=True) if len(run[0]) == size == 3]
    if (
        sum(size != 2 for size in sizes) % 2 == 0
        or sum(size in (2, 5) for size in sizes) % 2 == 0
        or not bold
    ):
        return -1
    where = min(bold, key=lambda run: _rank(line[max(0, run.start() - 2) : run.start()]))
    return where.start()


def _rank(before: str) -> int:
    """Return the rank of the two characters before `'''`; the smallest rank is preferred."""
    if before.endswith(" "):
        return 2
    return 0 if before[:-1] == " " else 1
