"""A server that loses power, for tests: up to a second of what it had said was done is gone."""

import os
import signal
import time

from redis import Redis

from bench.frontier.fleet import newest_log
from bench.frontier.scenario import Scenario
from thresher.frontier.link.connect import connect
from thresher.frontier.link.embedded import embedded_server


class PowerLossServer:
    """A server that can be made to forget everything since a moment."""

    def __init__(self, folder, stack):
        self._scenario, self._stack = Scenario(dir=folder), stack
        self.address = stack.enter_context(embedded_server(self._scenario.state))

    def size(self):
        """Bytes of the append-only file with all that was answered so far. While a sync runs, the server keeps what it has
        answered for up to two seconds before it writes it.
        """
        with Redis.from_url(self.address) as server:
            while server.info("persistence")["aof_buffer_length"]:
                time.sleep(0.01)
        return newest_log(self._scenario).stat().st_size

    def lose_power(self, size):
        """Die, and come back as of when the append-only file had this size."""
        os.kill(int((self._scenario.state / "server.pid").read_text()), signal.SIGKILL)
        os.truncate(newest_log(self._scenario), size)
        self._stack.enter_context(embedded_server(self._scenario.state))


class PowerLossLink:
    """A link whose server loses power, once, before the first call of a verb: it forgets all since `durable`."""

    is_cluster = False

    def __init__(self, link, verb, server, durable, meanwhile=None):
        self._link, self._verb, self._server, self._durable = link, verb, server, durable
        self._meanwhile = meanwhile

    def __getattr__(self, name):
        return getattr(self._link, name)

    async def call(self, calls):
        if calls and calls[0].verb == self._verb:
            self._verb = None
            self._server.lose_power(self._durable)
            await self._link.aclose()
            self._link = await connect(self._server.address)
            if self._meanwhile:
                await self._meanwhile()
        return await self._link.call(calls)
