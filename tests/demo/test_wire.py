"""The HTTP server: what it promises at the level of bytes."""

import contextlib
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo.wire import MAX_HEAD, Response, bind_sockets, chunked_body, serve_in_thread
from thresher.core import Unavailable

ADDRESS = "127.18.9.1"
ANSWERS = {
    "/": Response(status=200, headers=(("Content-Type", "text/plain"),), body=b"hello"),
    "/chunked": Response(status=200, body=b"x" * 10_000, chunked=True),
    "/large": Response(status=200, body=b"y" * 3_000_000),
    "/zip": Response(status=200, body=b"z" * 1000, compressed=True),
}


@pytest.fixture(scope="module")
def port():
    port, sockets = bind_sockets([ADDRESS])
    with serve_in_thread(lambda request: ANSWERS.get(request.target, Response(status=404)), sockets):
        yield port


@pytest.fixture
def wire(port):
    with socket.create_connection((ADDRESS, port), timeout=10) as client:
        yield client


def read_to_the_end(client):
    return b"".join(iter(lambda: client.recv(65_536), b""))


def test_the_connection_is_kept_and_answers_come_in_order(wire):
    wire.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /nothing HTTP/1.1\r\nHost: a\r\n\r\n")
    wire.sendall(b"HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    said = read_to_the_end(wire)
    assert said.count(b"HTTP/1.1 ") == 3
    assert said.index(b"200 OK") < said.index(b"404 Not Found")
    assert said.count(b"hello") == 1
    assert said.count(b"Content-Length: 5\r\n") == 2
    assert b"Date:" not in said


def test_a_request_may_come_byte_by_byte(wire):
    for byte in b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n":
        wire.sendall(bytes([byte]))
    assert read_to_the_end(wire).endswith(b"hello")


def test_http_1_0_is_answered_without_chunks_and_closed(wire):
    wire.sendall(b"GET /chunked HTTP/1.0\r\n\r\n")
    head, _, body = read_to_the_end(wire).partition(b"\r\n\r\n")
    assert b"Transfer-Encoding" not in head
    assert body == b"x" * 10_000


def test_the_absolute_form_is_understood(wire):
    wire.sendall(b"GET http://a:1/ HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert read_to_the_end(wire).endswith(b"hello")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", b"405"),
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * (MAX_HEAD + 1), b"431"),
    ],
)
def test_what_is_not_understood_is_answered_and_closed(wire, sent, status):
    with contextlib.suppress(ConnectionError):
        wire.sendall(sent)
        assert read_to_the_end(wire).startswith(b"HTTP/1.1 " + status)


def test_a_slow_reader_gets_everything(wire):
    wire.sendall(b"GET /large HTTP/1.1\r\n\r\n" * 4 + b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert read_to_the_end(wire).count(b"y" * 3_000_000) == 4


def test_gzip_has_no_time_in_it(port):
    def asked():
        with socket.create_connection((ADDRESS, port), timeout=10) as client:
            client.sendall(b"GET /zip HTTP/1.1\r\nAccept-Encoding: gzip, br\r\nConnection: close\r\n\r\n")
            return read_to_the_end(client)

    first = asked()
    assert b"Content-Encoding: gzip\r\n" in first
    assert asked() == first


@given(body=st.binary(max_size=20_000))
def test_chunks_hold_the_body(body):
    rest, whole = chunked_body(body), b""
    while True:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        whole += rest[:length]
        assert rest[length : length + 2] == b"\r\n"
        rest = rest[length + 2 :]
        if length == 0:
            break
    assert (whole, rest) == (body, b"")


def test_one_port_on_many_addresses():
    port, sockets = bind_sockets([f"127.18.9.{last}" for last in range(1, 9)])
    try:
        assert {one.getsockname()[1] for one in sockets} == {port}
    finally:
        for one in sockets:
            one.close()


def test_a_port_that_is_taken_is_named(port):
    with pytest.raises(Unavailable, match=f"{ADDRESS}:{port}"):
        bind_sockets([ADDRESS], port)


def test_an_address_of_somebody_else_is_named():
    with pytest.raises(Unavailable, match=r"192\.0\.2\.1"):
        bind_sockets(["192.0.2.1"])
