"""What is fuzzed: each reader, and what its inputs look like."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.fuzz import read_functions
from tests.fuzz.read_functions import URL
from tests.fuzz.sample_inputs import (
    FEED,
    HTTP,
    MARKUP,
    PAGE,
    PDF,
    RESP,
    RESP3,
    RESP_TOKENS,
    ROBOTS,
    ROWS,
    SITEMAP,
    WARC,
    WIKI,
    XML,
    dumps,
    replies,
)
from thresher.crawler.reading import sitemap


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


def readers() -> dict[str, Reader]:
    """All of them, by name."""
    import bz2
    import gzip
    import zlib

    import zstandard

    from tests.storage import made_inputs

    wiki, posts = dumps()
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
        "response": Reader(
            read=read_functions.read_response, tokens=heads, samples=(HTTP, HTTP.replace(b"\r\n", b"\n"))
        ),
        "payload": Reader(
            read=read_functions.read_payload,
            tokens=(b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\x78\x9c", b"0\r\n", b"ffffffff\r\n"),
            samples=(*packed, HTTP),
        ),
        "robots": Reader(
            read=read_functions.read_robots,
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
            read=read_functions.read_reply,
            tokens=(b"\0", b"\xff", b"\x80\x80", b"failed", b"dead_dns", b"a.test", b"/", b"http://"),
            samples=replies(),
        ),
        "resp": Reader(
            read=read_functions.read_resp,
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
            read=read_functions.read_links,
            tokens=MARKUP,
            samples=(PAGE,),
            shared=("extraction/pages-nogold.tar.zst",),
        ),
        "text": Reader(
            read=read_functions.read_main_text,
            tokens=MARKUP,
            samples=(PAGE,),
            shared=("extraction/pages-nogold.tar.zst",),
            us_a_byte=150.0,
        ),
        "wikitext": Reader(
            read=read_functions.read_wikitext,
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
            read=read_functions.read_pdf,
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
            read=read_functions.read_url,
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
            read=read_functions.read_seeds,
            tokens=(b"http://a.test/", b"\n", b"\r", b"<!--", b"-->", b" "),
            samples=(b"http://a.test/\nhttps://b.test/\n",),
        ),
        "warc": Reader(
            read=read_functions.read_warc,
            tokens=(*heads, b"\x1f\x8b\x08"),
            samples=(WARC, *warc, WARC.replace(b"\r\n", b"\n"), zstandard.compress(WARC)),
        ),
        "inputs.warc": Reader(
            read=read_functions.read_input("x.warc"),
            tokens=(*heads, b"\x1f\x8b\x08"),
            samples=(WARC, gzip.compress(WARC * 3), zstandard.compress(WARC * 3)),
        ),
        "inputs.arc": Reader(
            read=read_functions.read_input("x.arc"),
            tokens=(*heads, b"http://a.test/ 1.2.3.4 20200102030405 text/html 2\n"),
            samples=(arc, gzip.compress(arc)),
        ),
        "inputs.jsonl": Reader(
            read=read_functions.read_input("x.jsonl"),
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
            read=read_functions.read_input("x.csv"),
            tokens=(b",", b";", b'"', b"\n", b"\r", b"\0", b"text"),
            samples=(made_inputs.delimited(made_inputs.ROWS),),
        ),
        "inputs.parquet": Reader(
            read=read_functions.read_input("x.parquet"),
            tokens=(b"PAR1", b"\xff\xff\xff\x7f", b"\0\0\0\0"),
            samples=(made_inputs.parquet(made_inputs.ROWS),),
            us_a_byte=200.0,
        ),
        "inputs.arrow": Reader(
            read=read_functions.read_input("x.arrow"),
            tokens=(b"ARROW1\0\0", b"\xff\xff\xff\xff", b"\0\0\0\0"),
            samples=(made_inputs.arrow(made_inputs.ROWS),),
            us_a_byte=200.0,
        ),
        "inputs.tar": Reader(
            read=read_functions.read_input("x.tar"),
            tokens=(b"ustar\0", b"\0" * 512, b"0000644", b"77777777777"),
            samples=(made_inputs.tarred([("a.txt", b"x"), ("b.json", ROWS)]),),
        ),
        "inputs.wikipedia": Reader(read=read_functions.read_input("wiki.xml"), tokens=XML, samples=(wiki,)),
        "inputs.stackexchange": Reader(
            read=read_functions.read_input("unix.stackexchange.com/Posts.xml"), tokens=XML, samples=(posts,)
        ),
    }
