"""Each reader as a function of bytes that never raises."""

import asyncio
import io
import re
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace

from redis.asyncio import Connection

from thresher.core import CorruptData, InputError
from thresher.core.surt import surt
from thresher.crawler.reading import page_response
from thresher.crawler.reading.outcome import decode_location, retry_after_ms
from thresher.crawler.render.render_need import render_need
from thresher.crawler.robots.robots_rules import parse_rules, request_path
from thresher.crawler.wire.cookies import CookieJar
from thresher.crawler.wire.http.message import read_head
from thresher.crawler.wire.http.request import parse_target as wire_target
from thresher.crawler.wire.http.response_reader import ResponseReader
from thresher.extract import html, pdf, wikitext
from thresher.extract.charset import decode, to_utf8
from thresher.extract.markup.links import extract_links
from thresher.extract.mime import sniff_type
from thresher.extract.raw_text import declared_language, page_windows
from thresher.extract.rights import rights
from thresher.extract.sketch import sketch
from thresher.extract.soft_error import detect_soft_error
from thresher.frontier import InvalidUrl, canonicalize
from thresher.frontier.codec import replies
from thresher.frontier.codec.entries import decode_entry as read_entry
from thresher.frontier.link.call_retry import NO_REPLY_ERRORS, RetryDeadline
from thresher.frontier.link.master import Master
from thresher.storage.inputs.input_kinds import detect_kind, input_kinds, read_items
from thresher.storage.warc.payload import decode_content, decode_transfer
from thresher.storage.warc.records import read_records

URL = "http://example.org/a/b?c=d"
LIMIT = 8 << 20


def read_response(data: bytes) -> None:
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


def read_payload(data: bytes) -> None:
    for encoding in ("gzip", "deflate", "br", "zstd", "gzip, deflate"):
        decode_content(data, encoding, LIMIT)
    decode_transfer(data, "gzip, chunked", LIMIT)


def read_robots(data: bytes) -> None:
    rules = parse_rules(data, "thresher")
    for path in ("/", "/a/b.html?x=1", "/" + "a" * 500):
        rules.allows(request_path(f"http://example.org{path}"))


def read_links(data: bytes) -> None:
    page, codec = to_utf8(data, "text/html")
    for href in extract_links(page, URL, codec).hrefs[:100]:
        read_url(href.encode(errors="replace"))


def read_main_text(data: bytes) -> None:
    sniff_type(data, "text/html")
    text = decode(data, None).text
    detect_soft_error(lambda _: None, text.encode(errors="replace"))
    declared_language(text), page_windows(text), render_need(data), sketch(data, URL)
    html.extract(text, URL, markdown=len(data) % 2 == 0)


def read_wikitext(data: bytes) -> None:
    wikitext.extract(data, markdown=len(data) % 2 == 0)


def read_pdf(data: bytes) -> None:
    pdf.extract(data, truncated=len(data) % 2 == 0)


def read_url(data: bytes) -> None:
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


def read_warc(data: bytes) -> None:
    try:
        for _ in read_records(io.BytesIO(data), name="x.warc", limit=LIMIT):
            pass
    except InputError:  # it is none
        return


def read_input(name: str) -> Callable[[bytes], None]:
    def made(data: bytes) -> None:
        file = io.BytesIO(data)
        try:
            for _ in read_items(file, name, detect_kind(file, name, input_kinds())):
                pass
        except InputError:
            return

    return made


def read_reply(data: bytes) -> None:
    """What a server answers of a URL that waits, and of one that it settled."""
    for read_one in (lambda: read_entry("a.test", data), lambda: replies.decode_settlement(data)):
        try:
            read_one()
        except CorruptData:
            continue


LONG_LIST = re.compile(rb"[*~>]\+?\d{7,}\r\n")


class Deaf(Connection):
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


class Pool:
    """Of one connection."""

    def __init__(self, connection: Deaf) -> None:
        self._connection = connection

    async def get_connection(self) -> Deaf:
        return self._connection

    async def release(self, _: object) -> None:
        """There is one for each question."""


def read_resp(data: bytes) -> None:
    """What is a reply, or nonsense, to calls of the frontier, with the questions after replicas around them.

    hiredis makes a list as long as a reply says that it is before the items come: 8 bytes and 6 ns of each. The server
    of a frontier is trusted not to say a thousand million (docs/security.md).
    """
    if LONG_LIST.search(data):
        return

    async def asked() -> None:
        node = Master("a.test:6379", SimpleNamespace(connection_pool=Pool(Deaf(data))))  # type: ignore[arg-type]
        with suppress(*NO_REPLY_ERRORS):
            await node.execute([("FCALL", "a"), ("FCALL", "b")], RetryDeadline(0))

    asyncio.run(asked())


def read_seeds(data: bytes) -> None:
    page_response._beginning(data)
