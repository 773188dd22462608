"""A crawled site, judged and replayed by the programs of others: they find every record, and give the bytes back."""

import gzip
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest

from pipeline.progress import LineProgress
from pipeline.wacz import export_wacz
from storage import cdxj
from storage.archive import Archive, Notes, Revisit
from storage.files import Files
from storage.records import read
from tests.storage.captures import STARTED_MS, capture
from tests.storage.pywbenv import programs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

BODY = b"<html><title>Page %d</title>" + b"<p>The same text on many pages.</p>" * 60
CHUNKS = b"6\r\n<html>\r\n9\r\nin pieces\r\n0\r\n\r\n"


@pytest.fixture(scope="session")
def tools(request):
    return programs(request.config.cache)


def ran(*command, cwd=None):
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def crawled(root, compression="gzip"):
    """Every kind of record, in two files; returns what a replay must give for each URL."""
    store = Files(root)
    made = Archive(store, "main", writer="w", user_agent="t", compression=compression, max_bytes=6_000)
    expected = {}
    ids = iter(UUID(int=number) for number in range(100))

    def add(path, body, **more):
        url = f"https://example.org/{path}"
        one = capture(body, wire=url, started_ms=STARTED_MS + len(expected) * 1000, **more)
        record_id = next(ids)
        made.append(one, record_id, notes=Notes(outlinks=("https://example.org/",)))
        made.commit()
        expected[url] = one.payload
        return one, record_id

    for number in range(20):
        add(f"{number}", BODY % (number % 8))
    add("chunked", CHUNKS, headers=(("Content-Type", "text/html"), ("Transfer-Encoding", "chunked")),
        payload=b"<html>in pieces")  # fmt: skip
    before, record_id = add("kept", BODY % 99)
    unchanged = capture(b"", status=304, wire=before.url.wire, started_ms=STARTED_MS + 90_000)
    same = Revisit(
        profile="server-not-modified", refers_to=record_id.urn, uri=before.url.wire, date_ms=before.started_ms
    )
    made.append(unchanged, next(ids), revisit=same)
    made.attach(
        "conversion",
        b"<p>DOM",
        uri=f"urn:dom:{before.url.wire}",  # pywb would take it for the page
        mime="text/html",
        date_ms=STARTED_MS,
        record_id=next(ids),
        response_id=record_id,
    )
    made.seal()
    return store, expected


def archives(store):
    return [store.path(name) for name in store.list("warc/main/") if ".warc." in name]


def as_version_1_0(path, plain):
    """warcvalid 5.0 knows no WARC/1.1, and fails in the attempt to say so: all else of a record it can judge."""
    plain.write_bytes(gzip.decompress(path.read_bytes()).replace(b"WARC/1.1\r\n", b"WARC/1.0\r\n"))
    return plain


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


def assert_replayed(address, expected):
    for url, body in expected.items():
        with urllib.request.urlopen(f"{address}/20260102030405id_/{url}", timeout=30) as answer:
            assert (answer.status, answer.read()) == (200, body), url


def test_every_file_is_valid_to_the_programs_of_others(tools, tmp_path):
    store, _ = crawled(tmp_path / "data")
    for path in archives(store):
        ran(Path(sys.executable).with_name("fastwarc"), "check", path)
        ran(tools / "warcvalid", as_version_1_0(path, tmp_path / "plain.warc"))
        indexed = ran(tools / "cdxj-indexer", path).splitlines()
        with path.open("rb") as file:
            ours = [
                cdxj.row_of(record, record.ref)
                for record in read(file, name=path.name)
                if record.type in cdxj.INDEXED
            ]
        assert {(line.split(" ")[0], line.split(" ")[1]) for line in indexed} == {
            (row.surt, row.timestamp) for row in ours
        }


def test_pywb_replays_the_warc_files(tools, tmp_path):
    store, expected = crawled(tmp_path / "data")
    web = tmp_path / "web"
    web.mkdir()
    ran(tools / "wb-manager", "init", "main", cwd=web)
    ran(tools / "wb-manager", "add", "main", *archives(store), cwd=web)
    with pywb(tools, web) as address:
        assert_replayed(f"{address}/main", expected)


def test_pywb_reads_our_indexes_as_they_are(tools, tmp_path):
    """As docs/guides/archive.md says: unpacked, sorted together, beside the storage."""
    store, expected = crawled(tmp_path / "data")
    lines = [
        line
        for name in store.list("warc/main/")
        if name.endswith(".cdxj.gz")
        for line in gzip.decompress(store.read(name)).decode().splitlines(keepends=True)
    ]
    web = tmp_path / "web"
    web.mkdir()
    (web / "index.cdxj").write_text("".join(sorted(lines)))
    (web / "config.yaml").write_text(
        f"collections:\n  main:\n    index: {web}/index.cdxj\n    archive_paths: {store.root}/\n"
    )
    with pywb(tools, web) as address:
        assert_replayed(f"{address}/main", expected)


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_a_wacz_is_valid_and_pywb_replays_it(tools, tmp_path, compression):
    store, expected = crawled(tmp_path / "data", compression)
    export = partial(export_wacz, store, "main", tmp_path / "main.wacz", "A crawl")
    assert export(LineProgress()).pages == 22
    assert "is valid" in ran(tools / "wacz", "validate", "-f", tmp_path / "main.wacz")
    web = tmp_path / "web"
    web.mkdir()
    ran(tools / "wb-manager", "init", "main", cwd=web)
    ran(tools / "wb-manager", "add", "main", tmp_path / "main.wacz", "--unpack-wacz", cwd=web)
    with pywb(tools, web) as address:
        assert_replayed(f"{address}/main", expected)
