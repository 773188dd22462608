"""Read tables: turn the lines between `{|` and `|}` into rows of cells."""

import re
from dataclasses import dataclass, field

from thresher.extract.notation.table_grid import (
    ONE,
    Cell,
    Span,
    expand_spans,
    markdown_row,
    markdown_rule,
    plain_row,
    read_span,
)
from thresher.extract.wikitext.marks import LINE_BREAK_MARK

_LAYOUT = re.compile(
    r"\b(?:infobox|navbox|sidebar|metadata|noprint|ambox|toc|vertical-navbox|sisterproject)", re.IGNORECASE
)
_ATTRIBUTE = r"""\s*+[a-z-]{2,20}\s*+=\s*+(?:"[^"]*+"|[\w#%.:;-]++)"""
_ATTRIBUTES = re.compile(rf"{_ATTRIBUTE}(?:{_ATTRIBUTE}|)*+\s*+", re.IGNORECASE)
_ITEM = re.compile(r"^[*#:;]++[ \t]*+")


_SPAN = re.compile(r"""\b(colspan|rowspan)\s*+=\s*+["']?+([0-9]{1,9})""", re.IGNORECASE)


@dataclass(slots=True)
class _Cell:
    """A cell that is being read."""

    span: Span
    lines: list[str]

    def finished(self) -> Cell:
        return Cell(_joined(self.lines), *self.span)


@dataclass(slots=True)
class Table:
    """A table that is being read. Attributes of its rows are not shown."""

    is_shown: bool
    caption: list[str] = field(default_factory=list)
    rows: list[list[_Cell]] = field(default_factory=lambda: [[]])
    is_caption: bool = False

    def read(self, line: str) -> None:
        """Read a stripped line that is not the end of the table."""
        if line.startswith("|-"):
            self.rows.append([])
            self.is_caption = False
        elif line.startswith("|+"):
            self.caption, self.is_caption = [_content(line[2:])[0]], True
        elif line.startswith(("|", "!")):
            self.is_caption = False
            cells = line[1:].replace("!!", "||") if line[0] == "!" else line[1:]
            self.rows[-1].extend(_cell(cell) for cell in cells.split("||"))
        elif self.is_caption:
            self.caption.append(line)
        elif self.rows[-1] and line:
            self.rows[-1][-1].lines.append(_ITEM.sub("", line))

    def text(self, *, markdown: bool) -> str:
        """Return a line for each row that is not empty; return `""` for a table that only lays out the page."""
        if not self.is_shown:
            return ""
        rows = expand_spans([[cell.finished() for cell in row] for row in self.rows])
        rows = [row for row in rows if any(row)]
        lines = _ruled(rows) if markdown else [plain_row(row) for row in rows]
        caption = _joined(self.caption)
        return ("\n\n" if markdown else "\n").join((caption, "\n".join(lines))).strip()


def start_table(attributes: str) -> Table:
    """Return an empty table whose first line has these attributes."""
    return Table(is_shown=_LAYOUT.search(attributes) is None)


def _cell(written: str) -> _Cell:
    content, attributes = _content(written)
    spans = {name.lower(): number for name, number in _SPAN.findall(attributes)}
    span = read_span(spans.get("colspan", ""), spans.get("rowspan", "")) if spans else ONE
    return _Cell(span, [content])


def _content(cell: str) -> tuple[str, str]:
    """Return the content of a cell, and its attributes."""
    attributes, bar, content = cell.partition("|")
    if not bar and _ATTRIBUTES.fullmatch(cell):  # a template that shows nothing held the content
        return "", cell
    return (content.strip(), attributes) if bar else (cell.strip(), "")


def _joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).replace(LINE_BREAK_MARK, " ").split())


def _ruled(rows: list[list[str]]) -> list[str]:
    """Return the lines of a table in GitHub's Markdown: the first row, the rule, the other rows, of any length."""
    if not rows:
        return []
    columns = max(map(len, rows))
    head = rows[0] + [""] * (columns - len(rows[0]))
    return [markdown_row(head), markdown_rule(columns), *map(markdown_row, rows[1:])]
