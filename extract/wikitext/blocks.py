"""Lines to blocks: headings, paragraphs, lists, tables; appendices and empty sections left out."""

import re
from dataclasses import dataclass, field

from extract.wikitext.marks import LINE_BREAK_MARK, LITERAL_MARK
from extract.wikitext.names import APPENDICES
from extract.wikitext.wiki_tables import Table, start_table

MOST_TABLES = 20
"""Within one another; a table deeper than that is text of the one around it."""
DEEPEST_LIST = 12
"""Marks in front of an item."""
_MARKER = re.compile(rf"{LITERAL_MARK}\d+{LITERAL_MARK}")
_RULE = re.compile(r"-{4,}+")
_ITEM = re.compile(r"[*#:;]++")
_TABLE = re.compile(r":*+[ \t]*+\{\|")


@dataclass(slots=True)
class _Page:
    """The blocks so far, and what is not ended yet."""

    markdown: bool
    blocks: list[tuple[int, str]] = field(default_factory=list)
    """Level of a heading, else 0; and the block."""
    paragraph: list[str] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    """Items so far of each numbered list that is open, by the marks in front of them."""
    tables: list[Table] = field(default_factory=list)
    leaving_out: int = 0
    """Level of the appendix that is being left out."""

    def end(self) -> None:
        """What stands here is no part of what follows."""
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
        """A block, if there is something in it."""
        if text := text.strip("\n "):
            self.blocks.append((level, text))

    def heading(self, level: int, title: str) -> None:
        while self.tables:  # one that nobody closed
            self.close_table()
        self.end()
        if self.leaving_out and level > self.leaving_out:
            return
        self.leaving_out = level if title.lower().rstrip(":") in APPENDICES else 0
        if not self.leaving_out:
            self.put(f"{'#' * level} {title}" if self.markdown else title, level)

    def item(self, marks: str, text: str) -> None:
        """A line of a list; the last of its marks says what it is, the others how deep it is."""
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
        if self.tables:  # a cell of it is no place for a table
            self.tables[-1].read(table.text(markdown=False).replace("\n", " ").lstrip("|!"))
        else:
            self.end()
            self.put(table.text(markdown=self.markdown))

    def read(self, line: str) -> None:
        """Take in a line of the page."""
        bare = line.strip()
        if heading := _heading(bare):
            self.heading(*heading)
        elif self.leaving_out:
            return
        elif (table := _TABLE.match(bare)) and len(self.tables) < MOST_TABLES:
            self.tables.append(start_table(bare[table.end() :]))
        elif not self.tables:
            self.line(line, bare)
        elif bare.startswith("|}"):
            self.close_table()
        else:
            self.tables[-1].read(bare)

    def line(self, line: str, bare: str) -> None:
        """A line that is neither a heading nor of a table."""
        if not bare or _RULE.match(bare) or _MARKER.fullmatch(bare):
            self.end()
            self.put(bare.lstrip("-"))
        elif marks := _ITEM.match(line):
            self.item(marks[0][:DEEPEST_LIST], line[marks.end() :])
        elif line[0] in " \t":  # MediaWiki shows it as it is written: a line of its own
            self.paragraph.append(f"{LINE_BREAK_MARK}{bare}{LINE_BREAK_MARK}")
        else:
            if self.items:
                self.end()
            self.paragraph.append(bare)


def build_blocks(text: str, *, markdown: bool) -> str:
    """The page's blocks, apart by a blank line."""
    page = _Page(markdown=markdown)
    for line in text.split("\n"):
        page.read(line)
    while page.tables:
        page.close_table()
    page.end()
    return "\n\n".join(_with_text(page.blocks))


def _with_text(blocks: list[tuple[int, str]]) -> list[str]:
    """The blocks without headings that have no text beneath them."""
    kept: list[tuple[int, str]] = []
    for level, block in reversed(blocks):
        if not level or (kept and not 0 < kept[-1][0] <= level):
            kept.append((level, block))
    return [block for _, block in reversed(kept)]


def _heading(line: str) -> tuple[int, str] | None:
    """Level and title of a heading."""
    if not (line.startswith("=") and line.endswith("=") and len(line) > 2):
        return None
    level = min(len(line) - len(line.lstrip("=")), len(line) - len(line.rstrip("=")), 6, (len(line) - 1) // 2)
    title = line[level : len(line) - level].strip().replace(LINE_BREAK_MARK, " ")
    return (level, title) if title else None
