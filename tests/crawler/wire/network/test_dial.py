"""The client uses the address that answers, of two, and connects only to addresses that it acquired."""

import asyncio
import socket
import time
from contextlib import contextmanager

from tests.crawler.server import Server, page
from thresher.core import Capture
from thresher.crawler.wire import Postponement
from thresher.frontier import canonicalize


@contextmanager
def deaf(address, port):
    """Yield an address that neither accepts nor refuses connections, because its queue is full."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as listening:
        listening.bind((address, port))
        listening.listen(0)
        waiting = []
        for _ in range(4):
            one = socket.socket(family)
            one.setblocking(False)
            one.connect_ex((address, listening.getsockname()[1]))
            waiting.append(one)
        time.sleep(0.05)
        try:
            yield listening.getsockname()[1]
        finally:
            for one in waiting:
                one.close()


class AddressRecorder:
    def __init__(self, **waits):
        self.waits, self.entered = waits, []

    async def enter(self, address):
        self.entered.append(address)
        return self.waits.get("six" if ":" in address else "four", 0)


async def test_if_the_first_address_is_silent_the_other_family_is_tried_in_parallel(client, names):
    names["two.test"] = ["127.0.0.9", "::1"]
    with deaf("127.0.0.9", 0) as port:
        async with (
            Server({"/": page("six")}, address="::1").serve(port=port) as server,
            client(nameservers=names.servers, timeout_s=5) as http_client,
        ):
            doors = [AddressRecorder(), AddressRecorder()]
            found = [
                await http_client.get(canonicalize(f"http://two.test:{port}/"), door.enter) for door in doors
            ]
    assert [(one.payload, one.peer) for one in found] == [(b"six", "::1")] * 2
    assert doors[0].entered == ["127.0.0.9", "::1"]
    assert doors[1].entered == ["::1"]
    assert server.connections == 1


async def test_without_a_turn_at_the_second_address_the_first_goes_on_alone(client, names):
    names["two.test"] = ["127.0.0.9", "::1"]
    with deaf("127.0.0.9", 0) as port:
        async with (
            Server({"/": page("six")}, address="::1").serve(port=port) as server,
            client(nameservers=names.servers, timeout_s=1) as http_client,
        ):
            door = AddressRecorder(six=70)
            found = await http_client.get(canonicalize(f"http://two.test:{port}/"), door.enter)
            assert found == Postponement(wait_ms=70)
            assert (door.entered, server.connections) == (["127.0.0.9", "::1"], 0)
            again = await http_client.get(canonicalize(f"http://two.test:{port}/"), AddressRecorder().enter)
            assert isinstance(again, Capture)


async def test_an_unanswered_connection_times_out(client):
    with deaf("127.0.0.9", 0) as port:
        async with client(timeout_s=0.3) as http_client:
            found = await http_client.get(canonicalize(f"http://127.0.0.9:{port}/"))
    assert found.reason == "timeout_connect"


async def test_a_cancelled_exchange_leaves_no_connection(client):
    asked = asyncio.Event()

    async def hang(_, __):
        asked.set()
        await asyncio.sleep(20)

    async with Server({"/": hang}).serve() as server, client(timeout_s=20) as http_client:
        task = asyncio.create_task(http_client.get(canonicalize(server.url)))
        await asked.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()
        assert len(http_client._pool) == 0
