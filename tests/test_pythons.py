"""What the standard library decides for us is the same on every Python: these digests were computed once, with CPython 3.11.7.

A digest that differs on another Python is no digest to be changed: what gives it must become ours (decision 76).
"""

import ssl
from hashlib import sha256
from random import Random

import pytest

from thresher.core.url import join_url, split_url
from thresher.crawler.reading.outcome import retry_after_ms
from thresher.crawler.reading.sitemap import _parse_date_ms
from thresher.crawler.wire.network.tls import TlsContexts
from thresher.extract.charset import decode
from thresher.extract.references import unescape
from thresher.extract.rights import _has_passed
from thresher.pipeline.crawls.seed_lines import _fields
from thresher.storage.archive.provenance import warcinfo_member
from thresher.storage.inputs.table_files.columns import _is_date, milliseconds
from thresher.storage.warc import cdxj
from thresher.storage.warc.compression import gzip_member
from thresher.storage.warc.index_lines import IndexLines

URL_PIECES = [
    "http:",
    "https:",
    "//",
    "/",
    "?",
    "#",
    "..",
    ".",
    "a",
    "b/",
    "[::1]",
    "[",
    "]",
    "[v1.x]",
    ":80",
    "@",
    "\t",
    "\n",
    "\x00",
    "%20",
    "é",
    "ex.org",
    "file:",
    "mailto:",
    "\\",
    ";p",
    "=",
    "&",
]
DATE_PIECES = [
    "Sun",
    ",",
    "06",
    "Nov",
    "1994",
    "08:49:37",
    "GMT",
    "+0000",
    "EST",
    "99",
    "2026",
    "69",
    "24:00",
    ".",
    "(c)",
    "31",
    "Feb",
    "-",
]
ISO_PIECES = [
    "2024-01-01",
    "20240101",
    "2024-W01-1",
    "T",
    "10:00",
    "10:00:00",
    "24:00",
    "24:00:00",
    "T2400",
    ".5",
    ",5",
    "Z",
    "+01:00",
    "+0100",
    "60",
    "1",
    "١",
]
REFERENCE_PIECES = [
    "&",
    "amp",
    ";",
    "#",
    "x",
    "0",
    "39",
    "lt",
    "notit",
    "copy",
    "110000",
    "D800",
    "80",
    "9F",
    "a",
    "=",
    "&#",
    "&#x",
]
TABLE_PIECES = ['"', ",", "\\", ";", "'", "a", "b", '""', "é", "\x00"]
NARROW = [
    "utf-8",
    "windows-1250",
    "windows-1251",
    "windows-1252",
    "windows-874",
    "iso-8859-2",
    "iso-8859-8",
    "koi8-r",
    "koi8-u",
    "macintosh",
    "ibm866",
]
WIDE = ["shift_jis", "euc-jp", "iso-2022-jp", "gbk", "gb18030", "big5", "euc-kr", "utf-16le", "utf-16be"]


def texts(pieces, count=3_000, longest=8):
    chance = Random(28)
    return ["".join(chance.choice(pieces) for _ in range(chance.randint(1, longest))) for _ in range(count)]


def every_pair(label):
    """Every byte; for wide encodings also every pair of bytes that begins outside of ASCII, and some longer sequences."""
    if label in NARROW:
        return decode(bytes(range(256)), f"text/html; charset={label}").utf8
    chance = Random(28)
    pairs = b"\n".join(bytes((first, second)) for first in range(128, 256) for second in range(256))
    longer = b"\n".join(
        bytes(chance.choice(b"\x1b$B(J\x8f\x81\x300\xa1\xfe\xd8a") for _ in range(9)) for _ in range(500)
    )
    return sha256(decode(pairs + longer, f"text/html; charset={label}").utf8).hexdigest()


def archive_files(folder):
    lines = [
        f'org,example)/{number} 2026{number:010} {{"url": "http://example.org/{number}"}}'
        for number in range(3_000)
    ]
    cdxj.write(folder / "x.cdxj.gz", IndexLines(lines))
    yield (folder / "x.cdxj.gz").read_bytes()
    yield gzip_member("\n".join(lines).encode())
    yield warcinfo_member("x", source="s", date_ms=1, recipe={"a": lines[:100]})


DECIDED = {
    "URLs": lambda _: [(split_url(text), split_url(text).host) for text in texts(URL_PIECES)],
    "links": lambda _: [join_url("http://ex.org/a/b?c", text) for text in texts(URL_PIECES)],
    "dates of headers": lambda _: [
        retry_after_ms(text, 0) for text in texts([*DATE_PIECES, " ", " "], longest=14)
    ],
    "dates of sitemaps": lambda _: [
        _parse_date_ms(text) for text in texts(ISO_PIECES) + texts([*DATE_PIECES, " "])
    ],
    "dates of inputs": lambda _: [
        (milliseconds(text), text if _is_date(text) else "") for text in texts([*ISO_PIECES, " "])
    ],
    "dates of rights": lambda _: [
        _has_passed(text, 1 << 40) for text in texts([*ISO_PIECES, *DATE_PIECES, " "])
    ],
    "references": lambda _: [unescape(text) for text in texts(REFERENCE_PIECES)],
    "tables": lambda _: [_fields(text, ",") for text in texts(TABLE_PIECES)],
    "charsets": lambda _: [every_pair(label) for label in (*NARROW, *WIDE)],
    "archive files": lambda folder: [sha256(data).hexdigest() for data in archive_files(folder)],
}
DIGESTS = {
    "URLs": "8b45b99486b30045",
    "links": "af00f9919dd325fe",
    "dates of headers": "6bb7cc8bed484bf2",
    "dates of sitemaps": "44c37323905a94d6",
    "dates of inputs": "94b15126a9ba2e53",
    "dates of rights": "eb6989a4afb9e68d",
    "references": "439cd072b57f675a",
    "tables": "093fc9f8024fb510",
    "charsets": "1636207b134f2750",
    "archive files": "bee7051f429d8cef",
}


@pytest.mark.parametrize("what", DECIDED)
def test_is_the_same_on_every_python(what, tmp_path):
    found = sha256(ascii(DECIDED[what](tmp_path)).encode()).hexdigest()[:16]
    assert found == DIGESTS[what]


def test_a_site_is_trusted_on_every_python_or_on_none():
    for context in (TlsContexts().context(h2=True), TlsContexts().context(h2=True, verify=False)):
        assert context.minimum_version == ssl.TLSVersion.TLSv1_2
        assert not context.verify_flags & ssl.VerifyFlags.VERIFY_X509_STRICT
        assert len([cipher for cipher in context.get_ciphers() if cipher["protocol"] == "TLSv1.2"]) == 14
