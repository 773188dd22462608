"""The payload of an archived exchange: transfer and content decoding that no server can break.

1. What cannot be decoded is kept as it lies in the archive, and the problem is named: a false `Content-Encoding`,
   broken chunks. What can be decoded in part gives that part.
2. The result never exceeds `limit`, however few bytes expand to it.
3. Time is proportional to the bytes that come in and go out, however many streams they form.
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
"""More encodings on top of one another are an attack, not a page."""
PIECE = 1 << 20
MIN_WINDOW, MAX_WINDOW = 256, 64 << 10
"""Compressed bytes that a decoder gets at a time: the smallest at the start of a stream."""
ZSTD_WINDOW = 8 << 20
"""Bytes of memory that a Zstandard frame may ask for (RFC 9659, section 3)."""

LAST_CONTENT = b"\x55" * 1_000
LAST_FRAME = zstandard.ZstdCompressor().compress(LAST_CONTENT)
"""A frame that holds its content in another form than as it is: so no raw block can have swallowed the frame and still
show the content.
"""

Decoded = tuple[bytes, str | None]
"""The decoded bytes, and the problem if there was one."""


def decode_chunked(body: bytes, limit: int) -> Decoded:
    """Return the entity in a chunked body (RFC 9112, section 7.1). Skip extensions and trailers.

    Return a body whose first line is no chunk size unchanged, because many archives store bodies decoded.
    """
    if not body:
        return body, None
    pieces: list[bytes] = []
    at = size = 0
    while True:
        length, begin = _chunk_line(body, at)
        if length is None:
            return (b"".join(pieces), BROKEN_CHUNKS) if pieces else (body[:limit], BROKEN_CHUNKS)
        if length == 0:
            return b"".join(pieces), None
        piece = body[begin : begin + length]
        pieces.append(piece[: limit - size])
        size += len(piece)
        if size > limit:
            return b"".join(pieces), TOO_LONG
        if len(piece) < length:
            return b"".join(pieces), BROKEN_CHUNKS
        at = _behind_chunk(body, begin + length)


def trailers_at(body: bytes) -> int:
    """Return where the trailers of a chunked body begin; its end if it has no last chunk."""
    at = 0
    while True:
        length, begin = _chunk_line(body, at)
        if not length:
            return len(body) if length is None else begin
        at = _behind_chunk(body, begin + length)


def _chunk_line(body: bytes, at: int) -> tuple[int | None, int]:
    """Return the size that the line at `at` states, None if it states none, and where the chunk begins."""
    end = body.find(b"\n", at)
    digits = body[at : max(end, at)].partition(b";")[0].strip()
    return parse_chunk_size(digits), end + 1


def _behind_chunk(body: bytes, at: int) -> int:
    return at + (2 if body.startswith(b"\r\n", at) else body.startswith(b"\n", at))


def decode_transfer(body: bytes, encodings: str, limit: int) -> Decoded:
    """Return the entity in a body with a `Transfer-Encoding`: undo chunks, and the other encodings as far as that is
    possible.
    """
    names = [name for each in encodings.lower().split(",") if (name := each.strip()) not in ("", "identity")]
    problem = None
    if "chunked" in encodings.lower():
        body, problem = decode_chunked(body, limit)
    entity, undecoded = decode_content(body, ",".join(name for name in names if name != "chunked"), limit)
    return entity, problem or undecoded


def decode_content(entity: bytes, encodings: str, limit: int) -> Decoded:
    """Return the entity without its `Content-Encoding`s. They are undone from the last to the first."""
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
    """Return the number in the digits of a chunk size; None if they are no number."""
    if not 0 < len(digits) <= 16 or not all(digit in b"0123456789abcdefABCDEF" for digit in digits):
        return None
    return int(digits, 16)


def _gzip(data: bytes, limit: int) -> Decoded:
    """Inflate all members one after another. Skip what follows them and is no member, as browsers do.

    Accept a wrong checksum too: a decoder notices it only after it has discarded what it was computed over.
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
    """Return what follows the header of a gzip member (RFC 1952, section 2.3); nothing if there is no header."""
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
    """Inflate with the zlib wrapper that the standard requires, or raw, as some servers send it."""
    found, problem, _ = _inflated(data, 0, 15, limit)
    if problem == BROKEN_ENCODING and not found:
        found, problem, _ = _inflated(data, 0, -15, limit)
    return found, problem


def _inflated(data: bytes, at: int, wrapper: int, limit: int) -> tuple[bytes, str | None, int]:
    """Inflate the stream that begins at `at`. Return its bytes, the problem if there is one, and where the stream ends.

    The stream is fed in growing windows, because the decoder copies what lies behind its end and a body may hold a
    million streams.
    """
    engine, view, window = isal_zlib.decompressobj(wrapper), memoryview(data), MIN_WINDOW
    pieces: list[bytes] = []
    size = 0
    fed: bytes | memoryview = b""
    while not engine.eof:
        if not fed:
            fed = view[at : at + window]
            at, window = at + len(fed), min(2 * window, MAX_WINDOW)
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
    """Return whether the last frame ends, which the reader does not say. A frame that does not end swallows one that is
    put behind it.
    """
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
