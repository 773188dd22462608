"""What the client takes down is what the server sent and received, byte for byte, whatever the server does."""

import asyncio
import gzip
import ssl
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest

from core import Capture
from crawler.wire import Client, Failure, Wait, networks
from frontier import canonical
from tests.crawler.server import Server, page

AGENT = "thresher/test (+mailto:test@example.org)"
OK = b"HTTP/1.1 200 OK\r\n"


def sends(*pieces, then="close", between=0.0):
    async def answer(_, writer):
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(between)
        if then == "close":
            writer.close()
        elif then == "reset":
            writer.transport.abort()
        elif then == "hang":
            await asyncio.sleep(20)

    return answer


async def fetch(answer, *, max_body=1_000, timeout_s=0.5):
    """One GET of a server that gives that answer: (what came, the server)."""
    async with (
        Server({"/": answer}).serve() as server,
        client(max_body=max_body, timeout_s=timeout_s) as asking,
    ):
        return await asking.get(canonical(server.url + "/")), server


@asynccontextmanager
async def client(max_body=1_000, timeout_s=0.5, allow=("127.0.0.0/8",), **options):
    made = Client(user_agent=AGENT, max_body=max_body, timeout_s=timeout_s, allow=networks(allow), **options)
    try:
        yield made
    finally:
        await made.close()


WHOLE = {
    "content-length": (page("hello", "X-ODD-case: 1", "x-odd-CASE:2"), b"hello"),
    "chunked": (
        OK + b"Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nTrailer: x\r\n\r\n",
        b"hello!",
    ),
    "gzip": (page(gzip.compress(b"hello"), "Content-Encoding: gzip"), gzip.compress(b"hello")),
    "no body": (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    "no reason": (b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi", b"hi"),
    "unknown status": (b"HTTP/1.1 999 Go away\r\nContent-Length: 2\r\n\r\nhi", b"hi"),
    "bare line feeds": (b"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", b"hi"),
    "a line without colon": (OK + b"nonsense\r\nContent-Length: 2\r\n\r\nhi", b"hi"),
    "latin-1 header": (OK + b"X: \xe9\r\nContent-Length: 2\r\n\r\nhi", b"hi"),
    "thousands of headers": (OK + b"X: y\r\n" * 900 + b"Content-Length: 2\r\n\r\nhi", b"hi"),
    "chunks beside a length": (
        OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        b"abc",
    ),
}


@pytest.mark.parametrize("case", WHOLE)
async def test_bytes_of_both_directions_are_taken_down(case):
    answer, payload = WHOLE[case]
    found, server = await fetch(answer)
    assert found.response == answer
    assert found.request == server.requests[0]
    assert found.payload == payload
    assert found.truncated is None
    assert found.response[: found.head_length].endswith((b"\r\n\r\n", b"\n\n"))
    assert found.peer == "127.0.0.1"


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
async def test_a_body_that_ends_with_the_connection_is_whole(version):
    found, _ = await fetch(sends(b"HTTP/" + version + b" 200 OK\r\n\r\nhel", b"lo", between=0.01))
    assert (found.payload, found.truncated) == (b"hello", None)


async def test_the_request_says_who_asks_and_nothing_that_was_not_asked_for():
    found, server = await fetch(page("hi"))
    lines = found.request.decode().split("\r\n")
    assert lines[:3] == ["GET / HTTP/1.1", f"Host: 127.0.0.1:{server.port}", f"User-Agent: {AGENT}"]
    assert [line.partition(":")[0] for line in lines[3:-2]] == ["Accept", "Accept-Encoding"]
    assert "Accept-Encoding: gzip, deflate" in lines


async def test_the_url_is_sent_as_it_is():
    path = "/a%2Fb/%7e//x;y=%zz?q=%41|`&a=+'&&"
    async with Server().serve() as server, client() as asking:
        found = await asking.get(canonical(server.url + path))
    assert found.request.split(b" ")[1].decode() == canonical(server.url + path).wire[len(server.url) :]
    assert found.request.split(b" ")[1].startswith(b"/a%2Fb/%7e//x;y=%zz?q=%41|`")


async def test_connections_are_used_again_and_their_exchanges_kept_apart():
    async with Server({"/a": page("aaa"), "/b": page("bbbb")}).serve() as server, client() as asking:
        found = [await asking.get(canonical(server.url + path)) for path in ("/a", "/b", "/a")]
    assert server.connections == 1
    assert [one.payload for one in found] == [b"aaa", b"bbbb", b"aaa"]
    assert [one.request for one in found] == server.requests
    assert [one.response for one in found] == server.sent


async def test_cookies_are_not_sent_back():
    async with Server({"/": page("x", "Set-Cookie: a=b; Path=/")}).serve() as server, client() as asking:
        await asking.get(canonical(server.url))
        await asking.get(canonical(server.url))
    assert b"ookie" not in server.requests[1]


async def test_a_kept_connection_that_was_closed_is_replaced_once():
    async with Server({"/": page("x")}).serve() as server, client() as asking:
        server.close_after.add("/")
        found = [await asking.get(canonical(server.url)) for _ in range(5)]
    assert all(isinstance(one, Capture) and one.response == server.sent[0] for one in found)
    assert len(server.requests) == 5


BROKEN_OFF = {
    "length, known before": (page("x" * 5_000), "length"),
    "length, chunks": (OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 900, "length"),
    "length, one endless chunk extension": (
        sends(OK + b"Transfer-Encoding: chunked\r\n\r\n1;", *[b"x" * 65_536] * 9),
        "length",
    ),
    "time": (sends(page("hello")[:-2], then="hang"), "time"),
    "time, drop by drop": (sends(OK + b"Content-Length: 99\r\n\r\n", *[b"x"] * 99, between=0.05), "time"),
    "disconnect": (sends(page("hello")[:-2]), "disconnect"),
    "disconnect in a chunk": (
        sends(OK + b"Transfer-Encoding: chunked\r\n\r\n9\r\nhal", between=0.05),
        "disconnect",
    ),
    "reset": (sends(page("hello")[:-2], then="reset", between=0.05), "disconnect"),
    "chunks that are none": (OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\nzz\r\n", "unspecified"),
}


@pytest.mark.parametrize("case", BROKEN_OFF)
async def test_what_came_of_a_response_is_kept_with_why_there_is_no_more(case):
    answer, why = BROKEN_OFF[case]
    found, _ = await fetch(answer)
    assert found.truncated == why
    assert found.status == 200
    assert len(found.response) - found.head_length <= 1_000
    if isinstance(answer, bytes):
        assert answer.startswith(found.response)


async def test_a_body_of_just_the_limit_is_whole():
    found, _ = await fetch(page("x" * 1_000))
    assert (len(found.payload), found.truncated) == (1_000, None)


async def test_an_endless_body_costs_no_more_than_the_limit():
    async def endless(_, writer):
        writer.write(OK + b"\r\n")
        while not writer.is_closing():
            writer.write(b"x" * 65_536)
            await writer.drain()

    found, _ = await fetch(endless, max_body=100_000, timeout_s=5)
    assert (len(found.payload), found.truncated) == (100_000, "length")


SILENT = {
    "nothing": (sends(then="hang"), "timeout_first_byte"),
    "half a head": (sends(b"HTTP/1.1 200 OK\r\nConte", then="hang"), "timeout"),
    "closed": (sends(), "reset"),
    "closed in the head": (sends(b"HTTP/1.1 200 OK\r\nConte"), "reset"),
    "not HTTP": (b"SSH-2.0-OpenSSH_9.9\r\n\r\n", "protocol"),
    "an endless head": (sends(OK, *[b"X: " + b"y" * 60_000 + b"\r\n"] * 9), "protocol"),
}


@pytest.mark.parametrize("case", SILENT)
async def test_no_response_is_a_failure_with_a_reason(case):
    answer, reason = SILENT[case]
    found, _ = await fetch(answer)
    assert isinstance(found, Failure)
    assert found.reason == reason
    assert "\n" not in found.detail


async def test_bytes_behind_a_response_are_never_the_answer_to_the_next_request():
    evil = OK + b"Content-Length: 4\r\n\r\nevil"
    for first in (OK + b"Content-Length: 3\r\n\r\nabc" + evil, b"HTTP/1.1 204 No Content\r\n\r\n" + evil):
        async with Server({"/": first, "/next": page("good")}).serve() as server, client() as asking:
            await asking.get(canonical(server.url + "/"))
            found = await asking.get(canonical(server.url + "/next"))
            assert found.payload == b"good"


async def test_bytes_that_come_between_two_requests_close_the_connection():
    async def late(_, writer):
        writer.write(page("abc"))
        await writer.drain()
        await asyncio.sleep(0.1)
        writer.write(OK + b"Content-Length: 4\r\n\r\nevil")
        await writer.drain()

    async with Server({"/": late, "/next": page("good")}).serve() as server, client() as asking:
        await asking.get(canonical(server.url + "/"))
        await asyncio.sleep(0.2)
        found = await asking.get(canonical(server.url + "/next"))
    assert found.payload == b"good"
    assert server.connections == 2


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433"]
)
async def test_loopback_is_blocked_by_default_however_it_is_written(host):
    async with Server({"/": page("secret")}).serve() as server, client(allow=()) as asking:
        found = await asking.get(canonical(f"http://{host}:{server.port}/"))
    assert found.reason == "address_blocked"
    assert server.connections == 0


async def test_an_address_is_checked_when_it_is_connected_to_and_not_by_name():
    async with Server({"/": page("x")}).serve() as server, client() as asking:
        found = await asking.get(canonical(f"http://localhost:{server.port}/"))
        assert isinstance(found, Capture)
        assert ip_address(found.peer).is_loopback


async def test_what_the_network_says_has_a_reason():
    async with client() as asking:
        assert (await asking.get(canonical("http://127.0.0.1:1/"))).reason == "refused"
        assert (await asking.get(canonical("http://no-such-host.invalid/"))).reason == "dns"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(datetime.now(UTC) - timedelta(days=1))
        .not_valid_after(datetime.now(UTC) + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


async def test_under_tls_what_is_inside_is_taken_down(certificate):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    trust = ssl.create_default_context(cafile=certificate)
    async with Server({"/": page("secret")}).serve(tls=context) as server:
        url = canonical(f"https://localhost:{server.port}/")
        async with client(tls=trust) as asking:
            found = await asking.get(url)
        assert (found.request, found.response) == (server.requests[0], server.sent[0])
        async with client() as asking:
            assert (await asking.get(url)).reason == "tls_self_signed"


class Door:
    """Lets everybody in, and remembers to which address."""

    def __init__(self, wait=0):
        self.wait, self.entered = wait, []

    async def enter(self, address):
        self.entered.append(address)
        return self.wait


async def test_the_address_is_entered_before_anything_is_asked_there():
    door = Door()
    async with Server({"/": page("x")}).serve() as server, client() as asking:
        assert await asking.get(canonical(server.url), Door(wait=70).enter) == Wait(ms=70)
        assert server.connections == 0
        for _ in range(3):
            assert isinstance(await asking.get(canonical(server.url), door.enter), Capture)
    assert server.connections == 1
    assert door.entered == ["127.0.0.1"] * 3


async def test_nothing_is_entered_where_there_is_no_name_or_the_guard_forbids_it():
    door = Door()
    async with client(allow=()) as asking:
        assert (await asking.get(canonical("http://no-such-host.invalid/"), door.enter)).reason == "dns"
        assert (await asking.get(canonical("http://127.0.0.1:1/"), door.enter)).reason == "address_blocked"
    assert door.entered == []


async def test_who_was_connected_to_is_who_was_entered_last(names):
    names["two.test"] = ["127.0.0.8", "127.0.0.9"]
    names["some.test"] = ["127.0.0.7", "127.0.0.8", "127.0.0.9", "127.0.0.10"]
    for host in names:
        for there in names[host]:
            door = Door()
            async with (
                Server({"/": page("x")}, address=there).serve() as server,
                client(nameservers=names.servers) as asking,
            ):
                found = await asking.get(canonical(f"http://{host}:{server.port}/"), door.enter)
            assert len(door.entered) <= 2
            if isinstance(found, Capture):
                assert found.peer == there == door.entered[-1]
            else:
                assert found.reason == "refused"
                assert there not in door.entered


async def test_an_address_where_nobody_was_reached_is_tried_last_from_then_on(names):
    names["two.test"] = ["127.0.0.8", "127.0.0.9"]
    for there in names["two.test"]:
        async with (
            Server({"/": page("x")}, address=there).serve() as server,
            client(nameservers=names.servers) as asking,
        ):
            server.close_after.add("/")
            doors = [Door() for _ in range(3)]
            for door in doors:
                await asking.get(canonical(f"http://two.test:{server.port}/"), door.enter)
        assert [door.entered for door in doors[1:]] == [[there], [there]]


async def test_a_kept_connection_is_used_only_for_the_address_that_it_leads_to(names):
    names.ttl, names["moves.test"] = 0, ["127.0.0.8"]
    async with (
        Server({"/": page("old")}, address="127.0.0.8").serve() as old,
        client(nameservers=names.servers) as asking,
    ):
        url = canonical(f"http://moves.test:{old.port}/")
        await asking.get(url)
        new = Server({"/": page("new")}, address="127.0.0.9")
        async with new.serve(port=old.port):
            names["moves.test"] = ["127.0.0.9"]
            asking._resolver._known.clear()
            door = Door()
            found = await asking.get(url, door.enter)
    assert (found.payload, found.peer, door.entered) == (b"new", "127.0.0.9", ["127.0.0.9"])


async def test_what_breaks_is_not_asked_again_at_once():
    async def hang_up(_, writer):
        writer.close()

    async with Server({"/": hang_up}).serve() as server, client() as asking:
        assert (await asking.get(canonical(server.url))).reason == "reset"
    assert server.connections == len(server.requests) == 1
