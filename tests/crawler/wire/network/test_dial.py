"""Of two addresses the client uses the one that answers, and connects to none that was not acquired."""

import asyncio
import socket
import time
from contextlib import contextmanager

from core import Capture
from crawler.wire import Postponement
from frontier import canonicalize
from tests.crawler.server import Server, page


@contextmanager
def deaf(address, port):
    """An address that neither accepts nor refuses connections, because its queue is full."""
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


class Door:
    def __init__(self, **waits):
        self.waits, self.entered = waits, []

    async def enter(self, address):
        self.entered.append(address)
        return self.waits.get("six" if ":" in address else "four", 0)


async def test_where_the_first_is_deaf_the_other_family_is_tried_beside_it(client, names):
    names["two.test"] = ["127.0.0.9", "::1"]
    with deaf("127.0.0.9", 0) as port:
        async with (
            Server({"/": page("six")}, address="::1").serve(port=port) as server,
            client(nameservers=names.servers, timeout_s=5) as asking,
        ):
            doors = [Door(), Door()]
            found = [await asking.get(canonicalize(f"http://two.test:{port}/"), door.enter) for door in doors]
    assert [(one.payload, one.peer) for one in found] == [(b"six", "::1")] * 2
    assert doors[0].entered == ["127.0.0.9", "::1"]
    assert doors[1].entered == ["::1"]
    assert server.connections == 1


async def test_where_it_is_not_the_others_turn_the_first_goes_on_alone(client, names):
    names["two.test"] = ["127.0.0.9", "::1"]
    with deaf("127.0.0.9", 0) as port:
        async with (
            Server({"/": page("six")}, address="::1").serve(port=port) as server,
            client(nameservers=names.servers, timeout_s=1) as asking,
        ):
            door = Door(six=70)
            found = await asking.get(canonicalize(f"http://two.test:{port}/"), door.enter)
            assert found == Postponement(wait_ms=70)
            assert (door.entered, server.connections) == (["127.0.0.9", "::1"], 0)
            again = await asking.get(canonicalize(f"http://two.test:{port}/"), Door().enter)
            assert isinstance(again, Capture)


async def test_nobody_who_answers_a_connection_is_a_time_out_of_that(client):
    with deaf("127.0.0.9", 0) as port:
        async with client(timeout_s=0.3) as asking:
            found = await asking.get(canonicalize(f"http://127.0.0.9:{port}/"))
    assert found.reason == "timeout_connect"


async def test_who_calls_off_an_exchange_leaves_no_connection(client):
    asked = asyncio.Event()

    async def hang(_, __):
        asked.set()
        await asyncio.sleep(20)

    async with Server({"/": hang}).serve() as server, client(timeout_s=20) as asking:
        task = asyncio.create_task(asking.get(canonicalize(server.url)))
        await asked.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()
        assert len(asking._pool) == 0
