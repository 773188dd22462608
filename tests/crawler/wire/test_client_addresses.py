"""The client connects to addresses that are allowed and acquired, and to no other."""

from ipaddress import ip_address

import pytest

from tests.crawler.server import Server, page
from thresher.core import Capture
from thresher.crawler.wire import Postponement
from thresher.frontier import canonicalize


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433"]
)
async def test_loopback_is_blocked_by_default_however_it_is_written(host, client):
    async with Server({"/": page("secret")}).serve() as server, client(allow=()) as http_client:
        found = await http_client.get(canonicalize(f"http://{host}:{server.port}/"))
    assert found.reason == "address_blocked"
    assert server.connections == 0


async def test_an_address_is_checked_when_it_is_connected_to_and_not_by_name(client):
    async with Server({"/": page("x")}).serve() as server, client() as http_client:
        found = await http_client.get(canonicalize(f"http://localhost:{server.port}/"))
        assert isinstance(found, Capture)
        assert ip_address(found.peer).is_loopback


class AddressRecorder:
    """Grants every address, and records it."""

    def __init__(self, wait=0):
        self.wait, self.entered = wait, []

    async def enter(self, address):
        self.entered.append(address)
        return self.wait


async def test_the_address_is_acquired_before_it_is_requested(client):
    door = AddressRecorder()
    async with Server({"/": page("x")}).serve() as server, client() as http_client:
        assert await http_client.get(
            canonicalize(server.url), AddressRecorder(wait=70).enter
        ) == Postponement(wait_ms=70)
        assert server.connections == 0
        for _ in range(3):
            assert isinstance(await http_client.get(canonicalize(server.url), door.enter), Capture)
    assert server.connections == 1
    assert door.entered == ["127.0.0.1"] * 3


async def test_nothing_is_acquired_without_an_address_that_the_guard_allows(client):
    door = AddressRecorder()
    async with client(allow=()) as http_client:
        assert (
            await http_client.get(canonicalize("http://no-such-host.invalid/"), door.enter)
        ).reason == "dns"
        assert (
            await http_client.get(canonicalize("http://127.0.0.1:1/"), door.enter)
        ).reason == "address_blocked"
    assert door.entered == []


async def test_the_address_of_the_connection_is_the_one_acquired_last(names, client):
    names["two.test"] = ["127.0.0.8", "127.0.0.9"]
    names["some.test"] = ["127.0.0.7", "127.0.0.8", "127.0.0.9", "127.0.0.10"]
    for host in names:
        for there in names[host]:
            door = AddressRecorder()
            async with (
                Server({"/": page("x")}, address=there).serve() as server,
                client(nameservers=names.servers) as http_client,
            ):
                found = await http_client.get(canonicalize(f"http://{host}:{server.port}/"), door.enter)
            assert len(door.entered) <= 2
            if isinstance(found, Capture):
                assert found.peer == there == door.entered[-1]
            else:
                assert found.reason == "refused"
                assert there not in door.entered


async def test_an_unreached_address_is_tried_last_from_then_on(names, client):
    names["two.test"] = ["127.0.0.8", "127.0.0.9"]
    for there in names["two.test"]:
        async with (
            Server({"/": page("x")}, address=there).serve() as server,
            client(nameservers=names.servers) as http_client,
        ):
            server.close_after.add("/")
            doors = [AddressRecorder() for _ in range(3)]
            for door in doors:
                await http_client.get(canonicalize(f"http://two.test:{server.port}/"), door.enter)
        assert [door.entered for door in doors[1:]] == [[there], [there]]


async def test_a_kept_connection_is_used_only_for_the_address_that_it_leads_to(names, client):
    names.ttl, names["moves.test"] = 0, ["127.0.0.8"]
    async with (
        Server({"/": page("old")}, address="127.0.0.8").serve() as old,
        client(nameservers=names.servers) as http_client,
    ):
        url = canonicalize(f"http://moves.test:{old.port}/")
        await http_client.get(url)
        new = Server({"/": page("new")}, address="127.0.0.9")
        async with new.serve(port=old.port):
            names["moves.test"] = ["127.0.0.9"]
            http_client._resolver._cache.clear()
            door = AddressRecorder()
            found = await http_client.get(url, door.enter)
    assert (found.payload, found.peer, door.entered) == (b"new", "127.0.0.9", ["127.0.0.9"])
