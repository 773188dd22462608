"""Probes test our own side without a request to a web server, and each failure has a symptom."""

import asyncio
import errno
import socket
from contextlib import asynccontextmanager

import pycares
import pytest

from tests.crawler.flat_settings import wire_client
from tests.crawler.nameserver import SERVFAIL
from tests.crawler.server import Server, page
from tests.crawler.wire.network.test_proxy import Proxy
from tests.expect import expect
from thresher.crawler.wire.fetch_failure import FetchFailure, connection_failure
from thresher.crawler.wire.network.dns import Resolver
from thresher.crawler.wire.network.probes import HostProbe
from thresher.frontier import canonicalize

REFUSED_BY_POLICY = 5


def nobody(kind=socket.SOCK_STREAM):
    """Return a port on which nobody listens."""
    with socket.socket(socket.AF_INET, kind) as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.mark.parametrize(
    ("root", "said"),
    [
        (3, ""),
        ([], ""),
        (REFUSED_BY_POLICY, ""),
        (SERVFAIL, "the name servers can resolve nothing"),
        (None, "no name server answers"),
    ],
    ids=["no such name", "no data", "it serves other names", "SERVFAIL", "silence"],
)
async def test_name_servers_work_if_they_answer_for_the_root(names, root, said):
    names[""] = root
    resolver = Resolver(names.servers)
    problem = await resolver.problem(1.0)
    resolver.close()
    assert problem == (f"{said} ({names.servers[0]})" if said else "")
    assert (resolver.answered_at > 0) is (not said)


async def test_an_earlier_answer_does_not_show_that_name_servers_work_now(names):
    resolver = Resolver(names.servers)
    assert await resolver.problem(1.0) == ""
    names[""] = None
    assert await resolver.problem(0.3)
    resolver.close()


async def test_a_name_that_no_server_could_resolve_is_looked_up_again_when_they_work(names):
    names |= {"lost.test": None, "broken.test": SERVFAIL}
    resolver = Resolver(names.servers)
    for host in names:
        found = expect(FetchFailure, await resolver.addresses(host, 0.3))
        assert found.symptom == "no_name_server"
    names |= {"lost.test": ["127.0.0.7"], "broken.test": ["127.0.0.8"]}
    assert await resolver.problem(1.0) == ""
    assert await resolver.addresses("lost.test", 1.0) == ("127.0.0.7",)
    assert await resolver.addresses("broken.test", 1.0) == ("127.0.0.8",)
    resolver.close()


async def test_an_entry_of_the_hosts_file_is_no_answer_of_a_name_server(names):
    resolver = Resolver((f"127.0.0.1:{nobody(socket.SOCK_DGRAM)}",))
    await resolver.addresses("localhost", 1.0)
    assert resolver.answered_at < 0
    resolver.close()
    resolver = Resolver(names.servers)
    await resolver.addresses("no-such-name.test", 1.0)
    assert resolver.answered_at > 0
    resolver.close()


async def test_a_machine_that_cannot_open_a_channel_does_not_deny_a_name(names, monkeypatch):
    resolver = Resolver(names.servers)

    def failing(*_, **__):
        raise pycares.AresError("no more files")

    monkeypatch.setattr(pycares, "Channel", failing)
    found = expect(FetchFailure, await resolver.addresses("a.test", 1.0))
    assert (found.reason, found.symptom) == ("dns_timeout", "no_name_server")
    assert await resolver.problem(1.0) == "names cannot be looked up: no more files"
    resolver.close()


@asynccontextmanager
async def probes(**options):
    client = wire_client("t", max_body=1, timeout=0.5, **options)
    try:
        yield client.probes
    finally:
        await client.close()


@asynccontextmanager
async def listening(serve):
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


@pytest.mark.parametrize("kind", ["http", "socks5"])
async def test_a_proxy_works_if_it_answers_a_request_about_itself(kind):
    asked = []

    async def answer(reader, writer):
        asked.append(await reader.read(3))
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n" if kind == "http" else b"\x05\x00")

    async with listening(answer) as port, probes(proxy=f"{kind}://127.0.0.1:{port}") as made:
        assert await made.proxy_problem(must_answer=True) == ""
    assert asked == [b"OPT" if kind == "http" else b"\x05\x01\x00"]


async def test_a_proxy_that_accepts_connections_and_sends_nothing_does_not_work():
    async def silent(reader, writer):
        await reader.read()

    async def hang_up(_, writer):
        writer.close()

    for serve in (silent, hang_up):
        async with listening(serve) as port, probes(proxy=f"http://127.0.0.1:{port}") as made:
            assert "the proxy" in await made.proxy_problem(must_answer=True)
            assert await made.proxy_problem(must_answer=False) == ""


async def test_an_absent_proxy_is_named(names):
    place = f"127.0.0.1:{nobody()}"
    async with probes(proxy=f"http://me:secret@{place}") as made:
        assert await made.proxy_problem(must_answer=False) == f"the proxy {place}: Connection refused"
    async with probes(proxy="http://gone.test:3128", nameservers=names.servers) as made:
        assert (await made.proxy_problem(must_answer=False)).startswith(
            "the proxy gone.test:3128: gone.test: "
        )


async def test_a_route_to_an_address_is_enough_and_this_machine_has_one_to_itself():
    async with probes() as made:
        assert made.route_problem("127.0.0.1") == ""


async def test_a_probe_of_a_host_sends_no_request(names):
    names |= {"here.test": ["127.0.0.1"], "lost.test": None, "inside.test": ["10.0.0.1"]}
    async with (
        Server({"/": page("x")}).serve() as server,
        probes(allow_networks=("127.0.0.0/8",), nameservers=names.servers) as made,
    ):
        here = canonicalize(f"http://here.test:{server.port}/")
        assert await made.probe_host(here) == HostProbe(address="127.0.0.1", has_answered=True)
        assert server.connections == 1
        assert server.requests == []
        closed = canonicalize(f"http://here.test:{nobody()}/")
        assert await made.probe_host(closed) == HostProbe(
            address="127.0.0.1", has_answered=True
        )  # it refuses the connection, so it exists
        assert await made.probe_host(canonicalize("http://lost.test/")) == HostProbe(
            address="lost.test", has_answered=False
        )
        assert await made.probe_host(canonicalize("http://nowhere.test/")) is None
        assert await made.probe_host(canonicalize("http://inside.test/")) is None
        secret = canonicalize(f"https://here.test:{server.port}/")
        assert (await made.probe_host(secret)).has_answered  # it does not speak TLS, but it answers


async def test_through_an_http_proxy_only_https_hosts_can_be_probed(authority):
    async with (
        Server().serve(tls=authority.server("127.0.0.1")) as server,
        Proxy(server.port).serve() as proxy,
        probes(proxy=f"http://{proxy.at}", tls=authority.trust) as made,
    ):
        assert await made.probe_host(canonicalize("http://127.0.0.1/")) is None
        assert await made.probe_host(canonicalize("https://127.0.0.1/")) == HostProbe(
            address="127.0.0.1", has_answered=True
        )
        assert await made.address(canonicalize("https://here.test/")) == "here.test"


@pytest.mark.parametrize(
    ("error", "reason", "sign"),
    [
        (TimeoutError(), "timeout_connect", "silent"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "no"), "refused", "answered"),
        (ConnectionResetError(errno.ECONNRESET, "no"), "reset", "answered"),
        (OSError(errno.ENETUNREACH, "no way"), "unreachable", "no_route"),
        (OSError(errno.EHOSTUNREACH, "no way"), "unreachable", "no_route"),
        (OSError(errno.EMFILE, "Too many open files"), "unreachable", "no_resources"),
        (OSError(errno.ENOBUFS, "no buffers"), "unreachable", "no_resources"),
        (OSError(errno.EINVAL, "Invalid argument"), "unreachable", "denied"),
        (OverflowError("port"), "unreachable", "denied"),
    ],
)
def test_a_failed_connection_has_its_symptom(error, reason, sign):
    found = connection_failure(error)
    assert (found.reason, found.symptom) == (reason, sign)


@pytest.mark.parametrize(
    ("status", "sign"),
    [
        (b"407 Who are you", "no_proxy"),
        (b"502 Bad Gateway", "silent"),
        (b"504 Gateway Timeout", "silent"),
        (b"403 Not there", "answered"),
        (b"", "mute_proxy"),
    ],
)
async def test_a_refusal_of_an_http_proxy_has_its_symptom(client, status, sign):
    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        if status:
            writer.write(b"HTTP/1.1 " + status + b"\r\n\r\n")
        writer.close()

    async with listening(answer) as port, client(proxy=f"http://127.0.0.1:{port}") as http_client:
        found = await http_client.get(canonicalize("https://127.0.0.1/"))
    assert (found.reason, found.symptom) == ("proxy", sign)


async def test_a_407_of_a_proxy_is_not_taken_for_the_servers(client):
    """The proxy answers in place of a plain page as if the page's server had sent it."""
    async with (
        Server(
            {"http://127.0.0.1/": page("who are you", status="407 Proxy Authentication Required")}
        ).serve() as server,
        client(proxy=server.url) as http_client,
    ):
        found = await http_client.get(canonicalize("http://127.0.0.1/"))
        assert (found.reason, found.symptom) == ("proxy", "no_proxy")
    async with (
        Server({"/": page("x", status="407 Proxy Authentication Required")}).serve() as server,
        client() as http_client,
    ):
        assert (await http_client.get(canonicalize(f"{server.url}/"))).status == 407


@pytest.mark.parametrize(
    ("reply", "sign"),
    [(1, "silent"), (3, "silent"), (4, "silent"), (5, "answered"), (2, "answered"), (None, "mute_proxy")],
)
async def test_a_refusal_of_a_socks_proxy_has_its_symptom(client, reply, sign):
    async def answer(reader, writer):
        await reader.readexactly(3)
        if reply is not None:
            writer.write(b"\x05\x00")
            await reader.readexactly(10)
            writer.write(bytes([5, reply, 0, 1, 0, 0, 0, 0, 0, 0]))
        writer.close()

    async with listening(answer) as port, client(proxy=f"socks5://127.0.0.1:{port}") as http_client:
        found = await http_client.get(canonicalize("http://127.0.0.1/"))
    assert (found.reason, found.symptom) == ("proxy", sign)
