"""Read tables: turn the lines between `{|` and `|}` into rows of cells."""

import re
from dataclasses import dataclass, field

from extract.wikitext.marks import LINE_BREAK_MARK

_LAYOUT = re.compile(
    r"\b(?:infobox|navbox|sidebar|metadata|noprint|ambox|toc|vertical-navbox|sisterproject)", re.IGNORECASE
)
_ATTRIBUTES = re.compile(r"""(?:\s*+[a-z-]{2,20}\s*+=\s*+(?:"[^"]*+"|[\w#%.:;-]++))++\s*+""", re.IGNORECASE)
_ITEM = re.compile(r"^[*#:;]++[ \t]*+")


@dataclass(slots=True)
class Table:
    """A table that is being read. Attributes of its rows are not shown."""

    is_shown: bool
    caption: list[str] = field(default_factory=list)
    rows: list[list[list[str]]] = field(default_factory=lambda: [[]])
    """Rows of cells; a cell is a list of its lines so far."""
    is_caption: bool = False

    def read(self, line: str) -> None:
        """Read a stripped line that is not the end of the table."""
        if line.startswith("|-"):
            self.rows.append([])
            self.is_caption = False
        elif line.startswith("|+"):
            self.caption, self.is_caption = [_content(line[2:])], True
        elif line.startswith(("|", "!")):
            self.is_caption = False
            cells = line[1:].replace("!!", "||") if line[0] == "!" else line[1:]
            self.rows[-1].extend([_content(cell)] for cell in cells.split("||"))
        elif self.is_caption:
            self.caption.append(line)
        elif self.rows[-1] and line:
            self.rows[-1][-1].append(_ITEM.sub("", line))

    def text(self, *, markdown: bool) -> str:
        """Return a line for each row that is not empty; return `""` for a table that only lays out the page."""
        if not self.is_shown:
            return ""
        rows = [[_joined(cell) for cell in row] for row in self.rows]
        rows = [row for row in rows if any(row)]
        lines = _ruled(rows) if markdown else [" | ".join(filter(None, row)) for row in rows]
        caption = _joined(self.caption)
        return ("\n\n" if markdown else "\n").join((caption, "\n".join(lines))).strip()


def start_table(attributes: str) -> Table:
    """Return an empty table whose first line has these attributes."""
    return Table(is_shown=_LAYOUT.search(attributes) is None)


def _content(cell: str) -> str:
    """Return the content of a cell without its attributes."""
    _, bar, content = cell.partition("|")
    if not bar and _ATTRIBUTES.fullmatch(cell):  # a template that shows nothing held the content
        return ""
    return (content if bar else cell).strip()


def _joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).replace(LINE_BREAK_MARK, " ").split())


def _ruled(rows: list[list[str]]) -> list[str]:
    """Return the lines of a table in GitHub's Markdown: the first row, the rule, the other rows, of any length."""
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return [*lines[:1], f"|{' --- |' * len(rows[0])}", *lines[1:]] if rows else []
