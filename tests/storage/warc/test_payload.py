"""Payloads are decoded as far as they can be, never further than the limit, and nothing breaks the decoder."""

import gzip
import io
import zlib

import pytest
import zstandard
from fastwarc.stream_io import BrotliWriter
from hypothesis import given
from hypothesis import strategies as st

from tests.storage.captures import chunks
from thresher.storage.warc.payload import (
    BROKEN_CHUNKS,
    BROKEN_ENCODING,
    TOO_LONG,
    decode_chunked,
    decode_content,
    decode_transfer,
)

LIMIT = 1 << 20
TEXT = b"The quick brown fox. " * 200


def raw_deflate(data):
    engine = zlib.compressobj(wbits=-15)
    return engine.compress(data) + engine.flush()


def brotli(data):
    made = io.BytesIO()
    writer = BrotliWriter(made)
    writer.write(data)
    writer.close()
    return made.getvalue()


ENCODERS = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "GZip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli,
    "zstd": zstandard.compress,
}


@given(st.lists(st.binary(min_size=1, max_size=200), max_size=8))
def test_chunks_are_put_together(pieces):
    assert decode_chunked(chunks(*pieces), LIMIT) == (b"".join(pieces), None)


def test_extensions_trailers_upper_case_and_bare_line_feeds_are_fine():
    body = b'A;name="x"\r\n0123456789\r\n0a ; y\n0123456789\n0\r\nTrailer: z\r\n\r\n'
    assert decode_chunked(body, LIMIT) == (b"0123456789" * 2, None)


@pytest.mark.parametrize(
    ("body", "entity"),
    [
        (b"<html>stored decoded</html>", b"<html>stored decoded</html>"),
        (b"5\r\nhello\r\nzz\r\nlost", b"hello"),
        (b"5\r\nhello\r\n", b"hello"),
        (b"5\r\nhel", b"hel"),
        (b"-5\r\nhello\r\n", b"-5\r\nhello\r\n"),
        (b"\r\n", b"\r\n"),
        (b"ffffffffffffffff\r\nhello", b"hello"),
        (b"11111111111111111\r\nhello", b"11111111111111111\r\nhello"),
    ],
)
def test_broken_chunks_give_what_there_is(body, entity):
    assert decode_chunked(body, LIMIT) == (entity, BROKEN_CHUNKS)


def test_no_body_is_no_problem():
    assert decode_chunked(b"", LIMIT) == (b"", None)
    assert decode_content(b"", "gzip", LIMIT) == (b"", None)


@pytest.mark.parametrize("name", ENCODERS)
@given(data=st.binary(min_size=1, max_size=3000))
def test_every_encoding_round_trips(name, data):
    assert decode_content(ENCODERS[name](data), name, LIMIT) == (data, None)


def test_raw_deflate_is_deflate_too():
    assert decode_content(raw_deflate(TEXT), "deflate", LIMIT) == (TEXT, None)


def test_encodings_are_undone_from_the_last_to_the_first():
    body = brotli(gzip.compress(TEXT))
    assert decode_content(body, "gzip, identity, br", LIMIT) == (TEXT, None)


def test_gzip_may_have_many_members_and_rubbish_behind_them():
    assert decode_content(gzip.compress(TEXT) + gzip.compress(b"more") + b"rubbish", "gzip", LIMIT) == (
        TEXT + b"more",
        None,
    )


@pytest.mark.parametrize(
    "name", ["gzip", "deflate", "br", "zstd", "gzip, br", "unheard-of", "gzip" + ",gzip" * 50]
)
def test_an_encoding_that_lies_leaves_the_payload_as_it_is(name):
    assert decode_content(b"<html>plain</html>", name, LIMIT) == (b"<html>plain</html>", BROKEN_ENCODING)


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize("cut", [-1, -4, -30])
def test_a_cut_encoding_gives_what_there_is_and_says_so(name, cut):
    whole = bytes(range(256)) * 300
    found, problem = decode_content(ENCODERS[name](whole)[:cut], name, LIMIT)
    assert problem == BROKEN_ENCODING
    assert found == ENCODERS[name](whole)[:cut] or whole.startswith(found)


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
def test_a_bomb_stops_at_the_limit(name):
    bomb = ENCODERS[name](bytes(LIMIT * 20))
    assert decode_content(bomb, name, LIMIT) == (bytes(LIMIT), TOO_LONG)
    assert decode_content(ENCODERS[name](bytes(LIMIT)), name, LIMIT) == (bytes(LIMIT), None)


def test_nested_bombs_and_long_chunks_stop_at_the_limit():
    assert decode_content(gzip.compress(gzip.compress(bytes(LIMIT * 20))), "gzip, gzip", LIMIT) == (
        bytes(LIMIT),
        TOO_LONG,
    )
    assert decode_chunked(chunks(bytes(LIMIT), b"x"), LIMIT) == (bytes(LIMIT), TOO_LONG)
    assert decode_content(bytes(LIMIT + 1), "", LIMIT) == (bytes(LIMIT), TOO_LONG)


@given(st.binary(max_size=300), st.sampled_from([*ENCODERS, "gzip,br", "deflate, zstd"]))
def test_nothing_that_a_server_sends_raises(data, encodings):
    decode_content(data, encodings, 100)
    decode_chunked(data, 100)


@given(st.data(), st.sampled_from(["gzip", "deflate", "br", "zstd"]))
def test_nothing_that_a_disk_does_to_it_raises(data, name):
    body = bytearray(ENCODERS[name](TEXT))
    at = data.draw(st.integers(0, len(body) - 1))
    body[at] ^= data.draw(st.integers(1, 255))
    found, problem = decode_content(bytes(body), name, LIMIT)
    assert problem is None or isinstance(problem, str)
    assert len(found) <= LIMIT


@pytest.mark.parametrize("name", [b"", b"page.html"])
def test_a_wrong_checksum_costs_nothing_but_its_mention(name):
    with io.BytesIO() as made:
        with gzip.GzipFile(name.decode(), "wb", fileobj=made, mtime=0) as file:
            file.write(b"hello " * 50)
        member = made.getvalue()
    assert decode_content(member[:-8] + bytes(8), "gzip", LIMIT) == (
        (b"hello " * 50)[:LIMIT],
        BROKEN_ENCODING,
    )


def test_transfer_encodings_are_undone_chunks_first():
    member = gzip.compress(b"hello", mtime=0)
    assert decode_transfer(chunks(member), "gzip, chunked", LIMIT) == (b"hello", None)
    assert decode_transfer(member, "gzip", LIMIT) == (b"hello", None)
    assert decode_transfer(b"hello", "gzip", LIMIT) == (b"hello", BROKEN_ENCODING)
    assert decode_transfer(b"hello", "identity", LIMIT) == (b"hello", None)
    assert decode_transfer(b"hello", "chunked", LIMIT) == (b"hello", BROKEN_CHUNKS)
