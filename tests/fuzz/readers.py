"""What is fuzzed: each reader as a function of bytes that never raises, and what its inputs look like."""

import asyncio
import io
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import SimpleNamespace

from redis.asyncio import Connection

from core import CorruptData, InputError
from core.surt import surt
from crawler.reading import page_response, sitemap
from crawler.reading.outcome import decode_location, retry_after_ms
from crawler.render.render_need import render_need
from crawler.robots.robots_rules import parse_rules, request_path
from crawler.wire.cookies import CookieJar
from crawler.wire.http.message import read_head
from crawler.wire.http.request import parse_target as wire_target
from crawler.wire.http.response_reader import ResponseReader
from extract import html, pdf, wikitext
from extract.charset import decode, to_utf8
from extract.links import extract_links
from extract.mime import sniff_type
from extract.raw_text import declared_language, page_windows
from extract.rights import rights
from extract.sketch import sketch
from extract.soft_error import detect_soft_error
from frontier import Discovery, InvalidUrl, Scope, canonicalize
from frontier.codec import replies
from frontier.codec.entries import decode_entry as read_entry
from frontier.codec.entries import encode_entry as entry_of
from frontier.link.call_retry import NO_REPLY_ERRORS, RetryDeadline
from frontier.link.master import Master
from frontier.request_state import RequestState
from storage.inputs.input_kinds import detect_kind, input_kinds, read_items
from storage.warc.payload import decode_content, decode_transfer
from storage.warc.records import read_records

URL = "http://example.org/a/b?c=d"
LIMIT = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """One of them."""

    read: Callable[[bytes], object]
    tokens: tuple[bytes, ...]
    """What decides how a reader goes on."""
    samples: tuple[bytes, ...]
    """Inputs to begin with."""
    shared: tuple[str, ...] = ()
    """Files of the shared material with more of them."""
    us_a_byte: float = 40.0
    """Microseconds of CPU that a byte may cost, beyond `fuzzing.FREE_S`."""


def _response(data: bytes) -> None:
    reading = ResponseReader(1 << 20)
    for at in range(0, len(data), 997):
        if reading.feed(data[at : at + 997]):
            break
    reading.close()
    head = read_head(data)
    for name, value in () if head is None else head.headers:
        retry_after_ms(value, 0)
        decode_location(value)
        if name.lower() == "set-cookie":
            CookieJar(lambda: 0.0).store(wire_target(URL), ((name, value),))
        rights(((name, value),), (), at_ms=0)


def _payload(data: bytes) -> None:
    for encoding in ("gzip", "deflate", "br", "zstd", "gzip, deflate"):
        decode_content(data, encoding, LIMIT)
    decode_transfer(data, "gzip, chunked", LIMIT)


def _robots(data: bytes) -> None:
    rules = parse_rules(data, "thresher")
    for path in ("/", "/a/b.html?x=1", "/" + "a" * 500):
        rules.allows(request_path(f"http://example.org{path}"))


def _links(data: bytes) -> None:
    page, codec = to_utf8(data, "text/html")
    for href in extract_links(page, URL, codec).hrefs[:100]:
        _url(href.encode(errors="replace"))


def _main_text(data: bytes) -> None:
    sniff_type(data, "text/html")
    text = decode(data, None).text
    detect_soft_error(lambda _: None, text.encode(errors="replace"))
    declared_language(text), page_windows(text), render_need(data), sketch(data, URL)
    html.extract(text, URL, markdown=len(data) % 2 == 0)


def _wikitext(data: bytes) -> None:
    wikitext.extract(data, markdown=len(data) % 2 == 0)


def _pdf(data: bytes) -> None:
    pdf.extract(data, truncated=len(data) % 2 == 0)


def _url(data: bytes) -> None:
    text = data.decode(errors="replace")
    try:
        url = canonicalize(text, URL)
    except InvalidUrl:
        return
    wire_target(url.wire)
    try:
        surt(url.wire)
    except ValueError:  # it says so
        return


def _warc(data: bytes) -> None:
    try:
        for _ in read_records(io.BytesIO(data), name="x.warc", limit=LIMIT):
            pass
    except InputError:  # it is none
        return


def _input(name: str) -> Callable[[bytes], None]:
    def made(data: bytes) -> None:
        file = io.BytesIO(data)
        try:
            for _ in read_items(file, name, detect_kind(file, name, input_kinds())):
                pass
        except InputError:
            return

    return made


def _reply(data: bytes) -> None:
    """What a server answers of a URL that waits, and of one that it settled."""
    for read_one in (lambda: read_entry("a.test", data), lambda: replies.decode_settlement(data)):
        try:
            read_one()
        except CorruptData:
            continue


_LONG_LIST = re.compile(rb"[*~>]\+?\d{7,}\r\n")


class _Deaf(Connection):
    """A connection to a server that says something, whatever it is asked."""

    def __init__(self, said: bytes) -> None:
        super().__init__()
        self._reader = asyncio.StreamReader()
        self._reader.feed_data(said)
        self._reader.feed_eof()
        self._parser.on_connect(self)

    async def send_packed_command(self, *_: object, **__: object) -> None:
        """Take it."""

    async def disconnect(self, *_: object, **__: object) -> None:
        """There is nothing to be closed."""


class _Pool:
    """Of one connection."""

    def __init__(self, connection: _Deaf) -> None:
        self._connection = connection

    async def get_connection(self) -> _Deaf:
        return self._connection

    async def release(self, _: object) -> None:
        """There is one for each question."""


def _resp(data: bytes) -> None:
    """What is a reply, or nonsense, to calls of the frontier, with the questions after replicas around them.

    hiredis makes a list as long as a reply says that it is before the items come: 8 bytes and 6 ns of each. The server
    of a frontier is trusted not to say a thousand million (docs/security.md).
    """
    if _LONG_LIST.search(data):
        return

    async def asked() -> None:
        node = Master("a.test:6379", SimpleNamespace(connection_pool=_Pool(_Deaf(data))))  # type: ignore[arg-type]
        with suppress(*NO_REPLY_ERRORS):
            await node.execute([("FCALL", "a"), ("FCALL", "b")], RetryDeadline(0))

    asyncio.run(asked())


def _replies() -> tuple[bytes, ...]:
    urls = [
        canonicalize(text)
        for text in ("http://a.test/", "https://a.test:8443/a/b?c=%C3%A9&d", "http://a.test/x#y")
    ]
    entries = [
        entry_of(
            Discovery(
                url=url,
                scope=Scope.of("domain", url),
                depth=300,
                max_depth=9,
                state=RequestState(etag="etag"),
                referrer="http://b.test/",
            ),
            7,
        )
        for url in urls
    ]
    texts = (b"failed", b"dead_dns", b"a.test")
    settled = bytes(6) + bytes(map(len, texts)) + b"".join(texts)
    return (*entries, *(settled + entry for entry in entries))


def _seeds(data: bytes) -> None:
    page_response._beginning(data)


HTTP = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nTransfer-Encoding: chunked\r\nSet-Cookie: a=b; Max-Age=9; Path=/\r\n"
    b"Retry-After: 120\r\nX-Robots-Tag: unavailable_after: 25 Jun 2030 15:00:00 GMT\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
)
PAGE = (
    b'<!doctype html><html lang="en"><head><title>A &amp; B</title><meta charset="utf-8"><meta http-equiv="refresh" content="5; url=/x">'
    b'<base href="/d/"><link rel="canonical" href="http://a.test/"><script type="application/ld+json">{"@type":"Article","author":'
    b'{"name":"A"},"datePublished":"2020-01-02"}</script><style>p{}</style></head><body><nav><ul><li><a href="/1">one</a></ul></nav>'
    b"<article><h1>A &#66;</h1><p>Rivers run to the sea, and all of them are long, wide, and full of water.<br>More of it.</p><table><tr><td>1"
    b'<td>2</table><pre><code>x = 1</code></pre><!-- c --><img alt="x"><math><mi>x</mi></math><template><a href=t></template></article>'
    b"<footer>Copyright 2020</footer></body></html>"
)
WIKI = (
    b"{{Infobox|a=b|c={{nested|1|2=x}}}}\n'''Bold''' and ''it'' [[Link|text]] [http://x.test y] <ref name=a>{{cite|title=x}}</ref>\n== H ==\n* a\n** b\n"
    b"{| class=wikitable\n! h\n|-\n| a || b\n|}\n<math>x^2</math><nowiki>[[</nowiki> -{zh:x;zh-tw:y}- {{convert|1|km}} &nbsp;&#160;\n#REDIRECT [[x]]\n"
    b"<pre>x</pre><!-- c --><poem>a\nb</poem><gallery>\nFile:a.jpg|x\n</gallery>__TOC__"
)
PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R"
    b"/MediaBox[0 0 300 300]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj\n4 0 obj<</Length 60>>stream\nBT /F1 12 Tf 20 200 Td (Rivers run to"
    b" the sea.) Tj ET\nendstream endobj\n5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n6 0 obj<</Title(A)/CreationDate(D:20200102)>>endobj\n"
    b"trailer<</Root 1 0 R/Info 6 0 R/Size 7>>\n%%EOF"
)
WARC = (
    b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000001>\r\nWARC-Date: 2020-01-02T03:04:05Z\r\n"
    b"WARC-Target-URI: http://a.test/\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: 67\r\n\r\n"
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi\r\n\r\n\r\n"
)
RESP = (
    b"*3\r\n*1\r\n*10\r\n$1\r\n7\r\n+page\r\n:1600000000000\r\n:1\r\n:0\r\n:0\r\n$6\r\na.test\r\n$2\r\n/x\r\n$0\r\n\r\n:0\r\n:-1\r\n$-1\r\n-ERR x\r\n"
    b"$44\r\nrole:master\r\nslave0:ip=127.0.0.1,lag=1,x=y\r\nz\r\n:1\r\n$11\r\nrole:master\r\n+PONG\r\n:0\r\n"
)
RESP3 = b"%1\r\n+a\r\n,1.5\r\n~2\r\n:1\r\n_\r\n" + RESP
RESP_TOKENS = (
    *(bytes((kind,)) for kind in b"*$+-:_#,(!=%~>|"),
    *(
        b"\r\n",
        b"*1\r\n",
        b"%1\r\n*0\r\n",
        b"*100000\r\n",
        b"$9999999999\r\n",
        b"-MOVED 1 a.test:1\r\n",
        b"-ASK x\r\n",
    ),
)
ROBOTS = b"User-agent: *\nDisallow: /a*b$\nAllow: /%7Ea\nCrawl-delay: 1.5\nRequest-rate: 1/5m\nSitemap: http://a.test/s.xml\n\nUser-agent: thresher\nDisallow: /x\n"
SITEMAP = (
    b'<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://a.test/&amp;&#65;</loc>'
    b"<lastmod>2020-01-02T03:04:05+01:00</lastmod></url><url><loc><![CDATA[http://a.test/2]]></loc></url></urlset>"
)
FEED = b'<rss><channel><item><link>http://a.test/</link><pubDate>Mon, 06 Sep 2021 00:01:00 +0000</pubDate></item></channel></rss><feed><entry><link href="http://a.test/3"/></entry></feed>'
ROWS = b'{"text": "a text", "url": "http://a.test/", "id": 1, "date": "2020-01-02"}\n{"html": "<p>x", "timestamp": 1600000000}\n'
MARKUP = (
    *(
        b"<",
        b">",
        b"</",
        b"<!--",
        b"-->",
        b"<![CDATA[",
        b'"',
        b"'",
        b"=",
        b"&",
        b"&#",
        b"&#x",
        b"&amp;",
        b";",
        b"<a href=",
        b"<p>",
        b"<div>",
    ),
    *(
        b"<table>",
        b"<tr><td>",
        b"<ul><li>",
        b"<pre>",
        b"<script>",
        b"</script>",
        b"<template>",
        b"<svg>",
        b"<title>",
        b"<meta ",
        b"<br>",
        b"<math ",
    ),
    *(b"<select>", b"<iframe>", b"<noscript>", b"<h1>", b"<b>", b"</b>", b"<i>", b"http://", b"display:none"),
)
XML = (
    b"<page>",
    b"</page>",
    b"<text>",
    b"<row ",
    b"/>",
    b"<revision>",
    b"<title>",
    b"<!DOCTYPE x>",
    b"&lt;",
    b"&#0;",
    b"<ns>",
    b'Id="1"',
)


def _dumps() -> tuple[bytes, bytes]:
    from tests.storage import dumps

    return (
        dumps.wiki(dumps.page("A", dumps.revision(WIKI.decode()))),
        dumps.posts(dumps.row(1), dumps.row(2, 2, ParentId="1")),
    )


def readers() -> dict[str, Reader]:
    """All of them, by name."""
    import bz2
    import gzip
    import zlib

    import zstandard

    from tests.storage import made_inputs

    wiki, posts = _dumps()
    packed = (gzip.compress(PAGE), zlib.compress(PAGE), zstandard.compress(PAGE), bz2.compress(PAGE))
    warc = tuple(gzip.compress(WARC + WARC.replace(b"a.test", b"b.test") * 2) for _ in range(1))
    arc = b"filedesc://x.arc 0.0.0.0 20200102030405 text/plain 70\n1 0 X\nURL IP-address Archive-date Content-type Archive-length\n\nhttp://a.test/ 1.2.3.4 20200102030405 text/html 2\nhi\n"
    heads = (
        b"\r\n",
        b"\n",
        b": ",
        b"HTTP/1.1 ",
        b"WARC/1.1\r\n",
        b"Content-Length: ",
        b"Content-Type: ",
        b"chunked",
        b"0\r\n",
        b"gzip",
        b"\0",
    )
    return {
        "response": Reader(read=_response, tokens=heads, samples=(HTTP, HTTP.replace(b"\r\n", b"\n"))),
        "payload": Reader(
            read=_payload,
            tokens=(b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\x78\x9c", b"0\r\n", b"ffffffff\r\n"),
            samples=(*packed, HTTP),
        ),
        "robots": Reader(
            read=_robots,
            tokens=(
                b"User-agent: *\n",
                b"Disallow: ",
                b"Allow: ",
                b"*",
                b"$",
                b"%",
                b"#",
                b"/",
                b"\n",
                b"Crawl-delay: ",
            ),
            samples=(ROBOTS,),
            shared=("robots/robots-txt.tar.zst",),
        ),
        "reply": Reader(
            read=_reply,
            tokens=(b"\0", b"\xff", b"\x80\x80", b"failed", b"dead_dns", b"a.test", b"/", b"http://"),
            samples=_replies(),
        ),
        "resp": Reader(
            read=_resp,
            tokens=RESP_TOKENS,
            samples=(RESP, RESP3),
        ),
        "sitemap": Reader(
            read=sitemap.read_sitemap,
            tokens=(
                *MARKUP,
                b"<loc>",
                b"</loc>",
                b"<url>",
                b"<lastmod>",
                b"<sitemap>",
                b"<link ",
                b"<item>",
                b"\n",
            ),
            samples=(SITEMAP, FEED, gzip.compress(SITEMAP)),
            shared=("robots/sitemaps-feeds-robots-cases.tar.zst",),
        ),
        "links": Reader(
            read=_links, tokens=MARKUP, samples=(PAGE,), shared=("extraction/pages-nogold.tar.zst",)
        ),
        "text": Reader(
            read=_main_text,
            tokens=MARKUP,
            samples=(PAGE,),
            shared=("extraction/pages-nogold.tar.zst",),
            us_a_byte=150.0,
        ),
        "wikitext": Reader(
            read=_wikitext,
            tokens=(
                b"{{",
                b"}}",
                b"[[",
                b"]]",
                b"{|",
                b"|}",
                b"|",
                b"''",
                b"'''",
                b"\n",
                b"=",
                b"==",
                b"*",
                b"<ref>",
                b"</ref>",
                b"<nowiki>",
                b"-{",
                b"}-",
                b"<math>",
                b"&#",
                b":",
                b"#",
                b"[http://",
                b"<!--",
                b"__",
            ),
            samples=(WIKI,),
            us_a_byte=100.0,
        ),
        "pdf": Reader(
            read=_pdf,
            tokens=(
                b"obj",
                b"endobj",
                b"stream\n",
                b"endstream",
                b"<<",
                b">>",
                b"[",
                b"]",
                b"/Filter",
                b"/FlateDecode",
                b"/Length ",
                b"(",
                b")",
                b" 0 R",
                b"xref",
                b"trailer",
                b"BT",
                b"ET",
                b"Tj",
                b"<x:xmpmeta",
            ),
            samples=(PDF,),
            shared=("pdf/pdfs.tar.zst",),
            us_a_byte=500.0,
        ),
        "url": Reader(
            read=_url,
            tokens=(
                b"http://",
                b"/",
                b"..",
                b"?",
                b"#",
                b"@",
                b":",
                b"[",
                b"]",
                b"%",
                b"xn--",
                b"&",
                b"=",
                b"sid=",
            ),
            samples=(URL.encode(), "http://ü.test:80/ä?é#x".encode(), b"HTTPS://a:b@[::1]:8/%zz/../;x=y"),
        ),
        "seeds": Reader(
            read=_seeds,
            tokens=(b"http://a.test/", b"\n", b"\r", b"<!--", b"-->", b" "),
            samples=(b"http://a.test/\nhttps://b.test/\n",),
        ),
        "warc": Reader(
            read=_warc,
            tokens=(*heads, b"\x1f\x8b\x08"),
            samples=(WARC, *warc, WARC.replace(b"\r\n", b"\n"), zstandard.compress(WARC)),
        ),
        "inputs.warc": Reader(
            read=_input("x.warc"),
            tokens=(*heads, b"\x1f\x8b\x08"),
            samples=(WARC, gzip.compress(WARC * 3), zstandard.compress(WARC * 3)),
        ),
        "inputs.arc": Reader(
            read=_input("x.arc"),
            tokens=(*heads, b"http://a.test/ 1.2.3.4 20200102030405 text/html 2\n"),
            samples=(arc, gzip.compress(arc)),
        ),
        "inputs.jsonl": Reader(
            read=_input("x.jsonl"),
            tokens=(
                b"{",
                b"}",
                b"[",
                b'"',
                b":",
                b",",
                b"\\ud800",
                b"\n",
                b"9" * 5_000,
                b"1e999",
                b"NaN",
                b'"text"',
                b'"date"',
            ),
            samples=(ROWS, gzip.compress(ROWS), bz2.compress(ROWS)),
        ),
        "inputs.csv": Reader(
            read=_input("x.csv"),
            tokens=(b",", b";", b'"', b"\n", b"\r", b"\0", b"text"),
            samples=(made_inputs.delimited(made_inputs.ROWS),),
        ),
        "inputs.parquet": Reader(
            read=_input("x.parquet"),
            tokens=(b"PAR1", b"\xff\xff\xff\x7f", b"\0\0\0\0"),
            samples=(made_inputs.parquet(made_inputs.ROWS),),
            us_a_byte=200.0,
        ),
        "inputs.arrow": Reader(
            read=_input("x.arrow"),
            tokens=(b"ARROW1\0\0", b"\xff\xff\xff\xff", b"\0\0\0\0"),
            samples=(made_inputs.arrow(made_inputs.ROWS),),
            us_a_byte=200.0,
        ),
        "inputs.tar": Reader(
            read=_input("x.tar"),
            tokens=(b"ustar\0", b"\0" * 512, b"0000644", b"77777777777"),
            samples=(made_inputs.tarred([("a.txt", b"x"), ("b.json", ROWS)]),),
        ),
        "inputs.wikipedia": Reader(read=_input("wiki.xml"), tokens=XML, samples=(wiki,)),
        "inputs.stackexchange": Reader(
            read=_input("unix.stackexchange.com/Posts.xml"), tokens=XML, samples=(posts,)
        ),
    }
