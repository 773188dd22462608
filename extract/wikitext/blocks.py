"""Turn lines into blocks: headings, paragraphs, lists, tables. Leave out appendices and empty sections."""

import re
from dataclasses import dataclass, field

from thresher.extract.wikitext.marks import LINE_BREAK_MARK, LITERAL_MARK
from thresher.extract.wikitext.names import APPENDICES
from thresher.extract.wikitext.wiki_tables import Table, start_table

MAX_TABLES = 20
"""Levels of nested tables at most; a deeper table is text of the table around it."""
DEEPEST_LIST = 12
"""Marks before a list item at most."""
_MARKER = re.compile(rf"{LITERAL_MARK}\d+{LITERAL_MARK}")
_RULE = re.compile(r"-{4,}+")
_ITEM = re.compile(r"[*#:;]++")
_TABLE = re.compile(r":*+[ \t]*+\{\|")


@dataclass(slots=True)
class _Page:
    """The finished blocks, and the parts that have not ended yet."""

    markdown: bool
    blocks: list[tuple[int, str]] = field(default_factory=list)
    """Level of the heading (0 for other blocks), and the text of the block."""
    paragraph: list[str] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    """Number of items so far in each open numbered list, by the marks before its items."""
    tables: list[Table] = field(default_factory=list)
    leaving_out: int = 0
    """Level of the heading of the appendix that is being left out; 0 if none is."""

    def end(self) -> None:
        """End the open paragraph and the open list."""
        if (
            text := " ".join(self.paragraph)
            .replace(f" {LINE_BREAK_MARK}", LINE_BREAK_MARK)
            .replace(f"{LINE_BREAK_MARK} ", LINE_BREAK_MARK)
            .replace(LINE_BREAK_MARK, "\n")
        ):
            self.put(text)
        if self.items:
            self.put("\n".join(self.items))
        self.paragraph.clear()
        self.items.clear()
        self.numbers.clear()

    def put(self, text: str, level: int = 0) -> None:
        """Add a block if it is not empty."""
        if text := text.strip("\n "):
            self.blocks.append((level, text))

    def heading(self, level: int, title: str) -> None:
        while self.tables:  # a heading ends tables that are not closed
            self.close_table()
        self.end()
        if self.leaving_out and level > self.leaving_out:
            return
        self.leaving_out = level if title.lower().rstrip(":") in APPENDICES else 0
        if not self.leaving_out:
            self.put(f"{'#' * level} {title}" if self.markdown else title, level)

    def item(self, marks: str, text: str) -> None:
        """Add a line of a list: the last of its marks gives the kind of list, the number of marks the depth."""
        if self.paragraph:
            self.end()
        self.numbers = {list_: number for list_, number in self.numbers.items() if marks.startswith(list_)}
        term, colon, definition = text.partition(" : ")
        for each in (term, definition) if marks[-1] == ";" and colon else (text,):
            if shown := each.strip().replace(LINE_BREAK_MARK, " "):
                self.items.append(f"{'  ' * (len(marks) - 1)}{self.bullet(marks)}{shown}")

    def bullet(self, marks: str) -> str:
        if marks[-1] == "#":
            self.numbers[marks] = self.numbers.get(marks, 0) + 1
            return f"{self.numbers[marks]}. "
        return "- " if marks[-1] == "*" else ""

    def close_table(self) -> None:
        table = self.tables.pop()
        if self.tables:  # a nested table becomes text of its cell
            self.tables[-1].read(table.text(markdown=False).replace("\n", " ").lstrip("|!"))
        else:
            self.end()
            self.put(table.text(markdown=self.markdown))

    def read(self, line: str) -> None:
        """Read a line of the page."""
        bare = line.strip()
        if heading := _heading(bare):
            self.heading(*heading)
        elif self.leaving_out:
            return
        elif (table := _TABLE.match(bare)) and len(self.tables) < MAX_TABLES:
            self.tables.append(start_table(bare[table.end() :]))
        elif not self.tables:
            self.line(line, bare)
        elif bare.startswith("|}"):
            self.close_table()
        else:
            self.tables[-1].read(bare)

    def line(self, line: str, bare: str) -> None:
        """Read a line that is neither a heading nor part of a table."""
        if not bare or _RULE.match(bare) or _MARKER.fullmatch(bare):
            self.end()
            self.put(bare.lstrip("-"))
        elif marks := _ITEM.match(line):
            self.item(marks[0][:DEEPEST_LIST], line[marks.end() :])
        elif line[0] in " \t":  # MediaWiki shows an indented line as a line of its own
            self.paragraph.append(f"{LINE_BREAK_MARK}{bare}{LINE_BREAK_MARK}")
        else:
            if self.items:
                self.end()
            self.paragraph.append(bare)


def build_blocks(text: str, *, markdown: bool) -> str:
    """Return the blocks of a page, separated by blank lines."""
    page = _Page(markdown=markdown)
    for line in text.split("\n"):
        page.read(line)
    while page.tables:
        page.close_table()
    page.end()
    return "\n\n".join(_with_text(page.blocks))


def _with_text(blocks: list[tuple[int, str]]) -> list[str]:
    """Return the blocks without headings that have no text beneath them."""
    kept: list[tuple[int, str]] = []
    for level, block in reversed(blocks):
        if not level or (kept and not 0 < kept[-1][0] <= level):
            kept.append((level, block))
    return [block for _, block in reversed(kept)]


def _heading(line: str) -> tuple[int, str] | None:
    """Return level and title of a heading; return None for any other line."""
    if not (line.startswith("=") and line.endswith("=") and len(line) > 2):
        return None
    level = min(len(line) - len(line.lstrip("=")), len(line) - len(line.rstrip("=")), 6, (len(line) - 1) // 2)
    title = line[level : len(line) - level].strip().replace(LINE_BREAK_MARK, " ")
    return (level, title) if title else None
