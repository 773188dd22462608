"""Streams that unpack to far more than they are: asked before the library unpacks any of them.

A stream is what lies between `stream` and `endstream`; whatever its dictionary says of it, bytes that begin as zlib's do
are unpacked as far as `LARGEST`. Pictures are left out: the library unpacks them only where it draws a page, and then
within their width and height. Of encrypted documents nothing can be said here.
"""

import re
import zlib

LARGEST = 48 << 20
"""Bytes that a stream unpacks to. Reading a page of as many takes PDFium a second; of real ones the largest has 2.8 MB."""
RATIO = 1032
"""Bytes that deflate makes of one at most (zlib, technical details)."""
DICTIONARY = 4_096
"""Bytes in front of a stream that are looked at."""

_STREAM = re.compile(rb">>\s*stream\r?\n")
_PACKING = rb"/(?:FlateDecode|Fl|LZWDecode|LZW|RunLengthDecode|RL)\b"
_TWICE = re.compile(rb"/Filter\s*+\[" + 2 * (rb"(?:(?!" + _PACKING + rb")[^\[\]])*+" + _PACKING))
_PICTURE = re.compile(rb"/Subtype\s*/Image\b")


def is_bomb(payload: bytes) -> bool:
    """Whether a stream is packed twice, or unpacks to more than `LARGEST` bytes."""
    view = memoryview(payload)
    for found in _STREAM.finditer(payload):
        begin = found.end()
        first = max(0, found.start() - DICTIONARY)
        said = payload[max(first, payload.rfind(b"obj", first, found.start())) : found.start()]
        if _TWICE.search(said):
            return True
        if _PICTURE.search(said):
            continue
        end = payload.find(b"endstream", begin)
        end = len(payload) if end < 0 else end
        if (end - begin) * RATIO > LARGEST and _unpacked(view[begin:end]) > LARGEST:
            return True
    return False


def _unpacked(stream: memoryview) -> int:
    """Bytes, counted up to `LARGEST` and a little more; 0 where it is not packed by deflate."""
    count, unpack = 0, zlib.decompressobj()
    rest: bytes | memoryview = stream
    try:
        while rest and count <= LARGEST and not unpack.eof:
            count += len(unpack.decompress(rest, 1 << 20))
            rest = unpack.unconsumed_tail
    except zlib.error:
        pass
    return count
