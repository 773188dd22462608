"""The records of a big XML file, one small document each, without a tree of the whole.

Dumps are one root element that holds millions of elements of one name. `<` stands in no XML text or attribute but as
markup, so where the next one begins can be found without parsing, and each is parsed alone. (In comments and CDATA it may
stand; dumps have neither, and what looks like an element there is taken for one.)

1. An element that is not well-formed costs itself. What is cut off is not well-formed, and an `Unusable` of its own
   says that the file ends there.
2. Memory is bounded by the longest element, and an element by `limit`.
3. There is no DTD: one is refused in the head, and is not well-formed anywhere else. So no entity but XML's own five is
   known, nothing expands, nothing is fetched. Elements within elements are `DEEPEST` at most.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO
from xml.parsers import expat

from core import InputError
from storage.inputs.entry import MAX_PAYLOAD_BYTES, UnusableRecord
from storage.warc.members import CUT_OFF, PIECE

LONGEST_HEAD = 1 << 20
"""Bytes in front of the first element: a dump of the English Wikipedia has 4 KB."""
DEEPEST = 32
"""Elements within one another: a page has 5."""

BROKEN_XML, TOO_LONG, BEYOND = "broken_xml", "too_long", "behind_the_end"

StartHandler = Callable[[tuple[str, ...], Mapping[str, str]], None]
"""`start(path, attributes)` of an element; `path` are the names from the outermost on to its own."""
TextHandler = Callable[[tuple[str, ...], str], None]
"""`text(path, characters)` of a stretch of the element's own text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """One of the elements, not parsed yet."""

    number: int
    """From 0."""
    offset: int
    """Of its first byte in the unpacked file."""
    xml: bytes
    """Empty where it is too long."""


class _Refused(Exception):
    """Raised through the parser, to stop it."""


def elements(
    file: BinaryIO, name: str, *, root: str, begin: bytes, limit: int = MAX_PAYLOAD_BYTES
) -> tuple[bytes, Iterator[Element | UnusableRecord]]:
    """What stands in front of the first element, and the elements: `begin` is how each begins (`<page>`).

    Behind the last whole element comes an `UnusableRecord` where the root element does not end (`cut_off`), or where something
    follows it. Raises `InputError` where none begins in a MiB.
    """
    buffer, end = bytearray(), f"</{root}".encode()
    while (first := buffer.find(begin)) < 0 and end not in buffer:
        if len(buffer) > LONGEST_HEAD:
            raise InputError(f"{name} is no dump: nothing begins with {begin.decode()} in its first MiB")
        if not (piece := file.read(PIECE)):
            break
        buffer += piece
    at = min((place for place in (first, buffer.find(end)) if place >= 0), default=len(buffer))
    head = bytes(buffer[:at])
    del buffer[:at]
    return head, _elements(iter(lambda: file.read(PIECE), b""), buffer, len(head), begin, end, limit)


def _elements(
    pieces: Iterator[bytes], buffer: bytearray, offset: int, begin: bytes, end: bytes, limit: int
) -> Iterator[Element | UnusableRecord]:
    number, searched, long = 0, 1, 0  # `long`: bytes of an element that is too long, and already let go
    is_cut = False
    while not buffer.startswith(end) or long:
        after = buffer.find(begin, searched)
        last = buffer.find(end, searched, after if after >= 0 else len(buffer))
        if (stop := last if last >= 0 else after) < 0 and not is_cut:
            searched = max(1, len(buffer) - max(len(begin), len(end)) + 1)
            if len(buffer) > limit:
                long += searched
                del buffer[:searched]
                searched = 0
            piece = next(pieces, b"")
            buffer += piece
            is_cut = not piece
            continue
        stop = len(buffer) if stop < 0 else stop
        if stop + long:
            whole = not long and stop <= limit
            yield Element(number=number, offset=offset, xml=bytes(buffer[:stop]) if whole else b"")
            number += 1
        offset += stop + long
        del buffer[:stop]
        searched, long = 1, 0
        if is_cut and not buffer:
            yield UnusableRecord(place=number, reason=CUT_OFF, detail=f"it ends at byte {offset} unpacked")
            return
    beyond = _beyond(pieces, buffer)
    if beyond is not None:
        yield UnusableRecord(place=number, reason=beyond, detail=f"at byte {offset} unpacked")


def _beyond(pieces: Iterator[bytes], buffer: bytearray) -> str | None:
    """What is wrong behind the beginning of the root element's end: nothing, where it ends and blanks follow."""
    while b">" not in buffer:
        if not (piece := next(pieces, b"")):
            return CUT_OFF
        buffer += piece
    rest: bytes | bytearray = buffer[buffer.index(b">") + 1 :]
    while rest and not rest.strip():
        rest = next(pieces, b"")
    return BEYOND if rest else None


def parse(xml: bytes, start: StartHandler | None = None, text: TextHandler | None = None) -> str | None:
    """Go through one element; what is wrong with it, or None. Only what went before is heard of then."""
    try:
        _parse(xml, start, text, is_final=True)
    except (expat.ExpatError, _Refused) as error:
        return str(error)
    return None


def parse_head(xml: bytes, name: str, start: StartHandler, text: TextHandler | None = None) -> None:
    """Go through what stands in front of the first element. Raises `InputError` where it is no XML or has a DTD."""
    try:
        _parse(xml, start, text, is_final=False)
    except (expat.ExpatError, _Refused) as error:
        raise InputError(f"{name} is no dump: {error}") from None


def _parse(xml: bytes, start: StartHandler | None, text: TextHandler | None, *, is_final: bool) -> None:
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    path: list[tuple[str, ...]] = [()]

    def begun(tag: str, attributes: dict[str, str]) -> None:
        if len(path) > DEEPEST:
            raise _Refused(f"more than {DEEPEST} elements within one another")
        path.append((*path[-1], tag))
        if start is not None:
            start(path[-1], attributes)

    def ended(_: str) -> None:
        path.pop()

    def doctype(*_: object) -> None:
        raise _Refused("it has a DTD, which no dump has")

    parser.StartElementHandler = begun
    parser.EndElementHandler = ended
    parser.StartDoctypeDeclHandler = doctype
    if text is not None:
        heard = text
        parser.CharacterDataHandler = lambda characters: heard(path[-1], characters)
    parser.Parse(xml, is_final)
