"""A crawled site, judged and replayed by the programs of others: they find every record, and give the bytes back."""

import gzip
import subprocess
import sys
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest

from tests.expect import expect
from tests.pipeline.wacz.test_wacz_signature import made_key
from tests.storage.captures import STARTED_MS, capture
from tests.storage.pywbenv import programs, pywb, replayed
from thresher.pipeline.terminal.progress import LineProgress
from thresher.pipeline.wacz.wacz_export import WaczOptions, export_wacz
from thresher.storage.archive.archive_writer import ArchiveWriter, CaptureMetadata, Revisit
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.warc import cdxj
from thresher.storage.warc.exchange_records import Attachment
from thresher.storage.warc.records import read_records

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

BODY = b"<html><title>Page %d</title>" + b"<p>The same text on many pages.</p>" * 60
SESSION = "0123456789abcdef0123456789abcdef"
ADDRESSES = {
    "http://192.0.2.7/": ["http://192.0.2.7/", "192.0.2.7"],
    "http://192.0.2.7:8080/docs/": ["http://192.0.2.7:8080/docs/", "http://192.0.2.7:8080/docs"],
    "http://[2001:db8::7]/": ["http://[2001:db8::7]/"],
    "https://www.example.net/Docs/": ["https://www.example.net/Docs/", "http://example.net/docs"],
    "https://example.net/a/?z=1&a=2&A=3": ["https://example.net/a/?z=1&a=2&A=3", "https://example.net/a?a=2&a=3&z=1"],
    "https://example.net/empty?": ["https://example.net/empty?", "https://example.net/empty"],
    "https://example.net:444/port": ["https://example.net:444/port"],
    "http://example.net:80/usual": ["http://example.net/usual", "http://example.net:80/usual"],
    "http://user:secret@example.net/user": ["http://user:secret@example.net/user", "http://example.net/user"],
    "http://EXAMPLE.net/Case/Of/A/Path": ["http://example.net/Case/Of/A/Path", "http://example.net/case/of/a/path"],
    "http://xn--bcher-kva.example/x": ["http://xn--bcher-kva.example/x"],
    "https://example.net/caf%C3%A9%2Fx%20y": ["https://example.net/caf%C3%A9%2Fx%20y"],
    "https://example.net/%7Euser/%41": ["https://example.net/~user/A", "https://example.net/%7Euser/%41"],
    f"https://example.net/s?PHPSESSID={SESSION}&b=1": [
        f"https://example.net/s?PHPSESSID={SESSION}&b=1",
        "https://example.net/s?b=1",
        f"https://example.net/s?PHPSESSID={SESSION[::-1]}&b=1",
    ],
    "https://example.net/a//b/./c/../d": ["https://example.net/a/b/d"],
}  # fmt: skip
"""Addresses of archived pages, and those under which each is to be found."""
SAME_KEY, MOVED = "http://www.example.com/", "http://192.0.2.9/old/?b=1&a=2"
REDIRECTS = {SAME_KEY: "https://example.com/", MOVED: "http://192.0.2.9/new/?b=1&a=2"}
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
    store = DirectoryStore(root)
    made = ArchiveWriter(store, "main", writer="w", user_agent="t", compression=compression, max_bytes=6_000)
    expected = {}
    ids = iter(UUID(int=number) for number in range(100))

    def add(path, body, **more):
        url = f"https://example.org/{path}"
        one = capture(body, wire=url, started_ms=STARTED_MS + len(expected) * 1000, **more)
        record_id = next(ids)
        made.append(one, record_id, metadata=CaptureMetadata(outlinks=("https://example.org/",)))
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
    dom = Attachment(
        kind="conversion",
        block=b"<p>DOM",
        uri=f"urn:dom:{before.url.wire}",  # pywb would take it for the page
        mime="text/html",
        date_ms=STARTED_MS,
    )
    made.attach(dom, record_id=next(ids), response_id=record_id)
    made.seal()
    return store, expected


def crawled_addresses(root):
    """A page for each of `ADDRESSES`, and redirects; returns what a replay must give for each URL."""
    store = DirectoryStore(root)
    made = ArchiveWriter(store, "main", writer="w", user_agent="t")
    expected = {}
    for number, (archived, requested) in enumerate(ADDRESSES.items()):
        body = b"<title>Page %d</title>" % number
        made.append(capture(body, wire=archived, started_ms=STARTED_MS + number * 1000), UUID(int=number))
        expected |= dict.fromkeys(requested, body)
    for number, (source, target) in enumerate(REDIRECTS.items(), 100):
        moved = capture(b"", wire=source, status=301, headers=(("Location", target),), started_ms=STARTED_MS)
        made.append(moved, UUID(int=number))
        there = capture(b"there: " + target.encode(), wire=target, started_ms=STARTED_MS + 1000)
        made.append(there, UUID(int=number + 100))
        expected[target] = b"there: " + target.encode()
    expected[SAME_KEY] = expected[
        REDIRECTS[SAME_KEY]
    ]  # pywb passes over a redirect to the key that it was asked for
    made.seal()
    return store, expected


def archives(store):
    return [store.path(name) for name in store.list("warc/main/") if ".warc." in name]


def as_version_1_0(path, plain):
    """warcvalid 5.0 knows no WARC/1.1, and fails in the attempt to say so: all else of a record it can judge."""
    plain.write_bytes(gzip.decompress(path.read_bytes()).replace(b"WARC/1.1\r\n", b"WARC/1.0\r\n"))
    return plain


def assert_replayed(address, expected):
    assert {url: replayed(address, url) for url in expected} == {
        url: (200, None, body) for url, body in expected.items()
    }


def test_every_file_is_valid_to_the_programs_of_others(tools, tmp_path):
    store, _ = crawled(tmp_path / "data")
    for path in archives(store):
        ran(Path(sys.executable).with_name("fastwarc"), "check", path)
        ran(tools / "warcvalid", as_version_1_0(path, tmp_path / "plain.warc"))
        indexed = ran(tools / "cdxj-indexer", path).splitlines()
        with path.open("rb") as file:
            ours = [
                expect(cdxj.CdxjRow, cdxj.row_of(record, record.ref))
                for record in read_records(file, name=path.name)
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


def served_as_it_is(store, web):
    """As docs/guides/archive.md says: the indexes unpacked, sorted together, beside the storage."""
    lines = [
        line
        for name in store.list("warc/main/")
        if name.endswith(".cdxj.gz")
        for line in gzip.decompress(store.read(name)).decode().splitlines(keepends=True)
    ]
    web.mkdir()
    (web / "index.cdxj").write_text("".join(sorted(lines)))
    (web / "config.yaml").write_text(
        f"collections:\n  main:\n    index: {web}/index.cdxj\n    archive_paths: {store.root}/\n"
    )


def test_pywb_reads_our_indexes_as_they_are(tools, tmp_path):
    store, expected = crawled(tmp_path / "data")
    served_as_it_is(store, tmp_path / "web")
    with pywb(tools, tmp_path / "web") as address:
        assert_replayed(f"{address}/main", expected)


@pytest.mark.parametrize("way", ["index", "wacz"])
def test_pywb_finds_every_address_as_it_is_usually_written(tools, tmp_path, way):
    store, expected = crawled_addresses(tmp_path / "data")
    web = tmp_path / "web"
    if way == "index":
        served_as_it_is(store, web)
    else:
        export_wacz(store, "main", tmp_path / "main.wacz", "", LineProgress())
        web.mkdir()
        ran(tools / "wb-manager", "init", "main", cwd=web)
        ran(tools / "wb-manager", "add", "main", tmp_path / "main.wacz", "--unpack-wacz", cwd=web)
    with pywb(tools, web) as address:
        assert_replayed(f"{address}/main", expected)
        assert replayed(f"{address}/main", MOVED)[:2] == (301, REDIRECTS[MOVED])


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_a_wacz_is_valid_and_pywb_replays_it(tools, tmp_path, compression):
    store, expected = crawled(tmp_path / "data", compression)
    options = WaczOptions(key=made_key(tmp_path / "key.pem"))
    export = partial(export_wacz, store, "main", tmp_path / "main.wacz", "A crawl")
    assert export(LineProgress(), options).pages == 22
    assert "is valid" in ran(tools / "wacz", "validate", "-f", tmp_path / "main.wacz")
    web = tmp_path / "web"
    web.mkdir()
    ran(tools / "wb-manager", "init", "main", cwd=web)
    ran(tools / "wb-manager", "add", "main", tmp_path / "main.wacz", "--unpack-wacz", cwd=web)
    with pywb(tools, web) as address:
        assert_replayed(f"{address}/main", expected)
