"""CPU of one request of the client, without a session and under one, and of the check of its answer.

usage: MALLOC_MMAP_THRESHOLD_=67108864 MALLOC_TRIM_THRESHOLD_=268435456 python bench/crawler/request.py

Prints microseconds: the fastest of 12 rounds of 500 requests, for a page of 8 kB. The server runs in the same process,
and its CPU is in all figures. The two variables keep the allocator from giving memory back between requests: whether it
does depends on what the process did before, and costs as much as a third of a request.
"""

import asyncio
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.crawler.flat_settings import wire_client
from tests.crawler.server import Server, page
from thresher.crawler.sessions.login_end import end_signs, page_html
from thresher.crawler.wire.cookies import Cookie, CookieJar
from thresher.crawler.wire.session import Session
from thresher.frontier import canonicalize

ROUNDS, REQUESTS = 12, 500
HOST = "127.0.0.1"


async def measure() -> None:
    """Print one line for each way."""
    jar = CookieJar(time.time)
    jar.add(
        Cookie(
            name="sid", value="x" * 40, domain=HOST, only_host=True, path="/", secure=False, expires_at=None
        ),
        HOST,
    )
    session = Session(profile="a", host=HOST, cookies=jar)
    signs = end_signs([f"http://{HOST}/login"], text="", selector="")
    async with Server({"/": page("<p>some words" * 600, "Set-Cookie: a=b")}).serve() as server:
        client = wire_client("a", max_body=1 << 20, timeout=5, allow_networks=("127.0.0.0/8",))
        url = canonicalize(server.url)

        async def checked() -> None:
            capture = await client.get(url, session=session)
            signs.in_page(page_html(capture))

        ways = {
            "without a session": lambda: client.get(url),
            "under a session": lambda: client.get(url, session=session),
            "under a session, and checked": checked,
        }
        for name, way in ways.items():
            rounds = []
            for _ in range(ROUNDS):
                start = time.process_time()
                for _ in range(REQUESTS):
                    await way()
                rounds.append((time.process_time() - start) / REQUESTS)
            print(f"{name}: {min(rounds) * 1e6:.0f} µs")
        await client.close()


if __name__ == "__main__":
    asyncio.run(measure())
