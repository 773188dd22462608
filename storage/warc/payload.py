"""The payload of an archived exchange: transfer and content decoding that no server can break.

1. What cannot be decoded is kept as it lies in the archive, with the problem named: a `Content-Encoding` that
   lies, chunks that are none. What can be decoded in part gives that part.
2. The result never exceeds `limit`, however small the bytes that swell to it.
3. Time is in proportion to the bytes that come in and go out, however many streams they are.
"""

import io
from collections.abc import Callable
from typing import Any, cast

import zstandard
from fastwarc.stream_io import BrotliReader
from isal import isal_zlib

BROKEN_CHUNKS = "broken_chunks"
BROKEN_ENCODING = "broken_content_encoding"
TOO_LONG = "too_long"
INFLATE_ERROR = cast("type[Exception]", isal_zlib.error)  # its stub calls the class an instance
ENCODINGS_AT_MOST = 4
"""More encodings over one another than this are an attack, not a page."""
PIECE = 1 << 20
SMALLEST_WINDOW, LARGEST_WINDOW = 256, 64 << 10
"""Compressed bytes given to a decoder at a time: the smallest at the beginning of a stream."""
ZSTD_WINDOW = 8 << 20
"""Bytes of memory that a Zstandard frame may ask for (RFC 9659, section 3)."""

LAST_CONTENT = b"\x55" * 1_000
LAST_FRAME = zstandard.ZstdCompressor().compress(LAST_CONTENT)
"""A frame that does not hold its content as it is, so that no raw block can have swallowed the one and show the other."""

Decoded = tuple[bytes, str | None]
"""What was decoded, and the problem if there was one."""


def decode_chunked(body: bytes, limit: int) -> Decoded:
    """The entity in a chunked body (RFC 9112, section 7.1; extensions and trailers are passed over).

    A body whose first line is no chunk size is returned as it is: many archives store it decoded.
    """
    if not body:
        return body, None
    pieces: list[bytes] = []
    at = size = 0
    while True:
        end = body.find(b"\n", at)
        digits = body[at : max(end, at)].partition(b";")[0].strip()
        length = parse_chunk_size(digits)
        if length is None:
            return (b"".join(pieces), BROKEN_CHUNKS) if pieces else (body[:limit], BROKEN_CHUNKS)
        if length == 0:
            return b"".join(pieces), None
        begin = end + 1
        piece = body[begin : begin + length]
        pieces.append(piece[: limit - size])
        size += len(piece)
        if size > limit:
            return b"".join(pieces), TOO_LONG
        if len(piece) < length:
            return b"".join(pieces), BROKEN_CHUNKS
        at = begin + length
        at += 2 if body.startswith(b"\r\n", at) else body.startswith(b"\n", at)


def decode_transfer(body: bytes, encodings: str, limit: int) -> Decoded:
    """The entity in a body, of a `Transfer-Encoding`: chunks, and what else it names as far as it can be undone."""
    names = [name for each in encodings.lower().split(",") if (name := each.strip()) not in ("", "identity")]
    problem = None
    if "chunked" in encodings.lower():
        body, problem = decode_chunked(body, limit)
    entity, undecoded = decode_content(body, ",".join(name for name in names if name != "chunked"), limit)
    return entity, problem or undecoded


def decode_content(entity: bytes, encodings: str, limit: int) -> Decoded:
    """The entity without its `Content-Encoding`s, which are undone from the last to the first."""
    names = [name for each in encodings.lower().split(",") if (name := each.strip()) not in ("", "identity")]
    if not entity or not names:
        return entity[:limit], TOO_LONG if len(entity) > limit else None
    if len(names) > ENCODINGS_AT_MOST:
        return entity[:limit], BROKEN_ENCODING
    problem = None
    for name in reversed(names):
        decode = DECODERS.get(name)
        decoded, found = decode(entity, limit) if decode else (b"", BROKEN_ENCODING)
        problem = problem or found
        if decoded or not found:
            entity = decoded
        if found:
            break
    return entity[:limit], problem


def parse_chunk_size(digits: bytes) -> int | None:
    """The number that the digits of a chunk size are; None if they are none."""
    if not 0 < len(digits) <= 16 or not all(digit in b"0123456789abcdefABCDEF" for digit in digits):
        return None
    return int(digits, 16)


def _gzip(data: bytes, limit: int) -> Decoded:
    """All members one after another; what follows them and is none is passed over, as browsers do.

    So is a wrong checksum, which a decoder notices only when it has thrown away what it was made of.
    """
    pieces: list[bytes] = []
    size = at = 0
    while True:
        found, problem, end = _inflated(data, at, 31, limit - size)
        if problem == BROKEN_ENCODING:
            found = max(found, _inflated(_headless(data[at:]), 0, -15, limit - size)[0], key=len)
        pieces.append(found)
        size += len(found)
        if problem or not data.startswith(b"\x1f\x8b", end):
            return b"".join(pieces), problem
        at = end


def _headless(member: bytes) -> bytes:
    """What follows the header of a gzip member (RFC 1952, section 2.3); nothing where it has none."""
    if len(member) < 10 or not member.startswith(b"\x1f\x8b\x08"):
        return b""
    flags, at = member[3], 10
    if flags & 4:
        at += 2 + int.from_bytes(member[at : at + 2], "little")
    for text in (8, 16):
        if flags & text:
            at = member.find(b"\0", at) + 1 or len(member)
    return member[at + (flags & 2) :]


def _deflate(data: bytes, limit: int) -> Decoded:
    """With the zlib wrapper that the standard asks for, or raw, as some servers send it."""
    found, problem, _ = _inflated(data, 0, 15, limit)
    if problem == BROKEN_ENCODING and not found:
        found, problem, _ = _inflated(data, 0, -15, limit)
    return found, problem


def _inflated(data: bytes, at: int, wrapper: int, limit: int) -> tuple[bytes, str | None, int]:
    """What is inflated of the stream that begins at `at`, and where it ends.

    The stream is fed in windows that grow: what is behind its end is copied by the decoder, and a body may be a million streams.
    """
    engine, view, window = isal_zlib.decompressobj(wrapper), memoryview(data), SMALLEST_WINDOW
    pieces: list[bytes] = []
    size = 0
    fed: bytes | memoryview = b""
    while not engine.eof:
        if not fed:
            fed = view[at : at + window]
            at, window = at + len(fed), min(2 * window, LARGEST_WINDOW)
        try:
            piece = engine.decompress(fed, min(PIECE, limit + 1 - size))
        except INFLATE_ERROR:
            return b"".join(pieces), BROKEN_ENCODING, at
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            return b"".join(pieces)[:limit], TOO_LONG, at
        fed = engine.unconsumed_tail
        if not piece and not fed and at == len(data) and not engine.eof:
            return b"".join(pieces), BROKEN_ENCODING, at
    return b"".join(pieces), None, at - len(engine.unused_data)


def _brotli(data: bytes, limit: int) -> Decoded:
    return _read(BrotliReader(io.BytesIO(data)), OSError, limit)


def _zstd(data: bytes, limit: int) -> Decoded:
    found, problem = _read(_zstd_reader(data), zstandard.ZstdError, limit)
    if problem is None and not _is_whole_zstd(data):
        problem = BROKEN_ENCODING
    return found, problem


def _is_whole_zstd(data: bytes) -> bool:
    """Whether the last frame ends: the reader does not say. If it does not, it swallows a frame put behind it."""
    stream, tail = _zstd_reader(data + LAST_FRAME), b""
    try:
        while piece := stream.read(PIECE):
            tail = (tail + piece)[-len(LAST_CONTENT) :]
    except zstandard.ZstdError:
        return False
    return tail == LAST_CONTENT


def _zstd_reader(data: bytes) -> Any:
    engine = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW)
    return engine.stream_reader(data, read_across_frames=True)


def _read(stream: Any, error: type[Exception], limit: int) -> Decoded:
    found = bytearray()
    try:
        while piece := stream.read(min(PIECE, limit + 1 - len(found))):
            found += piece
            if len(found) > limit:
                return bytes(found[:limit]), TOO_LONG
    except error:
        return bytes(found), BROKEN_ENCODING
    return bytes(found), None


DECODERS: dict[str, Callable[[bytes, int], Decoded]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
