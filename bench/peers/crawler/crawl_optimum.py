"""Crawl with the least work that a Python crawler can do: fetch, find links, drop known URLs, archive. It has no
politeness, no robots.txt and no failures.

usage: crawl_optimum.py --redis unix://PATH --pages N [--slots N] [--warc FILE] SEED...

aiohttp fetches; lexbor finds `a[href]`; ada resolves it; a set in Redis, asked in pipelines, says which URLs are new;
isal compresses one gzip member a response record. Links are followed on the hosts of the seeds. Prints one JSON line
with the CPU of this process, without the server's.
"""

import asyncio
import base64
import hashlib
import json
import os
import sys
import time
import uuid
from collections import deque
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import aiohttp
from ada_url import join_url
from isal import isal_zlib
from redis import Redis
from selectolax.lexbor import LexborHTMLParser

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.peers.costs import peak_mb
from bench.peers.crawler.crawl_arguments import crawl_arguments

ASKED_TOGETHER = 500
"""Links in one round trip to Redis."""
GZIP = 31
"""Window bits of zlib for a gzip member."""


class Queue:
    """URLs to fetch. New links wait until there are `ASKED_TOGETHER` of them, or until no other URL is left."""

    def __init__(self, server: Redis, seeds: list[str]) -> None:
        self._server = server
        self._found: list[str] = []
        self._remembered = set(seeds)
        self._waiting = deque(seeds)
        self._origins = tuple(
            seed[: seed.index("/", 8) + 1] if "/" in seed[8:] else f"{seed}/" for seed in seeds
        )

    def add(self, url: str) -> None:
        """Add a URL if it is new, and on a host of the seeds."""
        if url not in self._remembered and url.startswith(self._origins):
            self._remembered.add(url)
            self._found.append(url)
            if len(self._found) >= ASKED_TOGETHER:
                self._ask()

    def next(self) -> str | None:
        """Return a URL to fetch, or None if none waits."""
        if not self._waiting and self._found:
            self._ask()
        return self._waiting.popleft() if self._waiting else None

    def _ask(self) -> None:
        pipeline = self._server.pipeline(transaction=False)
        for url in self._found:
            pipeline.sadd("optimum:seen", hashlib.blake2b(url.encode(), digest_size=8).digest())
        self._waiting.extend(
            url for url, is_new in zip(self._found, pipeline.execute(), strict=True) if is_new
        )
        self._found.clear()


def record(
    url: str, status: int, reason: str, headers: tuple[tuple[bytes, bytes], ...], body: bytes
) -> bytes:
    """Return one compressed response record of WARC/1.1."""
    head = (
        f"HTTP/1.1 {status} {reason}\r\n".encode()
        + b"".join(b"%s: %s\r\n" % pair for pair in headers)
        + b"\r\n"
    )
    lines = (
        "WARC/1.1",
        "WARC-Type: response",
        f"WARC-Record-ID: <urn:uuid:{uuid.UUID(bytes=os.urandom(16), version=4)}>",
        f"WARC-Date: {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        f"WARC-Target-URI: {url}",
        f"WARC-Payload-Digest: sha1:{base64.b32encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode()}",
        "Content-Type: application/http; msgtype=response",
        f"Content-Length: {len(head) + len(body)}",
    )
    packer = isal_zlib.compressobj(1, isal_zlib.DEFLATED, GZIP)
    block = ("\r\n".join(lines) + "\r\n\r\n").encode() + head + body + b"\r\n\r\n"
    return packer.compress(block) + packer.flush()


async def crawl(queue: Queue, file: BinaryIO, pages: int, slots: int) -> tuple[int, int]:
    """Fetch the pages; return how many there were, and how many links they had."""
    begun = fetched = links = busy = 0

    async def slot(session: aiohttp.ClientSession) -> None:
        nonlocal begun, fetched, links, busy
        while begun < pages:
            url = queue.next()
            if url is None:
                if not busy:
                    return
                await asyncio.sleep(0.001)  # an event for each link would cost more than this
                continue
            begun, busy = begun + 1, busy + 1
            async with session.get(url, allow_redirects=False) as response:
                body = await response.read()
            fetched, busy = fetched + 1, busy - 1
            file.write(record(url, response.status, response.reason or "", response.raw_headers, body))
            if response.content_type == "text/html":
                hrefs = {node.attributes.get("href") for node in LexborHTMLParser(body).css("a[href]")}
                links += len(hrefs)
                for href in hrefs:
                    if href and not href.startswith("#"):
                        try:
                            queue.add(join_url(url, href.partition("#")[0]))
                        except ValueError:
                            continue

    connector = aiohttp.TCPConnector(limit=slots)
    async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as session:
        await asyncio.gather(*(slot(session) for _ in range(slots)))
    return fetched, links


def main() -> None:
    """Crawl, and print the line."""
    args = crawl_arguments(__doc__)
    queue = Queue(Redis.from_url(args.redis), args.seeds)
    begun, cpu = time.perf_counter(), time.process_time()
    with open(args.warc, "wb", buffering=1 << 20) as file:  # noqa: PTH123 - /dev/null is a file as well
        pages, links = asyncio.run(crawl(queue, file, args.pages, args.slots))
    wall, cpu = time.perf_counter() - begun, time.process_time() - cpu
    if not pages:
        sys.exit("no page was fetched: are the sites up?")
    print(
        json.dumps(
            {
                "peer": "optimum",
                "version": f"aiohttp {aiohttp.__version__}",
                "pages": pages,
                "links": links,
                "cpu_ms_page": round(1000 * cpu / pages, 3),
                "pages_s_core": round(pages / cpu, 1),
                "wall_s": round(wall, 2),
                "peak_rss_mb": peak_mb(),
            }
        )
    )


if __name__ == "__main__":
    main()
