# ruff: noqa: PLC0415 - each client is imported only in the process that measures it
"""Measure requests to an S3 server with boto3 and obstore, and with `S3Store`, in one run.

usage: python bench/storage/s3_clients.py [--calls N] [--large-mb N] [--repeat N] [--peer obstore]

The server is SeaweedFS on loopback, which this program starts and kills. Each round of each client is a process of its
own, and the clients take turns. The figures of an operation are those of its round with the least CPU: [CPU, wall]
milliseconds of a call (user + system) in the client's process. Each bare client sends the fewest requests that the
operation allows; `s3store` also sends those that its promises cost.

- put: create an object of 10 KB on condition that its name is free, with its SHA-256 and a mark in its metadata.
- put_taken: the same for a name that is taken; the client says so.
- read: read 10 KB whole and compare their SHA-256 with the metadata.
- range: look up the entity tag of the large object, then read 1 MB at a random offset on condition that the tag is
  unchanged.
- upload: create the large object. boto3 and S3Store send parts of 8 MiB, 4 at a time, and complete the upload
  on condition that the name is free. obstore has no condition for uploads in parts: `upload` is its single conditional
  request, and `upload_parts` its upload in parts, which overwrites.
- list: list 1,000 names in one reply.
- threads_put, threads_read: `put` and `read` by 16 threads at once.

`import_cpu_ms` is the CPU until the client is made and `rss_mb` the resident memory then. `peak_before_upload_mb`,
`peak_after_upload_mb` and `peak_mb` are the most resident memory of the process until then, and in all.

Without `--peer obstore`, obstore is left out; its environment is made by bench/peers. Prints one JSON line.
"""

import argparse
import base64
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

SMALL = os.urandom(10_000)
RANGE_BYTES = 1_000_000
RANGES = 20
NAMES = 1000
LISTS = 10
THREADS = 16
PART_BYTES = 8 << 20
PARTS_AT_ONCE = 4
MARK, DIGEST = "thresher-mark", "thresher-sha256"


class Client(Protocol):
    """The operations that are measured. Keys are complete names of objects."""

    def put(self, key: str, data: bytes) -> bool:
        """Create an object; return False if the name is taken."""
        ...

    def read(self, key: str) -> bytes:
        """Read an object whole, and check its SHA-256."""
        ...

    def range(self, key: str, first: int, length: int) -> bytes:
        """Read a range of the object that is stored now."""
        ...

    def upload(self, key: str, path: Path) -> bool:
        """Create an object from a file; return False if the name is taken."""
        ...

    def list(self, prefix: str) -> int:
        """Count the names."""
        ...


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--large-mb", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--peer", action="append", choices=["obstore"], default=[])
    parser.add_argument("--client", help=argparse.SUPPRESS)
    parser.add_argument("--endpoint", help=argparse.SUPPRESS)
    parser.add_argument("--bucket", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.client:
        print(json.dumps(measure(args)))
    else:
        print(json.dumps(compare(args)))


def compare(args: argparse.Namespace) -> dict[str, Any]:
    """Run each client in turn, as often as asked, and take the cheapest round of each operation."""
    from bench.peers import environments
    from tests.storage.s3server import BUCKET, KEYS, running_server

    pythons = {
        "boto3": sys.executable,
        "s3store": sys.executable,
        **{name: environments.python(name) for name in args.peer},
    }
    rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in pythons}
    environment = {**os.environ, **KEYS, "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}
    with tempfile.TemporaryDirectory() as directory, running_server(Path(directory) / "s3") as server:
        for _ in range(args.repeat):
            for name, python in pythons.items():
                words = [
                    python,
                    __file__,
                    "--client",
                    name,
                    "--endpoint",
                    server.endpoint,
                    "--bucket",
                    BUCKET,
                ]
                words += ["--calls", str(args.calls), "--large-mb", str(args.large_mb)]
                done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, check=True)
                rounds[name].append(json.loads(done.stdout))
    return {
        "bench": "s3_clients",
        "large_mb": args.large_mb,
        **{
            name: {key: min(each[key] for each in found) for key in found[0]}
            for name, found in rounds.items()
        },
    }


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Measure one round of one client: [CPU, wall] milliseconds of a call."""
    begun = time.process_time()
    made: Client = CLIENTS[args.client](args.endpoint, args.bucket)
    found: dict[str, Any] = {
        "import_cpu_ms": round((time.process_time() - begun) * 1000),
        "rss_mb": memory_mb("VmRSS"),
    }
    base = f"bench/{args.client}-{os.urandom(4).hex()}"
    size = args.large_mb << 20
    assert made.put(f"{base}/warm", SMALL)

    def timed(name: str, work: Callable[[], object], calls: float) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        cost = (time.process_time() - cpu, time.perf_counter() - wall)
        found[name] = [round(each * 1000 / calls, 3) for each in cost]

    def each(work: Callable[[int], object]) -> Callable[[], object]:
        return lambda: [work(number) for number in range(args.calls)]

    def at_once(work: Callable[[int], object]) -> Callable[[], object]:
        def carry() -> None:
            with ThreadPoolExecutor(THREADS) as pool:
                list(pool.map(work, range(args.calls)))

        return carry

    def put(directory: str, expected: bool) -> Callable[[int], None]:
        def one(number: int) -> None:
            assert made.put(f"{base}/{directory}/{number}", SMALL) is expected

        return one

    def read(number: int) -> None:
        assert made.read(f"{base}/small/{number}") == SMALL

    timed("put", each(put("small", True)), args.calls)
    timed("put_taken", each(put("small", False)), args.calls)
    timed("read", each(read), args.calls)
    timed("threads_put", at_once(put("threads", True)), args.calls)
    timed("threads_read", at_once(read), args.calls)
    for number in range(NAMES - 2 * args.calls):
        made.put(f"{base}/small/more-{number}", b"")
    there = made.list(f"{base}/small/")
    timed("list", lambda: [made.list(f"{base}/small/") for _ in range(LISTS)], LISTS * there / NAMES)
    found["peak_before_upload_mb"] = memory_mb("VmHWM")
    with tempfile.NamedTemporaryFile() as file:
        block = os.urandom(1 << 20)
        for _ in range(args.large_mb):
            file.write(block)
        file.flush()
        path = Path(file.name)
        timed("upload", lambda: made.upload(f"{base}/large", path), 1)
        found["peak_after_upload_mb"] = memory_mb("VmHWM")
        if isinstance(made, Obstore):
            timed("upload_parts", lambda: made.upload_parts(f"{base}/large-parts", path), 1)
    place = random.Random(1)
    timed(
        "range",
        lambda: [
            made.range(f"{base}/large", place.randrange(size - RANGE_BYTES), RANGE_BYTES)
            for _ in range(RANGES)
        ],
        RANGES,
    )
    found["peak_mb"] = memory_mb("VmHWM")
    return found


def memory_mb(field: str) -> float:
    """Return VmRSS or VmHWM of this process, in MB."""
    status = Path("/proc/self/status").read_text()
    return round(int(status.partition(f"{field}:")[2].split()[0]) / 1024, 1)


def put_arguments(data: bytes) -> dict[str, Any]:
    """Return the arguments that `storage.s3.put` sends with an object."""
    digest = hashlib.sha256(data)
    return {
        "Body": data,
        "ChecksumSHA256": base64.b64encode(digest.digest()).decode(),
        "Metadata": {MARK: os.urandom(16).hex(), DIGEST: digest.hexdigest()},
        "IfNoneMatch": "*",
    }


def part(path: Path, number: int) -> tuple[bytes, str]:
    """Return the bytes of a part, and their SHA-256 as S3 writes it."""
    with path.open("rb") as file:
        data = os.pread(file.fileno(), PART_BYTES, (number - 1) * PART_BYTES)
    return data, base64.b64encode(hashlib.sha256(data).digest()).decode()


def part_numbers(path: Path) -> range:
    """Return the numbers of a file's parts."""
    return range(1, -(-path.stat().st_size // PART_BYTES) + 1)


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def client_config() -> Any:
    """Return the configuration of `storage.s3.s3_client`, which is not imported, because obstore runs without boto3."""
    from botocore.config import Config

    return Config(
        retries={"total_max_attempts": 1, "mode": "standard"},
        max_pool_connections=THREADS,
        s3={"addressing_style": "path"},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )


class Boto3:
    """The synchronous client, which its threads share."""

    def __init__(self, endpoint: str, bucket: str) -> None:
        import boto3
        from botocore.exceptions import ClientError
        from botocore.handlers import add_expect_header

        session = boto3.Session()
        self._error, self._bucket = ClientError, bucket
        self._client = session.client("s3", endpoint_url=endpoint, config=client_config())
        self._client.meta.events.unregister("before-call.s3", add_expect_header)

    def put(self, key: str, data: bytes) -> bool:
        try:
            self._client.put_object(Bucket=self._bucket, Key=key, **put_arguments(data))
        except self._error as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] != 412:
                raise
            return False
        return True

    def read(self, key: str) -> bytes:
        reply = self._client.get_object(Bucket=self._bucket, Key=key)
        with reply["Body"] as body:
            data: bytes = body.read()
        assert hashlib.sha256(data).hexdigest() == reply["Metadata"][DIGEST]
        return data

    def range(self, key: str, first: int, length: int) -> bytes:
        etag = self._client.head_object(Bucket=self._bucket, Key=key)["ETag"]
        span = f"bytes={first}-{first + length - 1}"
        reply = self._client.get_object(Bucket=self._bucket, Key=key, Range=span, IfMatch=etag)
        with reply["Body"] as body:
            data: bytes = body.read()
        assert len(data) == length
        return data

    def upload(self, key: str, path: Path) -> bool:
        metadata = {MARK: os.urandom(16).hex(), DIGEST: file_digest(path)}
        begun = self._client.create_multipart_upload(
            Bucket=self._bucket, Key=key, ChecksumAlgorithm="SHA256", Metadata=metadata
        )
        this: dict[str, Any] = {"Bucket": self._bucket, "Key": key, "UploadId": begun["UploadId"]}

        def send(number: int) -> Any:
            data, checksum = part(path, number)
            sent = self._client.upload_part(**this, PartNumber=number, Body=data, ChecksumSHA256=checksum)
            return {"PartNumber": number, "ETag": sent["ETag"], "ChecksumSHA256": checksum}

        with ThreadPoolExecutor(PARTS_AT_ONCE) as pool:
            parts = list(pool.map(send, part_numbers(path)))
        self._client.complete_multipart_upload(**this, MultipartUpload={"Parts": parts}, IfNoneMatch="*")
        return True

    def list(self, prefix: str) -> int:
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
        return sum(len(page.get("Contents", ())) for page in pages)


class Obstore:
    """The Rust client behind a synchronous interface, which its threads share."""

    def __init__(self, endpoint: str, bucket: str) -> None:
        import obstore
        from obstore.exceptions import AlreadyExistsError
        from obstore.store import S3Store

        self._obstore, self._taken = obstore, AlreadyExistsError
        self._store = S3Store(
            bucket,
            endpoint=endpoint,
            region="us-east-1",
            access_key_id=os.environ["AWS_ACCESS_KEY_ID"],
            secret_access_key=os.environ["AWS_SECRET_ACCESS_KEY"],
            checksum_algorithm="SHA256",
            client_options={"allow_http": True},
            retry_config={"max_retries": 0},
        )

    def put(self, key: str, data: bytes) -> bool:
        attributes = {MARK: os.urandom(16).hex(), DIGEST: hashlib.sha256(data).hexdigest()}
        try:
            self._obstore.put(self._store, key, data, mode="create", attributes=attributes)
        except self._taken:
            return False
        return True

    def read(self, key: str) -> bytes:
        reply = self._obstore.get(self._store, key)
        digest = reply.attributes[DIGEST]
        data = reply.bytes().to_bytes()
        assert hashlib.sha256(data).hexdigest() == digest
        return bytes(data)

    def range(self, key: str, first: int, length: int) -> bytes:
        etag = self._obstore.head(self._store, key)["e_tag"]
        options = {"range": (first, first + length), "if_match": etag}
        data = self._obstore.get(self._store, key, options=options).bytes().to_bytes()
        assert len(data) == length
        return bytes(data)

    def upload(self, key: str, path: Path) -> bool:
        attributes = {MARK: os.urandom(16).hex(), DIGEST: file_digest(path)}
        self._obstore.put(self._store, key, path, mode="create", attributes=attributes)
        return True

    def upload_parts(self, key: str, path: Path) -> None:
        """Upload in parts, and overwrite: an upload in parts takes no condition."""
        attributes = {MARK: os.urandom(16).hex(), DIGEST: file_digest(path)}
        self._obstore.put(
            self._store,
            key,
            path,
            attributes=attributes,
            use_multipart=True,
            chunk_size=PART_BYTES,
            max_concurrency=PARTS_AT_ONCE,
        )

    def list(self, prefix: str) -> int:
        return sum(len(page) for page in self._obstore.list(self._store, prefix, chunk_size=NAMES))


class S3StoreClient:
    """`S3Store` as the steps use it."""

    def __init__(self, endpoint: str, bucket: str) -> None:
        from thresher.storage.s3.s3_store import S3Store

        self._store = S3Store(bucket, endpoint=endpoint)

    def put(self, key: str, data: bytes) -> bool:
        return self._store.put(key, data)

    def read(self, key: str) -> bytes:
        return self._store.read(key)

    def range(self, key: str, first: int, length: int) -> bytes:
        with self._store.open(key) as file:
            file.seek(first)
            return file.read(length)

    def upload(self, key: str, path: Path) -> bool:
        return self._store.put_file(path, key)

    def list(self, prefix: str) -> int:
        return sum(1 for _ in self._store.list(prefix))


CLIENTS: dict[str, Callable[[str, str], Client]] = {
    "boto3": Boto3,
    "obstore": Obstore,
    "s3store": S3StoreClient,
}

if __name__ == "__main__":
    main()
