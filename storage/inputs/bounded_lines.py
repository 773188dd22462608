"""Read the lines of a file in bounded memory: a line that is longer than the limit is skipped, however long it is."""

from collections.abc import Iterator
from typing import BinaryIO

from thresher.storage.inputs.entry import MAX_PAYLOAD_BYTES

MAX_LINE_LENGTH = 2 * MAX_PAYLOAD_BYTES
"""Bytes of the longest line. A line may be longer than a payload because JSON escapes characters (`\\u0041`)."""
BOM = b"\xef\xbb\xbf"


def lines(
    file: BinaryIO, longest: int = MAX_LINE_LENGTH, begin: int = 1
) -> Iterator[tuple[int, bytes | None]]:
    """Yield the number (from `begin`) and the bytes of each line, with its line break; None for a line over `longest`
    bytes.

    Only a line feed ends a line, because texts contain U+2028 and similar characters. A byte order mark in front of
    line 1 is removed.
    """
    number = begin - 1
    while line := file.readline(longest + 1):
        number += 1
        if number == 1:
            line = line.removeprefix(BOM)
        if len(line) > longest and not line.endswith(b"\n"):
            while (rest := file.readline(longest)) and not rest.endswith(b"\n"):
                pass
            yield number, None
        else:
            yield number, line
