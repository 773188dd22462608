"""A response is the same, however its bytes are cut into pieces."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.crawler.wire.http.response_reader import ResponseReader
from thresher.crawler.wire.limits import MAX_HEAD_BYTES

NAMES = st.text(alphabet="ABCabc-", min_size=1, max_size=8)
VALUES = st.text(alphabet="abc: ;=é", max_size=12).map(str.strip)
OK = b"HTTP/1.1 200 OK\r\n"


def read(received, limit=1_000, method="GET"):
    reading = ResponseReader(limit, method=method)
    reading.feed(received)
    reading.close()
    return reading


def message(received, limit=1_000, method="GET"):
    return read(received, limit, method).message()


def chunked(pieces):
    return b"".join(b"%x;e=1\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


@given(st.integers(200, 999), st.lists(st.tuples(NAMES, VALUES), max_size=6), st.binary(max_size=200))
def test_head_and_body_are_found_as_they_were_sent(status, headers, body):
    headers = [("Content-Length", str(len(body))), *headers]
    if status in (204, 304):
        body = b""
    head = (
        f"HTTP/1.1 {status} Reason\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers) + "\r\n"
    )
    found = message(head.encode("latin-1") + body)
    assert (found.status, found.headers) == (status, tuple(headers))
    assert found.response[: found.head_length] == head.encode("latin-1")
    assert found.payload == found.response[found.head_length :] == body
    assert found.is_complete
    assert not found.is_over_limit


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=5))
def test_chunk_framing_stays_in_the_response_and_not_in_the_payload(pieces):
    body = chunked(pieces)
    found = message(b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n" + body, 10_000)
    assert found.response.endswith(body)
    assert found.payload == b"".join(pieces)
    assert found.is_complete


@given(st.binary(max_size=60), st.integers(0, 60))
def test_the_body_is_cut_at_max_body(body, limit):
    found = message(b"HTTP/1.0 200 OK\r\n\r\n" + body, limit)
    assert found.payload == body[:limit]
    assert found.is_over_limit == (len(body) > limit)


BEGINNINGS = (
    b"",
    OK,
    b"\r\nICY 200 OK\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n" + OK,
    OK + b"Transfer-Encoding: chunked\r\n\r\n",
    OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    OK + b"Content-Length: 9\r\n\r\n",
    OK + b"Content-Length: 900\r\n\r\n",
)
SCRAPS = st.lists(
    st.sampled_from(
        [
            b"\r\n",
            b"\n",
            b"\r",
            b":",
            b" ",
            b"0",
            b"5",
            b"a",
            b"\0",
            b"X: y",
            b"HTTP/1.1 204",
            b"Content-Length: 3",
            b";",
        ]
    )
    | st.binary(max_size=20),
    max_size=30,
).map(b"".join)


@given(st.sampled_from(BEGINNINGS), SCRAPS, st.data())
def test_any_pieces_give_the_same_response_as_the_whole(beginning, rest, data):
    received = beginning + rest
    cuts = sorted(data.draw(st.lists(st.integers(0, len(received)), max_size=12)))
    pieces = [received[a:b] for a, b in zip([0, *cuts], [*cuts, len(received)], strict=True)]
    reading = ResponseReader(100)
    for piece in pieces:
        reading.feed(piece)
    reading.close()
    whole = read(received, 100)
    assert reading.message() == whole.message()
    assert (reading.fault is None) == (whole.fault is None)
    assert reading.keep_alive == whole.keep_alive
    found = reading.message()
    if found is not None:
        assert len(found.response) - found.head_length <= 100
        assert found.response in received


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_single_bytes_give_the_same_response_as_the_whole(beginning):
    received = beginning + b"5\r\nhello\r\n0\r\nA: b\r\n\r\nmore"
    reading = ResponseReader(1_000)
    for at in range(len(received)):
        reading.feed(received[at : at + 1])
    reading.close()
    assert reading.message() == message(received)


def test_interim_responses_are_not_part_of_the_response():
    found = message(
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", 9
    )
    assert found.response == b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"
    assert found.head_length == len(found.response) - 1


def test_a_burst_of_interim_responses_is_no_response():
    burst = b"HTTP/1.1 100 Continue\r\n\r\n"
    assert message(burst * 16 + OK + b"\r\n").status == 200
    assert read(burst * 17 + OK + b"\r\n").fault == "too many interim responses"


def test_bytes_beyond_the_declared_length_are_dropped():
    for begin in (OK + b"Content-Length: 2\r\n\r\nab", b"HTTP/1.1 204 No Content\r\n\r\n"):
        reading = read(begin + b"HTTP/1.1 200 OK\r\n\r\nevil", 99)
        assert reading.message().response == begin
        assert reading.surplus
        assert not reading.keep_alive


def test_bare_line_feeds_folds_and_lines_without_a_colon_are_read_as_browsers_do():
    found = message(b"HTTP/1.1 200\nA: b\n c\nnonsense\nN: \0\nX : \xe9\n\nhi", 99)
    assert found.headers == (("A", "b c"), ("X", "é"))
    assert found.payload == b"hi"


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"HTTP/1.1 200", 200),
        (b"HTTP/1.1 0 Zero", 0),
        (b"HTTP/1.1 999 Go away", 999),
        (b"http/1.0 200 ok", 200),
        (b"HTTP/3.7  404", 404),
        (b"ICY 200 OK", 200),
        (b"HTTP/1.1 101 Switching Protocols", 101),
    ],
)
def test_a_status_line_is_recorded_as_it_is(line, status):
    found = message(line + b"\r\n\r\nbody", 99)
    assert (found.status, found.response.split(b"\r\n")[0]) == (status, line)


@pytest.mark.parametrize(
    "received",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"<html><body>HTTP/0.9",
        b"HTTP/1.1\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"\r\n" * 40,
    ],
)
def test_bytes_that_are_no_response_give_none(received):
    reading = read(received, 9)
    assert reading.fault
    assert reading.message() is None


def test_an_unfinished_head_is_no_response_and_no_fault():
    reading = read(b"HTTP/1.1 200 OK\r\nContent-", 9)
    assert (reading.message(), reading.fault) == (None, None)


def test_a_head_may_be_long_but_not_endless():
    line = b"X-Header-00000: of some length\r\n"
    assert len(message(OK + line * 10_000 + b"\r\nhi").headers) == 10_000
    assert message(OK + b"X: " + b"y" * (400 << 10) + b"\r\n\r\nhi").payload == b"hi"
    assert read(OK + line * (MAX_HEAD_BYTES // len(line)) + b"\r\nhi").fault == "no end of the head"


@pytest.mark.parametrize(
    ("headers", "body", "payload", "ended", "keep_alive"),
    [
        (b"Content-Length: 2", b"ab", b"ab", True, True),
        (b"Content-Length: 2\r\nContent-Length: 2", b"ab", b"ab", True, True),
        (b"Content-Length: 2\r\nContent-Length: 4", b"ab", b"ab", True, False),
        (b"Content-Length: x, 2", b"ab", b"ab", True, False),
        (b"Content-Length: -2", b"ab", b"ab", False, False),
        (b"Content-Length: " + b"9" * 5_000, b"ab", b"ab", False, False),
        (b"Content-Length: 4", b"ab", b"ab", False, False),
        (b"Content-Length: 2\r\nConnection: close", b"ab", b"ab", True, False),
        (b"Content-Length: 3\r\nTransfer-Encoding: chunked", b"1\r\na\r\n0\r\n\r\n", b"a", True, False),
        (b"Transfer-Encoding: chunked", b"1\r\na\r\n0\r\nX: y\r\n\r\n", b"a", True, True),
        (b"Transfer-Encoding: chunked", b"1\r\na\r\n0\r\n", b"a", True, False),
        (b"Transfer-Encoding: chunked", b"1\r\na\r\n", b"a", False, False),
        (b"Transfer-Encoding: chunked", b"1\na\n0\n\n", b"a", True, True),
        (b"Transfer-Encoding: chunked", b"1\r\na\r\nxyz\r\n", b"a", False, False),
        (b"Transfer-Encoding: chunked", b"<html>no chunks\n", b"<html>no chunks\n", False, False),
        (b"Transfer-Encoding: identity", b"ab", b"ab", False, False),
        (b"Transfer-Encoding: gzip", gzip.compress(b"ab", mtime=0), b"ab", False, False),
        (b"Transfer-Encoding: gzip", b"plain", b"plain", False, False),
        (b"Transfer-Encoding: gzip, chunked", chunked([gzip.compress(b"ab", mtime=0)]), b"ab", True, True),
    ],
)
def test_where_a_body_ends(headers, body, payload, ended, keep_alive):
    reading = read(OK + headers + b"\r\n\r\n" + body)
    found = reading.message()
    assert found.response.endswith(body)
    assert (found.payload, found.is_complete, reading.keep_alive) == (payload, ended, keep_alive)


def test_a_response_that_cannot_have_a_body_has_none_whatever_its_head_says():
    for status, method in ((b"204", "GET"), (b"304", "GET"), (b"200", "HEAD")):
        reading = read(b"HTTP/1.1 " + status + b" x\r\nContent-Length: 4\r\n\r\n", method=method)
        assert (reading.message().payload, reading.message().is_complete) == (b"", True)


def test_a_connection_of_http_1_0_is_kept_only_if_the_response_says_so():
    for line, kept in ((b"", False), (b"Connection: keep-alive\r\n", True)):
        assert read(b"HTTP/1.0 200 OK\r\n" + line + b"Content-Length: 0\r\n\r\n").keep_alive == kept
