"""PNG images, made by the standard library and read by it."""

import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def png(width, height, color):
    """Return an image of one color, `(red, green, blue)`."""
    rows = (b"\0" + bytes(color) * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return SIGNATURE + b"".join(
        _chunk(kind, data)
        for kind, data in ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b""))
    )


def png_size(data):
    """Return width and height of an image."""
    assert data.startswith(SIGNATURE)
    return struct.unpack(">II", data[16:24])


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
