"""A real S3-compatible server (SeaweedFS) on loopback, with what a test must do to it: kill it and start it again."""

import json
import os
import signal
import socket
import subprocess
import sysconfig
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

BUCKET = "thresher-test"
KEYS = {"AWS_ACCESS_KEY_ID": "thresherkey", "AWS_SECRET_ACCESS_KEY": "threshersecret"}
READER = {"AWS_ACCESS_KEY_ID": "readerkey", "AWS_SECRET_ACCESS_KEY": "readersecret"}
PORTS = ("master", "master.grpc", "volume", "volume.grpc", "filer", "filer.grpc", "s3", "s3.grpc")
UP_S = 60
HOST = "127.0.0.1"


class Server:
    """One server with its data in a directory. `start` returns when it takes writes."""

    def __init__(self, directory: Path, *, is_open: bool = False) -> None:
        self._directory = directory
        self._is_open = is_open
        self._process: subprocess.Popen | None = None
        self._ports = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))

    @property
    def port(self) -> int:
        return self._ports["s3"]

    @property
    def endpoint(self) -> str:
        return f"http://{HOST}:{self.port}"

    def start(self) -> None:
        self.launch()
        self.wait_until_it_takes_writes()

    def wait_until_it_takes_writes(self) -> None:
        """Return when it takes writes to the bucket, which is made if nobody has made it."""
        until = time.monotonic() + UP_S
        client = self.client()
        while True:
            try:
                client.put_object(Bucket=BUCKET, Key="up", Body=b"")
            except ClientError as error:
                if error.response["Error"]["Code"] == "NoSuchBucket":
                    with suppress(ClientError):  # another process made it
                        client.create_bucket(Bucket=BUCKET)
                    continue
            except BotoCoreError:
                pass
            else:
                return
            ended = self._process is not None and self._process.poll() is not None
            if ended or time.monotonic() > until:
                raise RuntimeError(self.log()[-2000:])
            time.sleep(0.1)

    def launch(self) -> None:
        """Start, and return before it answers."""
        self._directory.mkdir(parents=True, exist_ok=True)
        config = self._directory / "s3.json"
        config.write_text(
            json.dumps(
                {
                    "identities": [
                        identity("all", KEYS, "Admin", "Read", "Write", "List"),
                        identity("reader", READER, "Read", "List"),
                    ]
                }
            )
        )
        sockets = self._directory / "sockets"
        sockets.mkdir(exist_ok=True)
        command = [
            Path(sysconfig.get_path("scripts")) / "weed",
            "server",
            f"-dir={self._directory}",
            f"-ip={HOST}",
            f"-ip.bind={HOST}",
            "-filer",
            "-s3",
            *(() if self._is_open else (f"-s3.config={config}",)),
            *(
                f"-{name.replace('.', '.port.') if '.' in name else f'{name}.port'}={port}"
                for name, port in self._ports.items()
            ),
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            "-master.telemetry=false",
            "-master.electionTimeout=1s",
            "-s3.autoCreateBucket=false",
            "-volume.max=20",
            "-master.volumeSizeLimitMB=256",
            f"-s3.localSocket={sockets / 's3'}",
            f"-filer.localSocket={sockets / 'filer'}",
        ]
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                cwd=self._directory,
                env={
                    # SeaweedFS would take the keys in the AWS_* variables for those of an owner.
                    **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
                    "TMPDIR": str(sockets),
                },
            )

    def kill(self) -> None:
        """As a power cut to the process: nothing is written any more."""
        assert self._process
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()

    def log(self) -> str:
        return (self._directory / "log").read_text(errors="replace")

    def client(self):
        """A client of its own, apart from what is tested."""
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
            config=Config(
                s3={"addressing_style": "path"},
                retries={"total_max_attempts": 1, "mode": "standard"},
                connect_timeout=2,
                read_timeout=10,
            ),
        )

    def __getstate__(self) -> dict[str, Any]:
        """Another process talks to the server, and cannot end it."""
        return {**self.__dict__, "_process": None}

    def __repr__(self) -> str:
        return f"<s3 server at {self.endpoint}>"


@contextmanager
def running_server(directory: Path, *, is_open: bool = False) -> Iterator[Server]:
    """A server of one's own. One that is open to everybody checks no signatures."""
    server = Server(directory, is_open=is_open)
    try:
        server.start()
        yield server
    finally:
        server.stop()


@contextmanager
def launched_server(directories: pytest.TempPathFactory) -> Iterator[Server]:
    """The server of all test processes (`tests.workers.shared`); it may not answer yet."""
    server = Server(directories.mktemp("s3"))
    try:
        server.launch()
        yield server
    finally:
        server.stop()


def identity(name, keys, *actions):
    credentials = {"accessKey": keys["AWS_ACCESS_KEY_ID"], "secretKey": keys["AWS_SECRET_ACCESS_KEY"]}
    return {"name": name, "credentials": [credentials], "actions": list(actions)}


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago, below the range that outgoing connections take theirs from."""
    ports = []
    with ExitStack() as held:
        for candidate in _candidates():
            sock = held.enter_context(socket.socket())
            try:
                sock.bind((HOST, candidate))
            except OSError:
                continue
            ports.append(candidate)
            if len(ports) == count:
                return ports
    raise RuntimeError("no free ports")


def _candidates() -> Iterator[int]:
    """Another part of the range for each process, so that those beside us do not take the same."""
    first = 20_000 + os.getpid() * 41 % 10_000
    yield from range(first, 32_000)
    yield from range(20_000, first)
