"""A site of ours whose pages have parts of every kind, and WACZ files of it with faults made by hand."""

import random
import re
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from io import BytesIO
from uuid import uuid4
from zipfile import ZipFile

from tests.crawler.render.pictures import SIGNATURE
from tests.crawler.server import page, redirect
from thresher.core import RecordRef
from thresher.storage.warc import cdxj
from thresher.storage.warc.compression import gzip_member
from thresher.storage.warc.members import members
from thresher.storage.warc.records import read_records
from thresher.storage.warc.wacz import PAGES_HEAD, WaczWriter

FONT = "font.ttf"
FAULTS = (
    "missing_picture",
    "missing_sheet",
    "missing_script",
    "missing_data",
    "missing_font",
    "missing_page",
    "wrong_text",
    "blank_page",
    "broken_redirect",
    "truncated_image",
)
WORDS = [
    "river",
    "stone",
    "garden",
    "letter",
    "window",
    "morning",
    "bridge",
    "paper",
    "forest",
    "silver",
    "winter",
    "market",
]


def noise(random_, width, height):
    """Return a PNG of colored noise in large dots: one that is cut off looks different."""
    rows = []
    for _ in range(height // 20):
        row = b"\0" + b"".join(random_.randbytes(3) * 20 for _ in range(width // 20))
        rows += [row] * 20
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(b"".join(rows), 0)), (b"IEND", b""))
    return SIGNATURE + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def site(count, font=b"", seed=1):
    """Return the answers of a site with `count` pages `/0/`, `/1/`, ...; `font` is a font file, if there is one."""
    answers = {}
    for number in range(count):
        random_ = random.Random(f"{seed} {number}")
        at = f"/{number}"
        text = [" ".join(random_.choices(WORDS, k=40)) for _ in range(4)]
        hue = random_.randrange(360)
        answers |= {
            f"{at}/": page(
                f"<!doctype html><html><head><title>Page {number}</title><link rel=stylesheet href=style.css></head>"
                f"<body><h1>Page {number}</h1><p>{text[0]}</p><img src=picture.png width=400 height=300>"
                f"<img src=moved.png width=400 height=300><p>{text[1]}</p><div id=app></div>"
                "<script src=app.js></script></body></html>"
            ),
            f"{at}/style.css": page(
                f"@font-face {{ font-family: own; src: url({FONT}) }} h1 {{ font: 80px own }}"
                f"body {{ background: hsl({hue} 60% 85%); margin: 40px; width: 900px }} p {{ padding: 1em }}",
                kind="text/css",
            ),
            f"{at}/app.js": page(
                f"app.innerHTML = '<p>{text[2]}</p>'; fetch('data.json').then(r => r.json()).then(found => "
                "app.insertAdjacentHTML('beforeend', '<p>' + found.text + '</p>'))",
                kind="text/javascript",
            ),
            f"{at}/data.json": page(f'{{"text": "{text[3]}"}}', kind="application/json"),
            f"{at}/picture.png": page(noise(random_, 400, 300), kind="image/png"),
            f"{at}/moved.png": redirect(f"{at}/target.png", status="302 Found"),
            f"{at}/target.png": page(noise(random_, 400, 300), kind="image/png"),
            f"{at}/{FONT}": page(font + b"\0" * 4 * number, kind="font/ttf"),  # each another payload
        }
    return answers


@dataclass(frozen=True, slots=True)
class Change:
    """What is done to the response of a URL: it is dropped, or its body replaced."""

    url: str
    body: Callable[[bytes], bytes] | None = None
    """None drops the record."""
    is_cut: bool = False
    """Whether the head promises the length of the body that was."""


def fault(kind, base):
    """Return the change that makes a fault in the page at the URL `base`, which ends in a slash."""
    drop = {
        "missing_picture": "picture.png",
        "missing_sheet": "style.css",
        "missing_script": "app.js",
        "missing_data": "data.json",
        "missing_font": FONT,
        "missing_page": "",
        "broken_redirect": "target.png",
    }
    if kind in drop:
        return Change(base + drop[kind])
    if kind == "truncated_image":
        return Change(base + "picture.png", lambda body: body[: len(body) // 2], is_cut=True)
    if kind == "blank_page":
        return Change(base, lambda body: b"<!doctype html><html><body></body></html>")
    assert kind == "wrong_text"
    return Change(base, _with_other_words)


def _with_other_words(body):
    for word in WORDS:
        body = body.replace(f" {word} ".encode(), f" {word[::-1]} ".encode())
    return body


def made_wacz(path, records, pages):
    """Write a WACZ of records, each with type, URL, date, HTTP answer or payload, and further fields; and of the lines
    of its list of pages.
    """
    lines, data = [], b""
    for kind, url, date, block, *fields in records:
        mime = "text/plain" if kind == "resource" else "application/http; msgtype=response"
        head = [
            f"WARC-Type: {kind}",
            f"WARC-Record-ID: <urn:uuid:{uuid4()}>",
            f"WARC-Target-URI: {url}",
            f"WARC-Date: {date}",
            *fields,
            f"Content-Type: {mime}",
            f"Content-Length: {len(block)}",
        ]
        packed = gzip_member("\r\n".join(["WARC/1.1", *head]).encode() + b"\r\n\r\n" + block + b"\r\n\r\n")
        (record,) = read_records(BytesIO(packed), name="a.warc.gz")
        ref = RecordRef(file="a.warc.gz", offset=len(data), length=len(packed), digest="sha1:X")
        row = cdxj.row_of(record, ref)
        assert row is not None
        lines.append(cdxj.format_line(row))
        data += packed
    _write(path, {"archive/a.warc.gz": data}, lines, pages)


def rewrite(source, target, changes, *, keeps_evidence=True):
    """Write the WACZ `source` to `target` with changes. Without evidence it has no screenshots, DOMs and texts."""
    by_url = {change.url: change for change in changes}
    lines, archives = [], {}
    with ZipFile(source) as package:
        for name in package.namelist():
            if name.startswith("archive/"):
                data = package.read(name)
                archives[name] = b"".join(
                    _changed(data, name.removeprefix("archive/"), by_url, keeps_evidence, lines)
                )
        pages = package.read("pages/pages.jsonl").decode().splitlines()[1:]
    _write(target, archives, lines, pages)


def _write(path, archives, lines, pages):
    spool = path.with_suffix(".spool")
    with WaczWriter(path) as wacz:
        for name, data in archives.items():
            spool.write_bytes(data)
            wacz.add(name, spool)
        wacz.add_index((line + "\n" for line in sorted(lines)), spool)
        spool.write_text("".join(f"{line}\n" for line in (PAGES_HEAD, *pages)))
        wacz.add_pages(spool)
        wacz.finish({"title": "made", "created": "2026-01-01T00:00:00Z"})
    spool.unlink()


def _changed(data, name, by_url, keeps_evidence, lines):
    """Yield the records of a WARC file as they shall be, and add their lines to the index."""
    offset = 0
    for member in members(BytesIO(data), 0, None, 64 << 20, name=name):
        packed = gzip_member(member.data)
        (record,) = read_records(BytesIO(packed), name=name)
        if not keeps_evidence and (record.url.startswith("urn:") or record.type == "conversion"):
            continue
        change = by_url.get(record.url) if record.type in {"response", "revisit"} else None
        if change is not None:
            if change.body is None:
                continue
            packed = gzip_member(_with_body(member.data, change))
        row = cdxj.row_of(record, RecordRef(file=name, offset=offset, length=len(packed), digest="-"))
        if row is not None:
            lines.append(cdxj.format_line(replace(row, digest=record.ref.digest)))
        offset += len(packed)
        yield packed


def _with_body(record, change):
    """Return a response record with another body."""
    head, _, block = record.partition(b"\r\n\r\n")
    http, _, body = block.removesuffix(b"\r\n\r\n").partition(b"\r\n\r\n")
    body = change.body(body)
    if not change.is_cut:
        http = re.sub(rb"(?i)(\ncontent-length: )\d+", rb"\g<1>%d" % len(body), http)
    block = http + b"\r\n\r\n" + body
    fields = [
        b"Content-Length: %d" % len(block) if line.lower().startswith(b"content-length") else line
        for line in head.split(b"\r\n")
        if b"-digest" not in line.lower()
    ]
    return b"\r\n".join(fields) + b"\r\n\r\n" + block + b"\r\n\r\n"
