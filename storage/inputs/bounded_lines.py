"""Lines of a file, bounded: one that is longer than a record may be is passed over, whatever its length."""

from collections.abc import Iterator
from typing import BinaryIO

from storage.inputs.entry import MAX_PAYLOAD_BYTES

LONGEST_LINE = 2 * MAX_PAYLOAD_BYTES
"""Bytes: a JSON string may write a byte as six."""
BOM = b"\xef\xbb\xbf"


def lines(file: BinaryIO, longest: int = LONGEST_LINE) -> Iterator[tuple[int, bytes | None]]:
    """Each line with its number, from 1, and its line break; None for one of more than `longest` bytes.

    Only a line feed ends a line: U+2028 and its like stand in texts. A byte order mark is no part of the first.
    """
    number = 0
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
