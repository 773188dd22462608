"""Split a large XML file into its elements and parse each alone, without a tree of the whole file.

A dump is one root element that holds millions of elements of one name. In XML text and attributes, `<` appears only as
markup. The start of the next element can therefore be found without parsing. (Comments and CDATA may contain `<`. Dumps
have neither; what looks like an element there is taken for one.)

1. An element that is not well-formed costs only itself. If the file is cut off, its last element is not well-formed,
   and one more `UnusableRecord` says that the file ends there.
2. Memory is bounded by the longest element, and an element by `limit`.
3. There is no DTD: in the head it is refused, anywhere else it is not well-formed. Only XML's five own entities exist,
   so nothing expands and nothing is fetched. Elements nest at most `DEEPEST` levels.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO
from xml.parsers import expat

from thresher.core import InputError
from thresher.storage.inputs.entry import MAX_PAYLOAD_BYTES, UnusableRecord
from thresher.storage.warc.members import CUT_OFF, PIECE

MAX_HEAD_LENGTH = 1 << 20
"""Bytes before the first element at most: a dump of the English Wikipedia has 4 KB."""
DEEPEST = 32
"""Levels of nested elements at most: a page has 5."""

BROKEN_XML, TOO_LONG, BEYOND = "broken_xml", "too_long", "behind_the_end"

StartHandler = Callable[[tuple[str, ...], Mapping[str, str]], None]
"""`start(path, attributes)` is called for each element; `path` holds the names from the outermost element to this one.
"""
TextHandler = Callable[[tuple[str, ...], str], None]
"""`text(path, characters)` is called for each piece of an element's own text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """One element, not parsed yet."""

    number: int
    """From 0."""
    offset: int
    """Offset of its first byte in the unpacked file."""
    xml: bytes
    """Its bytes; empty if it is longer than the limit."""


class _Refused(Exception):
    """A handler refuses the document; raised through the parser to stop it."""


def elements(
    file: BinaryIO, name: str, *, root: str, begin: bytes, limit: int = MAX_PAYLOAD_BYTES
) -> tuple[bytes, Iterator[Element | UnusableRecord]]:
    """Return the bytes before the first element, and the elements. `begin` is the start of each element (`<page>`).

    An `UnusableRecord` follows the last whole element if the root element does not end (`cut_off`) or if anything
    follows the root element. Raise `InputError` if no element begins in the first MiB.
    """
    buffer, end = bytearray(), f"</{root}".encode()
    while (first := buffer.find(begin)) < 0 and end not in buffer:
        if len(buffer) > MAX_HEAD_LENGTH:
            raise InputError(f"{name} is no dump: nothing begins with {begin.decode()} in its first MiB")
        if not (piece := file.read(PIECE)):
            break
        buffer += piece
    head_length = min((place for place in (first, buffer.find(end)) if place >= 0), default=len(buffer))
    head = bytes(buffer[:head_length])
    del buffer[:head_length]
    return head, _elements(iter(lambda: file.read(PIECE), b""), buffer, len(head), begin, end, limit)


def _elements(
    pieces: Iterator[bytes], buffer: bytearray, offset: int, begin: bytes, end: bytes, limit: int
) -> Iterator[Element | UnusableRecord]:
    number, searched, dropped = 0, 1, 0  # `dropped`: bytes of an element over `limit`
    is_cut = False
    while not buffer.startswith(end) or dropped:
        after = buffer.find(begin, searched)
        last = buffer.find(end, searched, after if after >= 0 else len(buffer))
        if (stop := last if last >= 0 else after) < 0 and not is_cut:
            searched = max(1, len(buffer) - max(len(begin), len(end)) + 1)
            if len(buffer) > limit:
                dropped += searched
                del buffer[:searched]
                searched = 0
            piece = next(pieces, b"")
            buffer += piece
            is_cut = not piece
            continue
        stop = len(buffer) if stop < 0 else stop
        if stop + dropped:
            whole = not dropped and stop <= limit
            yield Element(number=number, offset=offset, xml=bytes(buffer[:stop]) if whole else b"")
            number += 1
        offset += stop + dropped
        del buffer[:stop]
        searched, dropped = 1, 0
        if is_cut and not buffer:
            yield UnusableRecord(place=number, reason=CUT_OFF, detail=f"it ends at byte {offset} unpacked")
            return
    reason = _check_end(pieces, buffer)
    if reason is not None:
        yield UnusableRecord(place=number, reason=reason, detail=f"at byte {offset} unpacked")


def _check_end(pieces: Iterator[bytes], buffer: bytearray) -> str | None:
    """Return the reason code if the root element does not end, or if anything but blanks follows it; None otherwise."""
    while b">" not in buffer:
        if not (piece := next(pieces, b"")):
            return CUT_OFF
        buffer += piece
    rest: bytes | bytearray = buffer[buffer.index(b">") + 1 :]
    while rest and not rest.strip():
        rest = next(pieces, b"")
    return BEYOND if rest else None


def parse(xml: bytes, start: StartHandler | None = None, text: TextHandler | None = None) -> str | None:
    """Parse one element. Return None, or what is wrong with it; the handlers have then seen only the part before it."""
    try:
        _parse(xml, start, text, is_final=True)
    except (expat.ExpatError, _Refused) as error:
        return str(error)
    return None


def parse_head(xml: bytes, name: str, start: StartHandler, text: TextHandler | None = None) -> None:
    """Parse the bytes before the first element. Raise `InputError` if they are not XML or have a DTD."""
    try:
        _parse(xml, start, text, is_final=False)
    except (expat.ExpatError, _Refused) as error:
        raise InputError(f"{name} is no dump: {error}") from None


def _parse(xml: bytes, start: StartHandler | None, text: TextHandler | None, *, is_final: bool) -> None:
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    path: list[tuple[str, ...]] = [()]

    def begin(tag: str, attributes: dict[str, str]) -> None:
        if len(path) > DEEPEST:
            raise _Refused(f"more than {DEEPEST} elements within one another")
        path.append((*path[-1], tag))
        if start is not None:
            start(path[-1], attributes)

    def end(_: str) -> None:
        path.pop()

    def doctype(*_: object) -> None:
        raise _Refused("it has a DTD, which no dump has")

    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = doctype
    if text is not None:
        handler = text
        parser.CharacterDataHandler = lambda characters: handler(path[-1], characters)
    parser.Parse(xml, is_final)
