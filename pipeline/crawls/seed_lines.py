"""`url_candidates`: the texts in a list or a table of seeds that should be URLs. Pure.

1. The first line of a table has the names of its columns, one of them `url`, separated by commas, semicolons, tabs or
   vertical bars. A table of addresses without such a column, or without any names, raises `InputError`, because this
   module does not guess a column.
2. A line of a list that has tabs gives its first field that starts as a URL, because no URL has a tab and a URL parser
   would drop it.
3. Octets that are not UTF-8 are percent-encoded one by one, so a server gets the octets of the list, as from `curl`.
4. A line longer than `MAX_LINE_CHARACTERS` is cut there.
"""

import csv
import re
from collections.abc import Iterator
from typing import TextIO

from thresher.core import InputError

MAX_LINE_CHARACTERS = 128 << 10
"""Maximum length of a line, and of a field of a table: the default of the csv module."""
DELIMITERS = ",;\t|"
_SCHEME = re.compile(r"\s*https?://", re.IGNORECASE)
_CUT = re.compile(r"[\r\n]+")


def url_candidates(name: str, text: TextIO, head: str) -> Iterator[tuple[int, str]]:
    """Yield each text with the number of its line. Skip comments and empty lines.

    `text` decodes with `surrogateescape`; `head` is its start; errors call the file `name`.
    """
    delimiter = _delimiter(name, head)
    return _list_candidates(text) if delimiter is None else _table_candidates(text, delimiter)


def _delimiter(name: str, head: str) -> str | None:
    """Return the separator of the columns of a table, or None for a list."""
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
                f"seeds {name}: a table without column names; put them in its first line, one of them `url`"
            )
        if len(columns) == len(fields) > 1 and any(map(_SCHEME.match, fields)):
            raise InputError(
                f"seeds {name}: a table with the columns {', '.join(columns)}; name the column of addresses `url`"
            )
    return None


def _list_candidates(text: TextIO) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(_lines(text), 1):
        candidate = line.strip()
        if not candidate or candidate.startswith("#"):
            continue
        if "\t" in candidate:
            candidate = next(
                (field.strip() for field in candidate.split("\t") if _SCHEME.match(field)), candidate
            )
        yield number, _percent_encode(candidate)


def _table_candidates(text: TextIO, delimiter: str) -> Iterator[tuple[int, str]]:
    csv.field_size_limit(MAX_LINE_CHARACTERS)  # for the whole process: csv has no other limit
    rows = csv.reader(text, delimiter=delimiter)
    names = next([column.strip().lower() for column in row] for row in rows if any(row))
    place = names.index("url")
    for row in rows:
        fields = row if len(names) > 1 else [delimiter.join(row)]  # a single column is never split
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
