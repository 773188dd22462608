"""Programs of others that judge and replay archives, in an environment of their own: pywb holds back packages of ours."""

import socket
import subprocess
import time
from contextlib import contextmanager
from http.client import HTTPConnection
from urllib.parse import urlsplit

from tests.environments import installed

PACKAGES = [
    "pywb>=2.9,<3",
    "wacz>=0.5,<1",
    "warcio>=1.7,<2",
    "cdxj-indexer>=1.4,<2",
    "warctools>=4,<6",
    "setuptools<81",
]


def programs(cache):
    """The directory of `pywb`, `wb-manager`, `wacz`, `cdxj-indexer` and `warcvalid`; made on first use, then kept."""
    return installed(cache, "pywb", PACKAGES, "pywb")


@contextmanager
def pywb(tools, directory):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [tools / "pywb", "-p", str(port), "-b", "127.0.0.1"]
    log = directory / "log"
    with log.open("w") as out:
        server = subprocess.Popen(command, cwd=directory, stdout=out, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert server.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)


def replayed(address, url, timestamp="20260102030405"):
    """Status, Location and body. The URL is requested as it is written; pywb may lead to how it was archived (307)."""
    host = urlsplit(address)
    location = f"{address}/{timestamp}id_/{url}"
    for _ in range(2):
        connection = HTTPConnection(host.hostname, host.port, timeout=30)
        try:
            connection.request("GET", location.removeprefix(f"http://{host.netloc}"))
            answer = connection.getresponse()
            status, location, body = answer.status, answer.headers["Location"], answer.read()
        finally:
            connection.close()
        if status != 307:
            break
    return status, location, body
