"""A small crawl made as Common Crawl makes its own.

`write_crawl` writes a directory: WARC, WAT and WET files with a gzip member a record, their paths lists, the CDX index in
ZipNum blocks with its cluster.idx, and the columnar index in Parquet. `serve_files` of `commoncrawl_server` serves it.
"""

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, uuid5

import pyarrow as pa
import pyarrow.parquet as pq

from thresher.core.surt import surt

CRAWL = "CC-MAIN-2024-22"
SEGMENT = "1715971057216.39"


PROSE = (
    "The ferry to the island leaves at seven, and whoever misses it waits until noon on the stone bench by the "
    "harbour, where the baker sells rolls that are still warm and the old men argue about the wind. "
)


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page of the crawl."""

    url: str
    body: bytes
    status: int = 200
    languages: str = "eng"
    mime: str = "text/html"
    truncated: str = ""
    redirect: str = ""


@dataclass(frozen=True, kw_only=True)
class StoredPage:
    """Where a page's record lies."""

    page: Page
    timestamp: str
    filename: str
    offset: int
    length: int
    digest: str


def pages(host: str, count: int, **more) -> list[Page]:
    return [
        Page(url=f"https://{host}/{number:03d}", body=article(f"{host} {number}"), **more)
        for number in range(count)
    ]


def article(title: str) -> bytes:
    paragraphs = "".join(f"<p>{title}, part {part}: {PROSE * 2}</p>" for part in range(4))
    return f"<html><head><title>{title}</title></head><body><article>{paragraphs}</article></body></html>".encode()


USUAL = [
    *pages("example.org", 12),
    *pages("www.example.org", 2),
    *pages("docs.example.org", 5, languages="deu,eng"),
    *pages("example-site.org", 3),
    *pages("example.organic", 3),
    *pages("other.net", 14),
    *pages("xyz.test", 9),
    Page(url="http://example.org/Docs/A%20b/?z=1&a=2", body=article("query")),
    Page(url="https://example.org/cut", body=article("cut")[:600], truncated="length"),
    Page(url="https://example.org/paper.pdf", body=b"%PDF-1.4 not much of one", mime="application/pdf"),
    Page(url="http://example.org/old", body=b"moved", status=301, redirect="https://example.org/000"),
]


def write_crawl(
    root: Path, found: list[Page] = USUAL, *, files: int = 3, crawl: str = CRAWL, **more
) -> list[StoredPage]:
    """Write the crawl below `root`; returns where each page lies."""
    stored = []
    names = [f"CC-MAIN-20240517233122-20240518023122-{number:05d}" for number in range(files)]
    for number, name in enumerate(names):
        mine = [page for at, page in enumerate(found) if at % files == number]
        for kind in ("warc", "crawldiagnostics"):
            of_kind = [page for page in mine if (page.status == 200) == (kind == "warc")]
            path = f"crawl-data/{crawl}/segments/{SEGMENT}/{kind}/{name}.warc.gz"
            stored += warc(root, path, of_kind)
        wat_and_wet(root, crawl, name, [page for page in mine if page.status == 200])
    for kind in ("warc", "wat", "wet"):
        ending = "warc.gz" if kind == "warc" else f"warc.{kind}.gz"
        lines = [f"crawl-data/{crawl}/segments/{SEGMENT}/{kind}/{name}.{ending}\n" for name in names]
        write(root / f"crawl-data/{crawl}/{kind}.paths.gz", gzip.compress("".join(lines).encode(), mtime=0))
    index(root, stored, crawl=crawl, **more)
    return stored


def index(
    root: Path,
    stored: list[StoredPage],
    *,
    crawl: str = CRAWL,
    block: int = 4,
    parts: int = 2,
    group: int = 5,
    schema=None,
) -> None:
    """Both indexes of what is stored."""
    cdx_index(root, stored, crawl, block, parts)
    columnar_index(root, stored, crawl, parts, group, schema or columns)


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def base32(data: bytes) -> str:
    return base64.b32encode(hashlib.sha1(data).digest()).decode()


def record(kind: str, url: str, block: bytes, mime: str, extra: str = "") -> bytes:
    identity = uuid5(NAMESPACE_URL, f"{kind} {url}").urn
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Date: 2024-05-18T01:58:10Z\r\nWARC-Record-ID: <{identity}>\r\n"
        f"Content-Length: {len(block)}\r\nContent-Type: {mime}\r\n{extra}"
        f"{f'WARC-Target-URI: {url}' + chr(13) + chr(10) if url else ''}\r\n"
    )
    return gzip.compress(head.encode() + block + b"\r\n\r\n", 6, mtime=0)


def response(page: Page) -> bytes:
    """The member of a page, as Common Crawl's crawler writes it: decoded, what was encoded renamed in the head."""
    moved = f"Location: {page.redirect}\r\n" if page.redirect else ""
    http = (
        f"HTTP/1.1 {page.status} OK\r\nContent-Type: {page.mime}; charset=utf-8\r\n{moved}"
        f"X-Crawler-content-encoding: gzip\r\nX-Crawler-transfer-encoding: chunked\r\n"
        f"Content-Length: {len(page.body)}\r\n\r\n"
    )
    extra = f"WARC-Payload-Digest: sha1:{base32(page.body)}\r\n"
    if page.truncated:
        extra += f"WARC-Truncated: {page.truncated}\r\n"
    return record(
        "response", page.url, http.encode() + page.body, "application/http; msgtype=response", extra
    )


def warc(root: Path, path: str, of_file: list[Page]) -> list[StoredPage]:
    data = record("warcinfo", "", b"isPartOf: x\r\n", "application/warc-fields")
    stored = []
    for page in of_file:
        data += record("request", page.url, b"GET / HTTP/1.1\r\n\r\n", "application/http; msgtype=request")
        member = response(page)
        stored.append(
            StoredPage(
                page=page,
                timestamp="20240518015810",
                filename=path,
                offset=len(data),
                length=len(member),
                digest=base32(page.body),
            )
        )
        data += member
        data += record("metadata", page.url, b"fetchTimeMs: 258\r\n", "application/warc-fields")
    write(root / path, data)
    return stored


def wat_and_wet(root: Path, crawl: str, name: str, of_file: list[Page]) -> None:
    for kind, record_type, mime in (
        ("wat", "metadata", "application/json"),
        ("wet", "conversion", "text/plain"),
    ):
        data = record("warcinfo", "", b"isPartOf: x\r\n", "application/warc-fields")
        for page in of_file:
            text = re.sub(rb"<[^>]*>", b" ", page.body)
            block = text if kind == "wet" else json.dumps({"Container": page.url}).encode()
            data += record(record_type, page.url, block, mime)
        write(root / f"crawl-data/{crawl}/segments/{SEGMENT}/{kind}/{name}.warc.{kind}.gz", data)


def cdx_line(stored: StoredPage) -> bytes:
    page = stored.page
    fields = {
        "url": page.url,
        "mime": page.mime,
        "mime-detected": page.mime,
        "status": str(page.status),
        "digest": stored.digest,
        "length": str(stored.length),
        "offset": str(stored.offset),
        "filename": stored.filename,
    }
    if page.redirect:
        fields["redirect"] = page.redirect
    else:
        fields |= {"charset": "UTF-8", "languages": page.languages}
    if page.truncated:
        fields["truncated"] = page.truncated
    return f"{surt(page.url)} {stored.timestamp} {json.dumps(fields)}\n".encode()


def cdx_index(root: Path, stored: list[StoredPage], crawl: str, block: int, parts: int) -> None:
    """ZipNum: sorted lines in blocks, one gzip member a block, and the first key of each block in cluster.idx."""
    lines = sorted(map(cdx_line, stored))
    here = root / f"cc-index/collections/{crawl}/indexes"
    cluster, number = b"", 0
    for part in range(parts):
        name, data = f"cdx-{part:05d}.gz", b""
        mine = lines[len(lines) * part // parts : len(lines) * (part + 1) // parts]
        for at in range(0, len(mine), block):
            number += 1
            member = gzip.compress(b"".join(mine[at : at + block]), 6, mtime=0)
            key = b" ".join(mine[at].split(b" ")[:2]).decode()
            cluster += f"{key}\t{name}\t{len(data)}\t{len(member)}\t{number}\n".encode()
            data += member
        write(here / name, data)
    write(here / "cluster.idx", cluster)


def columns(found: list[StoredPage]) -> pa.Table:
    """The columns of 2024."""
    return pa.table(
        {
            "url_surtkey": [surt(each.page.url) for each in found],
            "url": [each.page.url for each in found],
            "url_host_name": [urlsplit(each.page.url).hostname for each in found],
            "fetch_time": pa.array(
                [datetime.fromisoformat(f"{each.timestamp[:8]}T{each.timestamp[8:]}") for each in found],
                pa.timestamp("ns"),
            ),
            "fetch_status": pa.array([each.page.status for each in found], pa.int16()),
            "fetch_redirect": [each.page.redirect or None for each in found],
            "content_digest": [each.digest for each in found],
            "content_mime_type": [each.page.mime for each in found],
            "content_mime_detected": [each.page.mime for each in found],
            "content_charset": [None if each.page.redirect else "UTF-8" for each in found],
            "content_languages": [None if each.page.redirect else each.page.languages for each in found],
            "content_truncated": [each.page.truncated or None for each in found],
            "warc_filename": [each.filename for each in found],
            "warc_record_offset": pa.array([each.offset for each in found], pa.int32()),
            "warc_record_length": pa.array([each.length for each in found], pa.int32()),
            "warc_segment": [SEGMENT for _ in found],
        }
    )


def columns_of_2013(found: list[StoredPage]) -> pa.Table:
    """What the oldest crawls have: nothing that was detected, and other types."""
    table = columns(found).drop_columns(
        [
            "fetch_redirect",
            "content_mime_detected",
            "content_charset",
            "content_languages",
            "content_truncated",
        ]
    )
    for name, type_ in {
        "warc_record_offset": pa.int64(),
        "fetch_status": pa.int32(),
        "warc_filename": pa.large_string(),
        "fetch_time": pa.timestamp("ms", "UTC"),
    }.items():
        table = table.set_column(table.schema.get_field_index(name), name, table[name].cast(type_))
    encoded = table["content_mime_type"].dictionary_encode()
    return table.set_column(table.schema.get_field_index("content_mime_type"), "content_mime_type", encoded)


def columnar_index(
    root: Path, stored: list[StoredPage], crawl: str, parts: int, group: int, schema: Callable
) -> None:
    paths = []
    for subset in ("crawldiagnostics", "warc"):
        mine = [each for each in stored if f"/{subset}/" in each.filename]
        mine.sort(key=lambda each: surt(each.page.url).encode())
        for part in range(parts):
            some = mine[len(mine) * part // parts : len(mine) * (part + 1) // parts]
            if not some:
                continue
            path = f"cc-index/table/cc-main/warc/crawl={crawl}/subset={subset}/part-{part:05d}-4dd7.c000.gz.parquet"
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(
                schema(some),
                root / path,
                row_group_size=group,
                compression="gzip",
                use_deprecated_int96_timestamps=schema is columns,
            )
            paths.append(f"{path}\n")
    write(
        root / f"crawl-data/{crawl}/cc-index-table.paths.gz", gzip.compress("".join(paths).encode(), mtime=0)
    )
