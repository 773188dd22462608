"""How many duplicate bodies become revisit records, in a crawl that is killed again and again.

usage: python bench/crawler/revisits.py [--pages N] [--bodies N] [--kills N] [--workers N]

Eight hosts on loopback serve pages. Each page has one of N bodies of about 3 kB. Each time an equal share of the pages
has been requested, every process of the crawl is killed with SIGKILL, and the same command runs again. A duplicate is a
capture whose payload digest another capture of the archive has; warcio reads the archive. Prints one JSON line.
"""

import argparse
import asyncio
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.processes.process_tree import kill_tree
from bench.processes.waiting import is_reached

ROOT = Path(__file__).resolve().parents[2]
HOSTS = [f"127.0.0.{10 + number}" for number in range(8)]
TOML = """
[project]
contact = "mailto:bench@example.org"
[crawler]
min_delay = 0.003
min_ip_delay = 0
allow_networks = ["127.0.0.0/8"]
"""


class Site:
    """The hosts, and how often a page was requested."""

    def __init__(self, bodies: int) -> None:
        self.bodies = [body(number) for number in range(bodies)]
        self.asked = 0
        self.origins: list[str] = []
        self._ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True).start()
        self._ready.wait()

    async def _run(self) -> None:
        for host in HOSTS:
            server = await asyncio.start_server(self._serve, host, 0)
            self.origins.append(f"http://{host}:{server.sockets[0].getsockname()[1]}")
        self._ready.set()
        await asyncio.Event().wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                path = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1].decode()
                writer.write(self._answer(path))
                await writer.drain()
        writer.close()

    def _answer(self, path: str) -> bytes:
        if path == "/robots.txt":
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        self.asked += 1
        found = random.Random(path).choice(self.bodies)
        return b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b" % (
            len(found),
            found,
        )


def body(number: int) -> bytes:
    """Return text that no other body has."""
    words = " ".join(hashlib.sha256(b"%d %d" % (number, word)).hexdigest()[:40] for word in range(80))
    return f"<html><body><p>{words}</p></body></html>".encode()


def main() -> None:
    """Crawl, kill, crawl again, count."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=800)
    parser.add_argument("--bodies", type=int, default=600)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--workers", type=int, default=1)
    args = parser.parse_args()
    site = Site(args.bodies)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "thresher.toml").write_text(TOML)
        urls = [f"{site.origins[page % len(HOSTS)]}/{page:x}{page % 7:x}" for page in range(args.pages)]
        (directory / "seeds.txt").write_text("\n".join(urls))
        start_command(directory, "seed", "seeds.txt", "--crawl", "main", "--depth", "0").wait()
        crawl = ("crawl", "main", "--workers", str(args.workers))
        kills = 0
        for kill in range(args.kills):
            running = start_command(directory, *crawl)
            kills += kill_at(running, site, (kill + 1) * args.pages // (args.kills + 1))
        start_command(directory, *crawl).wait()
        captures, revisits, digests = count_records(directory)
    duplicates = captures - digests
    result = {
        "bench": "revisits",
        "kills": kills,
        "workers": args.workers,
        "captures": captures,
        "duplicates": duplicates,
        "revisits": revisits,
        "share": round(revisits / duplicates, 3),
    }
    print(json.dumps(result))


def start_command(directory: Path, *words: str) -> subprocess.Popen:
    """Start a command."""
    return subprocess.Popen(
        [sys.executable, "-m", "thresher", *words],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def kill_at(running: subprocess.Popen, site: Site, asked: int) -> bool:
    """Kill every process of a command after so many page requests. Return False if it ended before."""
    if not is_reached(running, lambda: site.asked >= asked, poll_s=0.005):
        return False
    kill_tree(running)
    return True


def count_records(directory: Path) -> tuple[int, int, int]:
    """Return the number of captures of pages, of revisit records among them, and of different payloads."""
    kinds: Counter[str] = Counter()
    digests = set()
    for path in sorted((directory / "data" / "warc").rglob("*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, no_record_parse=True):
                head = record.rec_headers.get_header
                if record.rec_type in {"response", "revisit"} and "robots.txt" not in head("WARC-Target-URI"):
                    kinds[record.rec_type] += 1
                    digests.add(head("WARC-Payload-Digest"))
    return kinds.total(), kinds["revisit"], len(digests)


if __name__ == "__main__":
    main()
