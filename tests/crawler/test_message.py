from hypothesis import given
from hypothesis import strategies as st

from crawler.message import field, message

NAMES = st.text(alphabet="ABCabc-", min_size=1, max_size=8)
VALUES = st.text(alphabet="abc: ;=é", max_size=12).map(str.strip)


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
    found = message(head.encode("latin-1") + body, 1_000)
    assert (found.status, found.headers) == (status, tuple(headers))
    assert found.response[: found.head_length] == head.encode("latin-1")
    assert found.payload == found.response[found.head_length :] == body
    assert found.ended
    assert not found.cut


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=5))
def test_chunk_framing_stays_in_the_response_and_not_in_the_payload(pieces):
    body = chunked(pieces)
    found = message(b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n" + body, 10_000)
    assert found.response.endswith(body)
    assert found.payload == b"".join(pieces)
    assert found.ended


@given(st.binary(max_size=60), st.integers(0, 60))
def test_the_body_is_cut_at_max_body(body, limit):
    found = message(b"HTTP/1.0 200 OK\r\n\r\n" + body, limit)
    assert found.payload == body[:limit]
    assert found.cut == (len(body) > limit)


@given(st.binary(max_size=300))
def test_no_bytes_break_it(received):
    for begin in (b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"):
        found = message(begin + received, 100)
        if found is not None:
            assert len(found.response) - found.head_length <= 100


def test_interim_responses_are_no_part_of_it():
    found = message(
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", 9
    )
    assert found.response == b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"
    assert found.head_length == len(found.response) - 1


def test_what_follows_the_declared_length_is_not_kept():
    found = message(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP/1.1 200 OK\r\n\r\nevil", 99)
    assert found.payload == b"ab"
    assert b"evil" not in found.response
    assert message(b"HTTP/1.1 204 No Content\r\n\r\nevil", 99).payload == b""


def test_bare_line_feeds_folds_and_lines_without_a_colon_are_read_as_browsers_do():
    found = message(b"HTTP/1.1 200\nA: b\n c\nnonsense\nX: \xe9\n\nhi", 99)
    assert found.headers == (("A", "b c"), ("X", "é"))
    assert found.payload == b"hi"


def test_what_is_no_response_is_none():
    assert message(b"SSH-2.0-OpenSSH\r\n\r\n", 9) is None
    assert message(b"HTTP/1.1 200 OK\r\nContent-", 9) is None


def test_values_of_one_header_are_joined():
    assert field((("A", "1"), ("b", "x"), ("a", "2")), "a") == "1,2"
