"""Turn a record of the archive into a `Document`, or into a `Skip` with its reason."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Protocol

from thresher.core import Document, RecordRef, document_id
from thresher.extract import html, pdf, wikitext
from thresher.extract.charset import DecodedText, decode
from thresher.extract.engines.page_engine import PageEngine
from thresher.extract.extraction import Extraction
from thresher.extract.mime import HTML, PDF, PLAIN, XHTML, sniff_type
from thresher.extract.rights import Rights, rights
from thresher.extract.skip import Skip
from thresher.extract.soft_error import detect_soft_error

PLAIN_EXTRACTOR = "plain@1"
EXACT_ROUTE = "exact"
"""The route of a text that stays byte for byte as its input had it (`ingest --exact-text`)."""
WIKITEXT = "text/x-wiki"
READABLE = frozenset((HTML, XHTML, PLAIN, PDF, WIKITEXT))
"""Media types of payloads from which text is extracted."""
EXTRACTORS = (html.EXTRACTOR, PLAIN_EXTRACTOR, pdf.EXTRACTOR, wikitext.EXTRACTOR)
"""All extractors of our own; each document names the one that made its text."""
LanguagePrecheck = Callable[[str], str | None]
"""Takes the characters of a page before extraction; returns the reason code why it is not wanted, or None."""

LOOKED_AT = 65_536
"""Characters that are checked to decide whether a payload is text at all."""
MAX_UNREADABLE = 0.1
"""Share of control characters and U+FFFD beyond which a payload is not text: pictures have a third, the worst real page
has 2 %.
"""
CONTROLS = bytes((*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20), 0x7F))
"""Control characters of ASCII that no text has. Text has tabs, line ends, and the escape of ISO-2022-JP."""
C1_CONTROLS = re.compile(rb"\xc2[\x80-\x84\x86-\x9f]")
"""Control characters beyond ASCII in UTF-8, without the line end U+0085."""


class Record(Protocol):
    """The fields of an archived record that extraction reads."""

    @property
    def type(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def date_ms(self) -> int: ...
    @property
    def status(self) -> int | None: ...
    @property
    def mime(self) -> str: ...
    @property
    def payload(self) -> bytes: ...
    @property
    def headers(self) -> tuple[tuple[str, str], ...]: ...
    @property
    def truncated(self) -> str | None: ...
    @property
    def facts(self) -> Mapping[str, str]: ...
    @property
    def ref(self) -> RecordRef: ...
    def header(self, name: str) -> str | None: ...


def extract_document(
    record: Record,
    source: str,
    *,
    language_precheck: LanguagePrecheck | None = None,
    markdown: bool = False,
    engine: PageEngine | None = None,
    links: bool = False,
) -> Document | Skip:
    """Return the document of one record, which is a response or a record of an input; return a `Skip` if it has no
    text.

    With `links`, Markdown of HTML has the URLs of links. The language of the document stays empty, because a filter
    recognises it. Reasons that need no extraction are checked first; their `Skip` has `is_early` set. A truncated page
    is extracted like any other. An `engine` reads the text of HTML pages in place of our own extraction, and may raise
    anything.
    """
    # Ingestion has set the type of a record of an input; it is not sniffed again.
    is_typed = record.type in {"resource", "conversion"} and record.mime in READABLE
    mime = record.mime if is_typed else sniff_type(record.payload, record.mime)
    why = _record_skip_reason(record, mime)
    if why is not None:
        return Skip(reason=why, is_early=True)
    if mime == PDF:
        return _to_document(record, source, mime, None, _pdf(record))
    if mime == WIKITEXT:
        return _to_document(record, source, mime, None, wikitext.extract(record.payload, markdown=markdown))
    exact = _exact(record, mime)
    decoded = exact or decode(record.payload, record.header("content-type"))
    why = _text_skip_reason(
        record,
        decoded,
        None if mime == PLAIN else language_precheck,
        is_page=mime != PLAIN,
        is_exact=exact is not None,
    )
    if why is not None:
        return Skip(reason=why, is_early=True)
    if exact is not None:
        found: Extraction | Skip = Extraction(text=exact.text, extractor=PLAIN_EXTRACTOR, route=EXACT_ROUTE)
    elif mime == PLAIN:
        found = _plain(decoded.text)
    else:
        day = datetime.fromtimestamp(record.date_ms / 1000, UTC).date().isoformat()
        found = html.extract(decoded, record.url, markdown=markdown, links=links, engine=engine, day=day)
    return _to_document(record, source, mime, decoded, found)


def _record_skip_reason(record: Record, mime: str) -> str | None:
    if record.type == "response" and record.status != 200:
        return "status"
    if not record.payload.strip():
        return "empty_body"
    return None if mime in READABLE else "unsupported_type"


def _text_skip_reason(
    record: Record, decoded: DecodedText, precheck: LanguagePrecheck | None, *, is_page: bool, is_exact: bool
) -> str | None:
    if not is_exact and _is_binary(decoded.text):
        return "undecodable"
    why: str | None = detect_soft_error(record.header, decoded.utf8) if is_page else None
    return precheck(decoded.text) if why is None and precheck is not None else why


def _pdf(record: Record) -> Extraction | Skip:
    found = pdf.extract(record.payload, truncated=bool(record.truncated))
    if isinstance(found, Skip):
        return found
    return Extraction(
        text=found.text,
        extractor=pdf.EXTRACTOR,
        route=found.route,
        title=found.title,
        author=found.author,
        date=found.date,
        declared_language=found.declared_language,
        license=found.license,
        is_cut_off=found.is_cut_off,
    )


def _exact(record: Record, mime: str) -> DecodedText | None:
    """Return the text of a record that is to stay as it is; None for other records."""
    if mime != PLAIN or record.facts.get("exact") != "text":
        return None
    try:
        text = record.payload.decode()
    except UnicodeDecodeError:  # an archive of others that says so
        return None
    return DecodedText(text=text, charset="utf-8", source="header", utf8=record.payload)


def _plain(text: str) -> Extraction | Skip:
    text = text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n").strip()
    text = text.encode(errors="replace").decode()
    return Extraction(text=text, extractor=PLAIN_EXTRACTOR, route="plain") if text else Skip(reason="no_text")


def _to_document(
    record: Record, source: str, mime: str, decoded: DecodedText | None, found: Extraction | Skip
) -> Document | Skip:
    if isinstance(found, Skip):
        return found
    use, known = rights(record.headers, found.metas, at_ms=record.date_ms), record.facts
    return Document(
        id=document_id(source, record.ref),
        url=record.url,
        text=found.text,
        title=_whole(known.get("title") or found.title),
        date=_whole(known.get("date") or found.date),
        author=_whole(known.get("author") or found.author),
        fact_sources=_whole(found.fact_sources),
        canonical_url=_whole(found.canonical_url),
        language="",
        declared_language=_whole(known.get("language") or found.declared_language),
        license=_whole(known.get("license") or found.license),
        robots=",".join(use.robots),
        tdm_reservation=use.tdm_reservation,
        tdm_policy=_whole(use.tdm_policy),
        mime=mime,
        declared_mime=record.mime,
        charset="" if decoded is None else decoded.charset,
        charset_source="" if decoded is None else decoded.source,
        truncated=record.truncated or ("unspecified" if found.is_cut_off else ""),
        extractor=found.extractor,
        route=found.route,
        source=source,
        external_id=_whole(known.get("id", "")),
        fetched_at_ms=record.date_ms,
        record=record.ref,
    )


def _whole(text: str) -> str:
    """Return the text with lone surrogates replaced by U+FFFD, because JSON can express them and UTF-8 cannot."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def rights_of(document: Document) -> Rights:
    """Return the rights that the page of a document stated."""
    return Rights(
        robots=tuple(filter(None, document.robots.split(","))),
        tdm_reservation=document.tdm_reservation,
        tdm_policy=document.tdm_policy,
    )


def _is_binary(text: str) -> bool:
    """Return whether too many characters are control characters or U+FFFD. They are counted in bytes, because that
    takes a third of the time.
    """
    start = text[:LOOKED_AT]
    encoded = start.encode(errors="replace")
    unreadable = len(encoded) - len(encoded.translate(None, CONTROLS))
    if len(encoded) > len(start):
        unreadable += start.count("\ufffd") + len(C1_CONTROLS.findall(encoded))
    return unreadable > MAX_UNREADABLE * len(start)
