"""`leap` and `hurry`: the waits of a crawl pass in a moment."""

import threading
from collections.abc import Sequence
from contextlib import contextmanager

from redis import Redis

# In one step, because a worker that has taken a lease meanwhile would lose it.
_LEAP = """
for _, key in ipairs(KEYS) do
  if redis.call("HLEN", (key:gsub("count$", "leases"))) > 0 then return 0 end
end
for _, key in ipairs(KEYS) do redis.call("HINCRBY", key, "steady", ARGV[1]) end
return 1
"""


def leap(client: Redis, counts: Sequence[bytes | str], ms: int) -> bool:
    """Move the clock of frontiers ahead if no lease is open in any of them; return whether it was moved. `counts` are
    the keys of their counters.
    """
    return client.eval(_LEAP, len(counts), *counts, ms) == 1


@contextmanager
def hurry(redis, name, ms=20_000):
    """Move the frontier's clock ahead while nothing is in progress, so that hours of waiting pass in a moment."""
    over = threading.Event()

    def run():
        client = Redis.from_url(redis)
        while not over.wait(0.05):
            leap(client, [f"thresher:{{{name}:0}}:count"], ms)
        client.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
