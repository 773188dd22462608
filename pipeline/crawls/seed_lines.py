"""`candidates`: the texts in a list or a table of seeds that should be URLs. Pure.

1. A table has a first line with the names of its columns, `url` among them, separated by commas, semicolons, tabs or bars. A table
   that has addresses but no such column, or no names at all, is an `InputError`: this module does not guess a column.
2. A line of a list that has tabs gives its first field that begins as a URL: no URL has a tab, and a URL parser would drop it.
3. Octets that are not UTF-8 are percent-encoded one by one, so that a server gets the octets of the list, as from `curl`.
4. A line longer than `LONGEST` is cut there.
"""

import csv
import re
from collections.abc import Iterator
from typing import TextIO

from core import InputError

MAX_LINE_CHARACTERS = 128 << 10
"""Characters of a line, and of a field of a table: the csv module's own default."""
DELIMITERS = ",;\t|"
_SCHEME = re.compile(r"\s*https?://", re.IGNORECASE)
_CUT = re.compile(r"[\r\n]+")


def url_candidates(name: str, text: TextIO, head: str) -> Iterator[tuple[int, str]]:
    """Yield each text with the number of its line. Comments and empty lines are left out.

    `text` decodes with `surrogateescape`; `head` is its beginning; errors call the file `name`.
    """
    delimiter = _delimiter(name, head)
    return _list_candidates(text) if delimiter is None else _table_candidates(text, delimiter)


def _delimiter(name: str, head: str) -> str | None:
    """Return what separates the columns of a table; None for a list."""
    first, second = ([line for line in _CUT.split(head) if line.strip()] + ["", ""])[:2]
    for delimiter in DELIMITERS:
        if "url" in [column.lower() for column in _fields(first, delimiter)]:
            return delimiter
    if _SCHEME.match(first) or first.lstrip().startswith("#"):
        return None
    for delimiter in DELIMITERS.replace("\t", ""):
        columns, fields = _fields(first, delimiter), _fields(second, delimiter)
        if any(map(_SCHEME.match, columns)):
            raise InputError(
                f"seeds {name}: a table without names of its columns; put them in a first line, `url` among them"
            )
        if len(columns) == len(fields) > 1 and any(map(_SCHEME.match, fields)):
            raise InputError(
                f"seeds {name}: a table whose columns are {', '.join(columns)}; call the one that has the addresses `url`"
            )
    return None


def _list_candidates(text: TextIO) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(_lines(text), 1):
        said = line.strip()
        if not said or said.startswith("#"):
            continue
        if "\t" in said:
            said = next((field.strip() for field in said.split("\t") if _SCHEME.match(field)), said)
        yield number, _percent_encode(said)


def _table_candidates(text: TextIO, delimiter: str) -> Iterator[tuple[int, str]]:
    csv.field_size_limit(MAX_LINE_CHARACTERS)  # of the whole process: there is no other
    rows = csv.reader(text, delimiter=delimiter)
    names = next([column.strip().lower() for column in row] for row in rows if any(row))
    place = names.index("url")
    for row in rows:
        fields = row if len(names) > 1 else [delimiter.join(row)]  # what a single column has is whole
        if len(fields) > place and fields[place].strip():
            yield rows.line_num, _percent_encode(fields[place].strip())


def _lines(text: TextIO) -> Iterator[str]:
    while line := text.readline(MAX_LINE_CHARACTERS):
        yield line
        while line and not line.endswith("\n"):
            line = text.readline(MAX_LINE_CHARACTERS)


def _fields(line: str, delimiter: str) -> list[str]:
    return [field.strip() for field in next(csv.reader([line], delimiter=delimiter), [])]


def _percent_encode(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        octets = text.encode("utf-8", "surrogateescape")
        return "".join(chr(octet) if octet < 0x80 else f"%{octet:02X}" for octet in octets)
    return text
