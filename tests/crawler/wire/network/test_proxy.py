"""Through a proxy the bytes are the same, the guard judges what it can, and no password is archived."""

import asyncio
import base64
from contextlib import asynccontextmanager

import pytest

from tests.crawler.server import Server, page
from thresher.core import Capture, InputError
from thresher.crawler.wire.cookies import CookieJar
from thresher.crawler.wire.network.proxy import parse_proxy
from thresher.crawler.wire.session import Session
from thresher.frontier import canonicalize

PAIR = b"me:se:cret"


class Proxy:
    """A real proxy of both kinds; it knows one name of its own."""

    def __init__(self, port, refuses=False):
        self.to, self.refuses = port, refuses
        self.heads, self.asked_for = [], []

    async def _serve(self, reader, writer):
        try:
            first = await reader.readexactly(1)
            await (self._socks if first == b"\x05" else self._http)(first, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _http(self, first, reader, writer):
        head = first + await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head)
        if self.refuses:
            writer.write(b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n")
            return
        if head.startswith(b"CONNECT"):
            writer.write(b"HTTP/1.1 200 Go on\r\nVia: us\r\n\r\n")
            await self._pass_on(reader, writer)
        else:
            await self._pass_on(reader, writer, head)

    async def _socks(self, _, reader, writer):
        methods = await reader.readexactly((await reader.readexactly(1))[0])
        if 2 in methods:
            writer.write(b"\x05\x02")
            await reader.readexactly(1)
            pair = [await reader.readexactly((await reader.readexactly(1))[0]) for _ in range(2)]
            writer.write(b"\x01" + bytes([b":".join(pair) != PAIR]))
        else:
            writer.write(b"\x05\x00")
        *_, kind = await reader.readexactly(4)
        address = await reader.readexactly(4 if kind == 1 else 16)
        port = int.from_bytes(await reader.readexactly(2), "big")
        self.asked_for.append((".".join(map(str, address)), port))
        writer.write(bytes([5, 5 if self.refuses else 0, 0, 1, 0, 0, 0, 0, 0, 0]))
        if not self.refuses:
            await self._pass_on(reader, writer)

    async def _pass_on(self, reader, writer, begun=b""):
        there, to = await asyncio.open_connection("127.0.0.1", self.to)
        to.write(begun)

        async def copy(one, other):
            while data := await one.read(65_536):
                other.write(data)
            other.close()

        await asyncio.gather(copy(reader, to), copy(there, writer), return_exceptions=True)

    @asynccontextmanager
    async def serve(self):
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.at = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield self
        server.close()


@asynccontextmanager
async def behind(tls=None, **options):
    async with (
        Server({"/": page("x")}).serve(tls=tls) as server,
        Proxy(server.port, **options).serve() as proxy,
    ):
        yield server, proxy


async def test_an_http_proxy_receives_the_whole_url_and_its_password_is_not_archived(client):
    async with behind() as (server, proxy), client(proxy=f"http://me:se%3Acret@{proxy.at}") as http_client:
        server.answers[f"{server.url}/"] = page("x")
        found = await http_client.get(canonicalize(server.url))
    told = b"Proxy-Authorization: Basic " + base64.b64encode(PAIR) + b"\r\n"
    assert proxy.heads[0].startswith(f"GET {server.url}/ HTTP/1.1\r\n".encode())
    assert told in proxy.heads[0]
    assert found.request == proxy.heads[0].replace(told, b"")
    assert (found.payload, found.peer) == (b"x", "")


async def test_https_goes_through_a_tunnel(authority, client):
    async with (
        behind(authority.server("localhost")) as (server, proxy),
        client(tls=authority.trust, proxy=f"http://me:se%3Acret@{proxy.at}") as http_client,
    ):
        found = await http_client.get(canonicalize(f"https://localhost:{server.port}/"))
        again = await http_client.get(canonicalize(f"https://localhost:{server.port}/"))
    assert proxy.heads[0].startswith(f"CONNECT localhost:{server.port} HTTP/1.1\r\n".encode())
    assert len(proxy.heads) == 1
    assert found.request == again.request == server.requests[0]
    assert b"roxy" not in found.request


@pytest.mark.parametrize("user", ["", "me:se%3Acret@"])
async def test_a_socks_proxy_receives_the_address_that_was_acquired(client, names, user):
    names["named.test"] = ["127.0.0.9"]
    entered = []

    async def enter(address):
        entered.append(address)
        return 0

    async with (
        behind() as (server, proxy),
        client(proxy=f"socks5://{user}{proxy.at}", nameservers=names.servers) as http_client,
    ):
        found = await http_client.get(canonicalize(f"http://named.test:{server.port}/"), enter)
    assert proxy.asked_for == [("127.0.0.9", server.port)]
    assert entered == ["127.0.0.9"]
    assert (found.request, found.peer) == (server.requests[0], "127.0.0.9")


async def test_blocked_addresses_are_not_requested_through_a_proxy(client, names):
    names["inside.test"] = ["127.0.0.1"]
    async with behind() as (server, proxy):
        for kind in ("http", "socks5"):
            async with client(
                proxy=f"{kind}://{proxy.at}", allow=(), nameservers=names.servers
            ) as http_client:
                for host in ("127.0.0.1", "[::1]", "inside.test"):
                    found = await http_client.get(canonicalize(f"http://{host}:{server.port}/"))
                    assert found.reason == "address_blocked"
    assert (proxy.heads, proxy.asked_for) == ([], [])


@pytest.mark.parametrize("host", ["metadata.google.internal", "metadata", "printer.local", "localhost"])
async def test_a_name_of_a_private_network_is_not_sent_to_a_proxy(client, names, host):
    names.pop("localhost", None)
    async with (
        behind() as (_server, proxy),
        client(proxy=f"http://{proxy.at}", allow=(), nameservers=names.servers) as http_client,
    ):
        found = await http_client.get(canonicalize(f"http://{host}/"))
    assert found.reason in {"name_blocked", "address_blocked"}  # every resolver knows localhost
    assert (proxy.heads, proxy.asked_for) == ([], [])


async def test_a_private_name_that_our_name_servers_know_is_judged_by_its_address(client, names):
    names["wiki.internal"] = ["127.0.0.9"]
    async with (
        behind() as (server, proxy),
        client(proxy=f"http://{proxy.at}", nameservers=names.servers) as http_client,
    ):
        await http_client.get(canonicalize(f"http://wiki.internal:{server.port}/"))
    assert len(proxy.heads) == 1


@pytest.mark.parametrize("kind", ["http", "socks5"])
@pytest.mark.parametrize("host", ["known.test", "public.test"])
async def test_a_port_of_another_service_is_not_requested_through_a_proxy(client, names, kind, host):
    names["public.test"] = ["93.184.216.34"]
    async with (
        behind() as (_server, proxy),
        client(proxy=f"{kind}://{proxy.at}", nameservers=names.servers) as http_client,
    ):
        found = await http_client.get(canonicalize(f"http://{host}:25/"))
    assert found.reason == ("dns" if (kind, host) == ("socks5", "known.test") else "port_blocked")
    assert (proxy.heads, proxy.asked_for) == ([], [])


async def test_a_name_that_only_the_proxy_knows_is_acquired_by_name(client, names):
    entered = []

    async def enter(address):
        entered.append(address)
        return 0

    async with behind() as (_server, proxy):
        async with client(proxy=f"http://{proxy.at}", nameservers=names.servers) as http_client:
            assert isinstance(await http_client.get(canonicalize("http://known.test/"), enter), Capture)
        async with client(proxy=f"socks5://{proxy.at}", nameservers=names.servers) as http_client:
            assert (await http_client.get(canonicalize("http://known.test/"))).reason == "dns"
    assert entered == ["known.test"]


@pytest.mark.parametrize("kind", ["http", "socks5"])
async def test_a_proxy_that_refuses_has_a_reason_of_its_own(authority, client, kind):
    async with behind(authority.server("localhost"), refuses=True) as (server, proxy):
        for there in (proxy.at, "127.0.0.1:1"):
            async with client(tls=authority.trust, proxy=f"{kind}://{there}") as http_client:
                found = await http_client.get(canonicalize(f"https://localhost:{server.port}/"))
            assert found.reason == "proxy"
    assert server.connections == 0


@pytest.mark.parametrize(
    "text", ["proxy:3128", "https://proxy:1", "http://proxy", "http://:80", "socks4://a:1", "http://a:x"]
)
def test_a_malformed_proxy_is_an_error_without_its_password(text):
    with pytest.raises(InputError, match=r"crawler\.proxy") as error:
        parse_proxy(text.replace("//", "//me:secret@"))
    assert "secret" not in str(error.value)
    assert "secret" not in repr(parse_proxy("http://me:secret@proxy:3128"))


async def test_a_session_has_a_proxy_of_its_own_which_other_requests_do_not_use(client):
    async with behind() as (server, proxy), client() as http_client:
        server.answers[f"{server.url}/"] = page("by the proxy")
        held = Session(
            profile="ada",
            host="127.0.0.1",
            cookies=CookieJar(lambda: 0.0),
            proxy=parse_proxy(f"http://me:se%3Acret@{proxy.at}"),
        )
        first = await http_client.get(canonicalize(server.url), session=held)
        second = await http_client.get(canonicalize(server.url))
    assert isinstance(first, Capture)
    assert isinstance(second, Capture)
    assert (first.payload, second.payload) == (b"by the proxy", b"x")
    assert len(proxy.heads) == 1
    assert b"Proxy-Authorization" in proxy.heads[0]
    assert b"roxy" not in first.request
    assert "cret" not in repr(held)
