"""Read many small ranges of an S3 server behind a slow link: boto3 in threads beside aioboto3, in the same run.

usage: python bench/storage/range_reads.py [--ranges N] [--bytes N] [--delay-ms MS,...] [--mbit N] [--repeat N]

This program starts and kills the server, SeaweedFS on loopback, and a link of its own to it, which brings every byte of
a reply later by the delay (and slower than `--mbit`, if it is given). Each way of reading is a process of its own:

boto3-N      boto3 in N threads
aioboto3-N   aioboto3, N requests at a time, in one thread
ingest       `SourceClient` with `S3Source`: records that an index of Common Crawl lists, as `ingest` reads them
boto3parts-N, aioboto3parts-N
             the same, but the requests send parts of an upload, of 8 MiB each, one for each 10 ranges
ranges       `S3Store.read_ranges`, which `Loader` uses for its first batches

The ways take turns, and each figure is the median of --repeat rounds: records a second, milliseconds of CPU (user +
system) a record of that process, its peak RSS in MB, and its largest number of threads. `start_cpu_ms` is what it took
to import the client and to open it; it is in no other figure. Prints one JSON line.
"""

import argparse
import asyncio
import base64
import hashlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

OBJECTS, OBJECT_BYTES = 8, 32 << 20
WAYS = ("boto3-16", "boto3-64", "boto3-256", "aioboto3-16", "aioboto3-64", "aioboto3-256", "ingest", "ranges")
PREFIX = "range-reads"


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranges", type=int, default=400)
    parser.add_argument("--bytes", type=int, default=20_000)
    parser.add_argument("--delay-ms", default="50,200")
    parser.add_argument("--mbit", type=float, default=0)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--way", help=argparse.SUPPRESS)
    parser.add_argument("--link", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.link:
        asyncio.run(serve_link(*map(float, args.link.split(","))))
    elif args.way:
        print(json.dumps(measured(args)))
    else:
        print(json.dumps(compared(args)))


def compared(args: argparse.Namespace) -> dict:
    """Return the figures of all ways at all delays."""
    from tests.storage.s3server import BUCKET, KEYS, running_server

    result = {"bench": "range_reads", "ranges": args.ranges, "bytes": args.bytes, "mbit": args.mbit}
    environment = {**os.environ, **KEYS, "AWS_REGION": "us-east-1", "AWS_CONFIG_FILE": os.devnull}
    with tempfile.TemporaryDirectory() as directory, running_server(Path(directory) / "s3") as server:
        client = server.client()
        for number in range(OBJECTS):
            client.put_object(Bucket=BUCKET, Key=f"{PREFIX}/{number}", Body=os.urandom(OBJECT_BYTES))
        for delay in map(float, args.delay_ms.split(",")):
            command = [sys.executable, __file__, "--link", f"{server.port},{delay / 1000},{args.mbit}"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as link:
                assert link.stdout
                environment["AWS_ENDPOINT_URL_S3"] = f"http://127.0.0.1:{link.stdout.readline().strip()}"
                rounds = [
                    {way: round_of(way, args, environment) for way in args.ways.split(",")}
                    for _ in range(args.repeat)
                ]
                link.kill()
            result[f"{delay:g} ms"] = {
                way: {key: round(statistics.median(each[way][key] for each in rounds), 2) for key in figures}
                for way, figures in rounds[0].items()
            }
    return {**result, "load": round(os.getloadavg()[0], 1)}


def round_of(way: str, args: argparse.Namespace, environment: dict[str, str]) -> dict[str, float]:
    """Return the figures of one process."""
    command = [
        sys.executable,
        __file__,
        "--way",
        way,
        "--ranges",
        str(args.ranges),
        "--bytes",
        str(args.bytes),
    ]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def measured(args: argparse.Namespace) -> dict[str, float]:
    """Read in this process."""
    kind, _, at_once = args.way.partition("-")
    draw = random.Random(1)
    wanted = [
        (f"{PREFIX}/{draw.randrange(OBJECTS)}", draw.randrange(OBJECT_BYTES - args.bytes))
        for _ in range(args.ranges)
    ]
    threads = most_threads()
    if kind.endswith("parts"):
        wanted = wanted[::10]
    ways = {"boto3": in_threads, "aioboto3": in_loop, "ingest": by_ingest, "ranges": by_ranges}
    read = ways[kind.removesuffix("parts")]
    options = {"sends": True} if kind.endswith("parts") else {}
    started, cpu, opened, received = read(wanted, args.bytes, int(at_once or 0), **options)
    wall, cpu_s = time.perf_counter() - started, time.process_time() - cpu
    assert received == len(wanted) * args.bytes
    return {
        "records_s": len(wanted) / wall,
        "cpu_ms": 1000 * cpu_s / len(wanted),
        "rss_mb": peak_rss_mb(),
        "threads": threads() - 1,  # the sampler is one
        "start_cpu_ms": 1000 * opened,
    }


def in_threads(wanted, size, at_once, *, sends=False):
    """boto3."""
    before = time.process_time()
    from botocore.config import Config

    from thresher.storage.s3.s3_client import open_client, open_session

    client = open_client("s3://bench", open_session(), extra=Config(max_pool_connections=at_once))
    opened = time.process_time() - before
    from tests.storage.s3server import BUCKET

    if sends:
        upload = client.create_multipart_upload(Bucket=BUCKET, Key=PREFIX)["UploadId"]

    def read(key, first):
        if sends:
            number = wanted.index((key, first)) + 1
            client.upload_part(Bucket=BUCKET, Key=PREFIX, UploadId=upload, PartNumber=number, **part())
            return size
        span = f"bytes={first}-{first + size - 1}"
        return len(client.get_object(Bucket=BUCKET, Key=key, Range=span)["Body"].read())

    started, cpu = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(at_once) as pool:
        return started, cpu, opened, sum(pool.map(lambda each: read(*each), wanted))


def in_loop(wanted, size, at_once, *, sends=False):
    """aioboto3."""
    before = time.process_time()
    import aioboto3
    from aiobotocore.config import AioConfig

    from tests.storage.s3server import BUCKET

    @asynccontextmanager
    async def client():
        config = AioConfig(
            max_pool_connections=at_once,
            retries={"total_max_attempts": 1, "mode": "standard"},
            s3={"addressing_style": "path"},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        async with aioboto3.Session().client("s3", config=config) as made:
            yield made

    async def all_of_them():
        slots = asyncio.Semaphore(at_once)
        async with client() as s3:
            opened = time.process_time() - before

            if sends:
                upload = (await s3.create_multipart_upload(Bucket=BUCKET, Key=PREFIX))["UploadId"]

            async def read(key, first):
                async with slots:
                    if sends:
                        number = wanted.index((key, first)) + 1
                        await s3.upload_part(
                            Bucket=BUCKET, Key=PREFIX, UploadId=upload, PartNumber=number, **part()
                        )
                        return size
                    span = f"bytes={first}-{first + size - 1}"
                    reply = await s3.get_object(Bucket=BUCKET, Key=key, Range=span)
                    async with reply["Body"] as body:
                        return len(await body.read())

            started, cpu = time.perf_counter(), time.process_time()
            return started, cpu, opened, sum(await asyncio.gather(*[read(*each) for each in wanted]))

    return asyncio.run(all_of_them())


def part():
    """Return a part as `S3Store` sends it."""
    data = os.urandom(8 << 20)
    return {"Body": data, "ChecksumSHA256": base64.b64encode(hashlib.sha256(data).digest()).decode()}


def by_ingest(wanted, size, _):
    """The client of `thresher ingest`."""
    before = time.process_time()
    from tests.storage.s3server import BUCKET
    from thresher.storage.commoncrawl.transport.s3_source import S3Source
    from thresher.storage.commoncrawl.transport.source_client import RangeRequest, SourceClient

    client = SourceClient(S3Source(BUCKET, "", "bench"))
    client.read(f"{PREFIX}/0", 0, 1)
    opened = time.process_time() - before
    started, cpu = time.perf_counter(), time.process_time()
    received = sum(map(len, client.read_ahead(RangeRequest(key, first, size) for key, first in wanted)))
    wall = started, cpu, opened, received
    threading.Thread(target=client.close, daemon=True).start()
    return wall


def by_ranges(wanted, size, _):
    """The ranges of a store."""
    before = time.process_time()
    from tests.storage.s3server import BUCKET
    from thresher.storage.s3.s3_store import S3Store
    from thresher.storage.store import ByteRange

    store = S3Store(BUCKET, "")
    list(store.read_ranges([ByteRange(name=f"{PREFIX}/0", first=0, length=1)]))
    opened = time.process_time() - before
    started, cpu = time.perf_counter(), time.process_time()
    spans = (ByteRange(name=key, first=first, length=size) for key, first in wanted)
    return started, cpu, opened, sum(map(len, store.read_ranges(spans)))


def peak_rss_mb():
    """Return the peak since this program was started; getrusage has that of the process that started it as well."""
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024


def most_threads():
    """Return a function that returns the largest number of threads of this process so far."""
    most = [0]

    def sample():
        while True:
            most[0] = max(most[0], sum(1 for _ in Path("/proc/self/task").iterdir()))
            time.sleep(0.02)

    threading.Thread(target=sample, daemon=True).start()
    return lambda: most[0]


class Link(asyncio.Protocol):
    """One end of a connection. What it receives goes to the other end `delay_s` later, and no faster than the link."""

    free_at = 0.0
    """When the link has sent what it was given, over all connections."""

    def __init__(self, delay_s: float, bytes_s: float) -> None:
        self.delay_s, self.bytes_s = delay_s, bytes_s
        self.other: asyncio.Transport | None = None
        self.early: list[bytes] = []

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        if self.other is None:
            self.early.append(data)
            return
        if not self.delay_s:
            self.other.write(data)
            return
        loop = asyncio.get_running_loop()
        at = loop.time()
        if self.bytes_s:
            at = Link.free_at = max(at, Link.free_at) + len(data) / self.bytes_s
        loop.call_at(at + self.delay_s, self.other.write, data)

    def connection_lost(self, _):
        if self.other is not None:
            asyncio.get_running_loop().call_later(self.delay_s, self.other.close)


async def serve_link(port: float, delay_s: float, mbit: float) -> None:
    """Take connections to the server, and print the port."""
    loop = asyncio.get_running_loop()

    class Near(Link):
        def connection_made(self, transport):
            super().connection_made(transport)
            self.connecting = asyncio.ensure_future(self.connect())

        async def connect(self):
            self.other, far = await loop.create_connection(
                lambda: Link(delay_s, mbit * 1e6 / 8), "127.0.0.1", int(port)
            )
            far.other = self.transport
            for data in self.early:
                self.other.write(data)

    server = await loop.create_server(lambda: Near(0, 0), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    main()
