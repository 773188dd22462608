"""Measure what other queues in Redis cost the same server for the same URLs, for `bench/frontier/verbs.py`.

usage: frontier_queues.py PEER [--urls N] [--hosts H] ADDRESS

PEER is one of
- scrapy-redis: RFPDupeFilter and PriorityQueue, called as its Scheduler calls them, with a round trip for each SADD,
  ZADD and pop. Its pop removes the page from Redis. It has no lease, no politeness and no retry of its own, and orders
  all hosts by priority.
- crawlee: RedisRequestQueueClient with strategy `default` (exact sets) and batches of 1,000, then fetch_next_request
  and mark_request_as_handled. It has a lease of five minutes, but no politeness, and keeps every request for ever. Its
  counters are in RedisJSON, which Valkey does not have; here they are in a hash, which is cheaper. Its strategy `bloom`
  needs RedisBloom and is not run.
- floor: pipelined SADD of 20-byte hashes, ZADD of URLs and ZPOPMIN of 500 URLs at a time. This is what Redis needs for
  a set and a queue without any rule.

ADDRESS is that of an empty server on this machine. The script prints one JSON line: the server's CPU for each phase,
and the used memory of a URL when all wait and when all are done.
"""

import argparse
import asyncio
import hashlib
import json
import logging
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from redis import Redis

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.frontier.urls import Urls
from bench.processes.meter import Meter

BATCH = 1000
LEASE_BATCH = 500
LINKS = 40


def main() -> None:
    """Measure one peer."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("peer", choices=["scrapy-redis", "crawlee", "floor"])
    parser.add_argument("address")
    parser.add_argument("--urls", type=int, default=100_000)
    parser.add_argument("--hosts", type=int, default=10_000)
    args = parser.parse_args()
    server = Redis.from_url(args.address)
    meter = Meter(server.info("server")["process_id"])
    urls = Urls(args.urls, args.hosts)
    empty = used_memory(server)
    run = {"scrapy-redis": scrapy_redis, "crawlee": crawlee, "floor": floor}[args.peer]
    hot = run(server, args.address, meter, urls)
    print(
        json.dumps(
            {
                "bench": f"frontier-{args.peer}",
                "urls": args.urls,
                "hosts": args.hosts,
                "phases": meter.report(),
                "bytes_url_hot": round((hot - empty) / args.urls, 1),
                "bytes_url_done": round((used_memory(server) - empty) / args.urls, 1),
                "peak_rss_mb": round(meter.peak_rss() / 1e6, 1),
            }
        ),
        flush=True,
    )


def scrapy_redis(server: Redis, _address: str, meter: Meter, urls: Urls) -> int:
    """Measure what scrapy-redis's Scheduler does in Redis, without Scrapy around it."""
    from scrapy import Request, Spider  # noqa: PLC0415
    from scrapy_redis.dupefilter import RFPDupeFilter  # noqa: PLC0415
    from scrapy_redis.queue import PriorityQueue  # noqa: PLC0415

    spider = Spider(name="bench")
    seen = RFPDupeFilter(server, "bench:dupefilter")
    queue = PriorityQueue(server, spider, "%(spider)s:requests")
    for name in ("new", "known"):
        for numbers in batches(urls.by_page(LINKS), BATCH):
            requests = [
                Request(urls.url(number), priority=-(number % 8), meta={"depth": number % 8})
                for number in numbers
            ]
            with meter.phase(name) as phase:
                for request in requests:
                    if not seen.request_seen(request):
                        queue.push(request)
            phase.n += len(requests)
        if name == "new":
            hot = used_memory(server)
    while True:
        with meter.phase("pop") as phase:
            popped = sum(queue.pop() is not None for _ in range(LEASE_BATCH))
        if not popped:
            return hot
        phase.n += popped


def crawlee(server: Redis, address: str, meter: Meter, urls: Urls) -> int:
    """Measure the queue client alone."""
    return asyncio.run(_crawlee(server, address, meter, urls))


async def _crawlee(server: Redis, address: str, meter: Meter, urls: Urls) -> int:
    from crawlee import Request  # noqa: PLC0415
    from crawlee.storage_clients._redis import RedisRequestQueueClient  # noqa: PLC0415
    from redis import asyncio as aio  # noqa: PLC0415

    logging.disable(logging.WARNING)
    client = aio.Redis.from_url(address, decode_responses=True)
    for kind in (aio.Redis, aio.client.Pipeline):
        kind.json = lambda self: Counters(self)  # type: ignore[method-assign,assignment,misc]  # noqa: PLW0108
    queue = await RedisRequestQueueClient.open(id=None, name="bench", alias=None, redis=client)
    for name in ("new", "known"):
        for numbers in batches(urls.by_page(LINKS), BATCH):
            requests = [Request.from_url(urls.url(number)) for number in numbers]
            with meter.phase(name) as phase:
                await queue.add_batch_of_requests(requests)
            phase.n += len(requests)
        if name == "new":
            hot = used_memory(server)
    taken = LEASE_BATCH
    while taken == LEASE_BATCH:
        with meter.phase("take_and_done") as phase:
            taken = 0
            while taken < LEASE_BATCH and (request := await queue.fetch_next_request()) is not None:
                await queue.mark_request_as_handled(request)
                taken += 1
        phase.n += taken
    await client.aclose()
    return hot


class Counters:
    """Keeps the metadata of crawlee's queue in the fields of a hash, in place of RedisJSON."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def set(self, key: str, path: str, value: Any, **_: bool) -> Any:
        """Set a field, or all of them."""
        fields = value if path == "$" else {path.removeprefix("$."): value}
        return self._client.hset(key, mapping={name: json.dumps(field) for name, field in fields.items()})

    def numincrby(self, key: str, path: str, by: int) -> Any:
        """Add to a field."""
        return self._client.hincrby(key, path.removeprefix("$."), by)

    async def get(self, key: str) -> dict[str, Any] | None:
        """Return all fields."""
        found = await self._client.hgetall(key)
        return {name: json.loads(field) for name, field in found.items()} or None


def floor(server: Redis, _address: str, meter: Meter, urls: Urls) -> int:
    """Measure a set and a sorted set."""
    for name in ("new", "known"):
        for numbers in batches(urls.by_page(LINKS), BATCH):
            texts = [urls.url(number) for number in numbers]
            names = [hashlib.blake2b(text.encode(), digest_size=20).digest() for text in texts]
            with meter.phase(name) as phase:
                pipeline = server.pipeline(transaction=False)
                for one in names:
                    pipeline.sadd("seen", one)
                new = [text for text, added in zip(texts, pipeline.execute(), strict=True) if added]
                if new:
                    pipeline = server.pipeline(transaction=False)
                    for number, text in zip(numbers, new, strict=True):
                        pipeline.zadd("queue", {text: number % 8})
                    pipeline.execute()
            phase.n += len(names)
        if name == "new":
            hot = used_memory(server)
    while True:
        with meter.phase("pop") as phase:
            popped = server.zpopmin("queue", LEASE_BATCH)
        if not popped:
            return hot
        phase.n += len(popped)


def batches(numbers: Iterator[int], most: int) -> Iterator[Sequence[int]]:
    """Yield lists of `most` items; the last may be shorter."""
    while some := list(islice(numbers, most)):
        yield some


def used_memory(server: Redis) -> int:
    """Return the used memory once everything is written. As in `bench/frontier/verbs.py`, the server frees the buffer
    of a client that has been idle for two seconds, and no command says when."""
    time.sleep(2.5)
    return int(server.info("memory")["used_memory"])


if __name__ == "__main__":
    main()
