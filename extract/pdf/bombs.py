"""Find decompression bombs in a PDF before the library unpacks any stream.

A stream lies between `stream` and `endstream`. Bytes that begin like zlib data are unpacked up to `LARGEST`, whatever
the dictionary of the stream states. Pictures are skipped, because the library unpacks them only when it draws a page,
and then only within their width and height. The streams of encrypted documents cannot be checked.
"""

import re
import zlib

LARGEST = 48 << 20
"""Bytes that a stream may unpack to. PDFium takes a second to read a page of that size; the largest real stream has 2.8
MB.
"""
RATIO = 1032
"""Bytes that deflate unpacks from one byte at most (zlib, technical details)."""
DICTIONARY = 4_096
"""Bytes before a stream in which its dictionary is searched."""

_STREAM = re.compile(rb">>\s*stream\r?\n")
_PACKING = rb"/(?:FlateDecode|Fl|LZWDecode|LZW|RunLengthDecode|RL)\b"
_TWICE = re.compile(rb"/Filter\s*+\[" + 2 * (rb"(?:(?!" + _PACKING + rb")[^\[\]]|)*+" + _PACKING))
_PICTURE = re.compile(rb"/Subtype\s*/Image\b")


def is_bomb(payload: bytes) -> bool:
    """Return whether a stream is compressed twice or unpacks to more than `LARGEST` bytes."""
    view = memoryview(payload)
    for found in _STREAM.finditer(payload):
        begin = found.end()
        first = max(0, found.start() - DICTIONARY)
        dictionary = payload[max(first, payload.rfind(b"obj", first, found.start())) : found.start()]
        if _TWICE.search(dictionary):
            return True
        if _PICTURE.search(dictionary):
            continue
        end = payload.find(b"endstream", begin)
        end = len(payload) if end < 0 else end
        if (end - begin) * RATIO > LARGEST and _unpacked_size(view[begin:end]) > LARGEST:
            return True
    return False


def _unpacked_size(stream: memoryview) -> int:
    """Return the unpacked bytes of a stream, counted to a little over `LARGEST`; return 0 if it is not deflate."""
    count, unpack = 0, zlib.decompressobj()
    rest: bytes | memoryview = stream
    try:
        while rest and count <= LARGEST and not unpack.eof:
            count += len(unpack.decompress(rest, 1 << 20))
            rest = unpack.unconsumed_tail
    except zlib.error:
        pass
    return count
