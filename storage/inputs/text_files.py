"""Read files that are one document each, and texts that have one document a line."""

from collections.abc import Iterator
from functools import partial
from typing import BinaryIO
from urllib.parse import quote

from thresher.storage.inputs.bounded_lines import BOM, lines
from thresher.storage.inputs.entry import MAX_PAYLOAD_BYTES, InputRecord, UnusableRecord, guard
from thresher.storage.inputs.table_files.columns import PLAIN, RowLocation

PLAIN_BYTES = "text/plain"
"""Media type of a text whose encoding is unknown."""


def read_whole(
    file: BinaryIO, name: str, first: int = 0, *, mime: str
) -> Iterator[InputRecord | UnusableRecord]:
    """Yield the whole file as one record of the media type `mime`."""
    if first:
        return
    payload = file.read(MAX_PAYLOAD_BYTES + 1)
    if not payload.strip():
        yield UnusableRecord(place=0, reason="no_text", detail="nothing in it")
    elif len(payload) > MAX_PAYLOAD_BYTES:
        yield UnusableRecord(
            place=0,
            reason="too_long",
            detail=f"more than {MAX_PAYLOAD_BYTES:,} bytes; give a document a line",
        )
    else:
        yield document(payload, mime, place=0, uri=f"file:{quote(name)}", name=name)


def document(payload: bytes, mime: str, *, place: int, uri: str, name: str) -> InputRecord:
    """Return the record of a document whose text may have any encoding."""
    if mime == PLAIN_BYTES:
        mime, payload = typed(payload)
    return InputRecord(place=place, uri=uri, mime=mime, payload=payload, facts={"from": name})


def typed(payload: bytes) -> tuple[str, bytes]:
    """Return the media type and the bytes of a text.

    If the text is UTF-8, the type says so and the byte order mark is removed.
    """
    try:
        payload.decode()
    except UnicodeDecodeError:
        return PLAIN_BYTES, payload
    return PLAIN, payload.removeprefix(BOM)


def by_line(file: BinaryIO, name: str, first: int = 0) -> Iterator[InputRecord | UnusableRecord]:
    """Yield an item for each line that is not blank."""
    place = -1
    for number, line in lines(file, MAX_PAYLOAD_BYTES):
        if line is not None and not line.strip():
            continue
        place += 1
        if place < first:
            continue
        spot = RowLocation(name=name, place=place, fragment=f"line={number}")
        if line is None:
            yield UnusableRecord(
                place=place, reason="too_long", detail=f"line {number}: more than {MAX_PAYLOAD_BYTES:,} bytes"
            )
            continue
        make = partial(document, line.rstrip(b"\r\n"), PLAIN_BYTES, place=place, uri=spot.uri, name=name)
        yield guard(place, spot.fragment, make)
