"""The entries of a sitemap (sitemaps.org 0.9): urlset, sitemapindex, RSS, Atom or a text of URLs. Pure.

1. A sitemap is a stream: bytes come in pieces, entries go out, and only one tag or text is held (`MAX_TOKEN_CHARS`).
2. It is read tag by tag and not as XML. An error (a bare `&`, a tag that is never closed, an undeclared namespace, an
   end in the middle) costs only the entry in which it is. Only XML's five entities and numeric references are known, so
   there is nothing to expand, and nothing to fetch.
3. A `loc` counts as a child of `url` or `sitemap`, and not below their children (`image:loc`). The URL of a feed's
   entry is its link, or its `guid` if it has no link. The other languages of a `url` (`xhtml:link`) are entries as
   well.
4. The time is linear in the bytes, whatever they are.
"""

import codecs
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import chain

from thresher.storage.warc.payload import decode_content

MAX_ENTRIES = 50_000
"""Entries of one file, as in the protocol."""
MAX_BYTES = 50 << 20
"""Bytes of one unpacked file, as in the protocol."""
MAX_TOKEN_CHARS = 64 << 10
"""Characters of one tag, text or comment."""
MAX_TAGS = 2_000_000
"""Tags of one file; the rest is not read. 50,000 entries of 40 tags each."""
MAX_URL_LENGTH = 8_192
"""Characters of a URL as written."""
_PIECE = 64 << 10
_GZIP = b"\x1f\x8b"
_MAX_GZIP_LAYERS = 2
_DEEPEST = 64

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_DECLARED = re.compile(rb"<\?xml[^<>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9._-]{1,40})[\"']")
_TAG = re.compile(r"<(?:(/?)([A-Za-z_][A-Za-z0-9_.:\x80-\U0010ffff-]{0,99})([^<>]*+)>|!--|!\[CDATA\[)")
_COMMENT_END, _CDATA_END = "-->", "]]>"
_ATTRIBUTE = re.compile(
    r"""(?<![A-Za-z0-9_.:\x80-\U0010ffff-])([A-Za-z0-9_.:\x80-\U0010ffff-]{1,100}+)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')"""
)
_ENTITY = re.compile(r"&(?:#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos));")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_TIME = re.compile(
    r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})"
    r"(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.[0-9]{1,9})?)?\s?(Z|[+-][0-9]{2}:?[0-9]{2})?)?)?)?"
)
_ENTRY_TAGS = frozenset({"url", "sitemap", "item", "entry"})
_ROOTS = frozenset({"", "urlset", "sitemapindex"})
_TIMES = frozenset({"lastmod", "pubdate", "updated", "published", "date"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapEntry:
    """One line of a sitemap."""

    url: str
    """As written, entities resolved."""
    is_sitemap: bool = False
    """Whether the entry is another sitemap."""
    modified_ms: int = 0
    """When it was last changed, as far as that can be read; milliseconds since the epoch, 0 for unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapListing:
    """The entries of one sitemap."""

    entries: tuple[SitemapEntry, ...]
    excess_entries: int
    """Entries beyond `MAX_ENTRIES`."""
    is_cut: bool
    """Whether it has more than `MAX_BYTES`, or cannot be unpacked as a whole."""


def read_sitemap(body: bytes) -> SitemapListing:
    """Return the entries of a sitemap, which may be packed by gzip."""
    problem = None
    for _ in range(_MAX_GZIP_LAYERS):
        if body.startswith(_GZIP):
            body, problem = decode_content(body, "gzip", MAX_BYTES)
    view = memoryview(body)[:MAX_BYTES]
    found: list[SitemapEntry] = []
    left = 0
    for entry in iterate_entries(bytes(view[at : at + _PIECE]) for at in range(0, len(view), _PIECE)):
        if len(found) < MAX_ENTRIES:
            found.append(entry)
        else:
            left += 1
    return SitemapListing(
        entries=tuple(found), excess_entries=left, is_cut=problem is not None or len(body) > MAX_BYTES
    )


def iterate_entries(pieces: Iterable[bytes]) -> Iterator[SitemapEntry]:
    """Yield every entry, in order, as soon as it is whole."""
    texts = filter(None, _decoded(pieces))
    for text in texts:
        begin = text.lstrip(" \t\r\n\ufeff")
        if begin:
            read = _of_markup if begin[0] == "<" else _of_lines
            yield from read(chain((begin,), texts))


def _decoded(pieces: Iterable[bytes]) -> Iterator[str]:
    decoder = None
    for piece in filter(None, pieces):
        if decoder is None:
            mark, codec = next(
                (each for each in _MARKS if piece.startswith(each[0])), (b"", _declared(piece))
            )
            decoder = codecs.getincrementaldecoder(codec)("replace")
            yield decoder.decode(piece[len(mark) :])
        else:
            yield decoder.decode(piece)


def _declared(head: bytes) -> str:
    found = _DECLARED.match(head.lstrip())
    try:
        codec = codecs.lookup(found[1].decode()) if found else None
    except LookupError:
        codec = None
    # What is written in octets of ASCII is in no encoding of wider units, whatever it declares.
    known = codec is not None and getattr(codec, "_is_text_encoding", False)
    return codec.name if codec is not None and known and not codec.name.startswith("utf-") else "utf-8"


def _of_lines(texts: Iterable[str]) -> Iterator[SitemapEntry]:
    rest = ""
    for text in chain(texts, ("\n",)):
        *lines, rest = re.split(r"[\r\n]", rest + text)
        for line in lines:
            written = line.strip()
            if written.lower().startswith(("http://", "https://")) and len(written) <= MAX_URL_LENGTH:
                yield SitemapEntry(url=written)
        rest = rest[: MAX_TOKEN_CHARS + 1]  # longer than any URL, however it goes on


def _of_markup(texts: Iterable[str]) -> Iterator[SitemapEntry]:
    reader = _Reader()
    rest = inside = ""
    for text in texts:
        rest += text
        at = 0
        while True:
            if inside:
                at, inside = reader.skip(rest, at, inside)
            found = None if inside else _TAG.search(rest, at)
            if found is None:
                at = at if inside else _keep_from(rest, at)
                break
            reader.add_escaped_text(rest, at, found.start())
            at = found.end()
            if found[2] is None:
                inside = _COMMENT_END if rest[at - 1] == "-" else _CDATA_END
            elif reader.tags == MAX_TAGS:
                return
            else:
                reader.add_tag(found[2], found[3], closes=bool(found[1]))
                yield from reader.take_entries()
        rest = rest[at:]
    reader.end_entry()
    yield from reader.take_entries()


def _keep_from(text: str, at: int) -> int:
    """Return up to where a text without a whole tag can be forgotten: a tag or a `loc` may have begun that goes on."""
    return (
        at
        if len(text) - at < MAX_TOKEN_CHARS
        else max(text.rfind("<", len(text) - MAX_TOKEN_CHARS), len(text) - 8)
    )


class _Reader:
    """Collects entries from the tags and texts of a file, which it receives in order."""

    def __init__(self) -> None:
        self.tags = 0
        self._ready: list[SitemapEntry] = []
        self._open: deque[str] = deque(maxlen=_DEEPEST)
        self._collecting = ""
        self._text: list[str] = []
        self._length = 0
        self._loc, self._guid, self._modified = "", "", ""
        self._others: list[str] = []
        self._sitemap = False

    def add_escaped_text(self, text: str, begin: int, end: int) -> None:
        """Add a stretch of text with character references, if the open tag needs it."""
        if self._collecting and begin < end:
            self.add_text(_unescaped(text[begin : min(end, begin + MAX_TOKEN_CHARS)]))

    def add_text(self, text: str) -> None:
        """Add text without character references, if the open tag needs it."""
        if self._collecting and self._length <= MAX_URL_LENGTH:
            self._text.append(text)
            self._length += len(text)

    def skip(self, text: str, at: int, end: str) -> tuple[int, str]:
        """Skip a comment, or add a CDATA section, that ends with `end`. Return where it stops, and `end` if it
        continues in the next text.
        """
        found = text.find(end, at)
        stop = found if found >= 0 else max(at, len(text) - 2)  # its end may have begun
        if end == _CDATA_END:
            self.add_text(text[at:stop])
        return (stop, end) if found < 0 else (found + len(end), "")

    def add_tag(self, name: str, attributes: str, *, closes: bool) -> None:
        """Add a tag, with its attributes as written."""
        self.tags += 1
        local = name.rpartition(":")[2].lower()
        if not closes:
            self._begin(local, attributes)
        if closes or attributes.endswith("/"):
            self._close(local)

    def take_entries(self) -> list[SitemapEntry]:
        """Return the complete entries that were not returned before."""
        if not self._ready:
            return self._ready
        ready, self._ready = self._ready, []
        return ready

    def end_entry(self) -> None:
        """Complete the open entry, if there is one."""
        self._loc = self._loc or self._guid
        if self._loc or self._others:
            modified_ms = _parse_date_ms(self._modified) if self._modified else 0
            for url in dict.fromkeys((self._loc, *self._others)):
                if url:
                    self._ready.append(
                        SitemapEntry(url=url, is_sitemap=self._sitemap, modified_ms=modified_ms)
                    )
        self._loc, self._guid, self._modified, self._others = "", "", "", []

    def _begin(self, local: str, attributes: str) -> None:
        parent = self._open[-1] if self._open else ""
        if local in _ENTRY_TAGS:
            self.end_entry()
            self._sitemap = local == "sitemap"
        elif local == "loc" and (parent in _ROOTS or parent in {"url", "sitemap"}):
            if parent in _ROOTS:
                self.end_entry()
                self._sitemap = parent == "sitemapindex"
            self._collect(local)
        elif parent in _ENTRY_TAGS and (local in _TIMES or local == "guid"):
            self._collect(local)
        elif local == "link" and parent in {"item", "entry", "url"}:
            self._link(parent, {key.lower(): one or two for key, one, two in _ATTRIBUTE.findall(attributes)})
        self._open.append(local)

    def _link(self, parent: str, attributes: dict[str, str]) -> None:
        href = _unescaped(attributes.get("href", "")).strip()
        if not href:
            if parent == "item":
                self._collect("link")
        elif len(href) <= MAX_URL_LENGTH and attributes.get("rel", "alternate").lower() == "alternate":
            if parent == "url":
                self._others.append(href)
            else:
                self._loc = self._loc or href

    def _collect(self, local: str) -> None:
        self._collecting, self._text, self._length = local, [], 0

    def _close(self, local: str) -> None:
        if local == self._collecting:
            text = "".join(self._text).strip()
            if self._length <= MAX_URL_LENGTH:
                if local in _TIMES:
                    self._modified = self._modified or text
                elif local == "guid":
                    self._guid = text if text.startswith(("http://", "https://")) else ""
                else:
                    self._loc = self._loc or text
            self._collecting = ""
        if self._open and self._open[-1] == local:
            self._open.pop()
        elif local in self._open:
            while self._open.pop() != local:
                pass
        if local in _ENTRY_TAGS:
            self.end_entry()


def _unescaped(text: str) -> str:
    return _ENTITY.sub(_character, text) if "&" in text else text


def _character(found: re.Match[str]) -> str:
    if found[3]:
        return _ENTITIES[found[3]]
    number = int(found[1]) if found[1] else int(found[2], 16)
    return chr(number) if number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF else "\ufffd"


def _parse_date_ms(written: str) -> int:
    """Return a date of the W3C (its note on date and time formats) or of RFC 5322 in milliseconds since the epoch; 0 if
    it is no date.

    A date without month, day or time means the beginning of its year, month or day; without a zone, UTC.
    """
    return _of_w3c(written) or _parse_rfc5322_ms(written)


def _of_w3c(written: str) -> int:
    found = _TIME.fullmatch(written)
    if found is None:
        return 0
    year, month, day, hour, minute, second = (
        int(part or low) for part, low in zip(found.groups(), (0, 1, 1, 0, 0, 0), strict=False)
    )
    zone = (found[7] or "Z").replace(":", "")
    offset_s = 0 if zone == "Z" else int(zone[0] + "1") * (int(zone[1:3]) * 3600 + int(zone[3:]) * 60)
    try:
        moment = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=UTC)
    except ValueError:
        return 0
    return max(0, round((moment.timestamp() - offset_s) * 1000))


def _parse_rfc5322_ms(written: str) -> int:
    if not 0 < len(written) <= 60:
        return 0
    try:
        moment = parsedate_to_datetime(written)
        return max(0, round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000))
    except (ValueError, OverflowError):
        return 0
