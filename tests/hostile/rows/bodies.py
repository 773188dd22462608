"""Rows 36 to 38: content encodings that swell, lie, or are unknown."""

import gzip
import zlib

import brotli
import zstandard

from tests.crawler.server import page
from tests.hostile.rows.row import Row, WebAddress

LINK = b'<p>words of the page</p><a href="/behind">on</a>'
HUGE = b"<p>" + b"\0" * (30 << 20)


def encoded(body: bytes, encoding: str, *headers: str) -> bytes:
    return page(body, *([f"Content-Encoding: {encoding}"] if encoding else []), *headers)


def bomb(name, body, encoding):
    """Return a row whose body is archived as it came, while the crawl goes on."""
    return Row(
        number=36,
        name=name,
        answers={"/bad": encoded(body, encoding)},
        ended={"/bad": "fetched:*"},
        kept={"/bad": None},
        asked={"/bad": (1, 1)},
        extra_check=lambda seen: seen.body("/bad", body),
    )


def bombs() -> list[Row]:
    once = gzip.compress(HUGE, mtime=0)
    return [
        bomb("a gzip bomb", once, "gzip"),
        bomb("a gzip bomb in gzip", gzip.compress(once, mtime=0), "gzip, gzip"),
        bomb("gzip twenty times", _nested(20), ", ".join(["gzip"] * 20)),
        bomb("a brotli bomb", brotli.compress(HUGE, quality=5), "br"),
        bomb("a zstd bomb", zstandard.compress(HUGE), "zstd"),
        bomb("a deflate bomb", zlib.compress(HUGE), "deflate"),
        bomb("a zstd frame with a window of 2 GiB", _wide_zstd(), "zstd"),
        bomb("a thousand gzip members", gzip.compress(b"x" * 10_000) * 1000, "gzip"),
    ]


def _nested(times: int) -> bytes:
    body = LINK
    for _ in range(times):
        body = gzip.compress(body, mtime=0)
    return body


def _wide_zstd() -> bytes:
    # Magic, a frame header that asks for the largest window, one empty last block.
    return b"\x28\xb5\x2f\xfd\x00\xf8\x01\x00\x00"


def lies() -> list[Row]:
    squeezed = gzip.compress(LINK, mtime=0)
    raw = zlib.compressobj(wbits=-15)
    deflated = raw.compress(LINK) + raw.flush()

    def read(name, body, encoding, *headers, number=37, follows=True, **more):
        return Row(
            number=number,
            name=name,
            answers={"/bad": encoded(body, encoding, *headers), "/behind": page("behind")},
            links=("/bad",),
            kept={"/bad": None},
            ended={"/bad": "fetched:*"},
            asked={"/bad": (1, 1), **({"/behind": (1, 1)} if follows else {})},
            extra_check=lambda seen: seen.body("/bad", body),
            **more,
        )

    return [
        read("gzip that is gzip", squeezed, "gzip"),
        read("brotli that is brotli", brotli.compress(LINK), "br"),
        read("zstd that is zstd", zstandard.compress(LINK), "zstd"),
        read("says gzip and is plain", LINK, "gzip"),
        read("says br and is plain", LINK, "br"),
        read("says deflate and is raw", deflated, "deflate"),
        read("says deflate and is zlib", zlib.compress(LINK), "deflate"),
        read("gzip with junk behind it", squeezed + b"junk" * 100, "gzip"),
        read("gzip of two members", gzip.compress(LINK[:10]) + gzip.compress(LINK[10:]), "gzip"),
        read("gzip with a wrong checksum", squeezed[:-8] + b"\0" * 8, "gzip"),
        read("gzip without its end", squeezed[:-8], "gzip"),
        read("is gzip and does not say so", squeezed, "", follows=False),
        read("says gzip twice", squeezed, "gzip", "Content-Encoding: identity"),
        read(
            "gzip with a name and a comment",
            b"\x1f\x8b\x08\x18" + b"\0" * 6 + b"name\0comment\0" + squeezed[10:],
            "gzip",
        ),
        read("an encoding of a time gone by", LINK, "compress", number=38, follows=False),
        read("X-GZIP in capitals", squeezed, "X-GZIP"),
        read("identity", LINK, "identity"),
        read("an encoding that nobody knows", LINK, "snappy", number=38, follows=False),
        read("an encoding of nonsense", LINK, ",,;q=\x01", number=38, follows=False),
    ]


def rows(_: WebAddress) -> list[Row]:
    return [*bombs(), *lies()]
