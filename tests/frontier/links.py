"""What tests of links share: functions of their own, and writers who know what was acknowledged.

`once` remembers a name, `both` does so twice, `echo` gives back what it was given, `fail` refuses.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Self

from tests.frontier.valkey_cluster import ValkeyCluster, ValkeyServer
from thresher.frontier.link.call import Call, Link
from thresher.frontier.link.cluster import ClusterLink
from thresher.frontier.link.redis_client import redis_client
from thresher.frontier.link.single import SingleLink

CODE = """#!lua name=thresher
server.register_function('thresher_once', function(keys, args) return server.call('SADD', keys[1], args[1]) end)
server.register_function('thresher_both', function(keys, args)
  return {server.call('SADD', keys[1], args[1]), server.call('SADD', keys[1] .. ':b', args[1])}
end)
server.register_function('thresher_echo', function(keys, args) return args end)
server.register_function('thresher_fail', function(keys, args) return server.error_reply('ERR ' .. args[1]) end)
"""
TAGS = 12
_serial = count()


@asynccontextmanager
async def open_link(to: ValkeyServer | ValkeyCluster, patience_s: float = 30.0) -> AsyncIterator[Link]:
    if isinstance(to, ValkeyCluster):
        link: Link = ClusterLink(to.addresses[:2], retry_timeout_s=patience_s)
    else:
        link = SingleLink(redis_client({"host": "127.0.0.1", "port": to.port}), retry_timeout_s=patience_s)
    try:
        yield link
    finally:
        await link.aclose()


class Writers:
    """Tasks that go on remembering names, some to a call, and know which of them were acknowledged."""

    def __init__(self, link: Link, tags: int = TAGS, tasks: int = 8) -> None:
        self.link = link
        self.prefix = f"writers-{next(_serial)}"
        self.tags = tags
        self.tasks = tasks
        self.acknowledged: set[tuple[int, str]] = set()

    def call(self, name: int) -> Call:
        return Call("once", (self.key(name % self.tags),), (str(name),))

    def key(self, tag: int) -> str:
        return f"{{{self.prefix}:{tag}}}:names"

    async def __aenter__(self) -> Self:
        self.stopped = False
        self.names = count()
        self.running = [asyncio.create_task(self._write()) for _ in range(self.tasks)]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stopped = True
        await asyncio.gather(*self.running)

    async def wait_for(self, n: int = 200) -> None:
        """Return when `n` more are acknowledged."""
        wanted = len(self.acknowledged) + n
        while len(self.acknowledged) < wanted:
            await asyncio.sleep(0.005)
            if any(task.done() for task in self.running):
                await asyncio.gather(*self.running)

    async def missing_names(self) -> list[tuple[int, str]]:
        """What was acknowledged and is not there."""
        again = [self.call(int(name)) for _, name in sorted(self.acknowledged)]
        added = await self.link.call(again)
        return [known for known, new in zip(sorted(self.acknowledged), added, strict=True) if new]

    async def _write(self) -> None:
        while not self.stopped:
            names = [next(self.names) for _ in range(5)]
            await self.link.call([self.call(name) for name in names])
            self.acknowledged |= {(name % self.tags, str(name)) for name in names}


def echo(tag: object, *args: str | bytes | float) -> Call:
    return Call("echo", (f"{{{tag}}}:k",), args)


def other_than(cluster: ValkeyCluster, slot: int) -> ValkeyServer:
    """A master that does not have the slot."""
    source = cluster.master_of(slot)
    return next(cluster.master_of(other) for other in (1, 16_380) if cluster.master_of(other) is not source)
