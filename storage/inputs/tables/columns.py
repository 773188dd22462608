"""A row to an `Entry`: which columns are its text, its URL, and what else is known of it.

Columns are recognised by the names that published collections use, in any case; `metadata.url` is the field `url` of the
column `metadata`. A name that the user gives goes before all others.

1. Text is text as it is; where a row has none, HTML is a page, to be extracted like one that was fetched.
2. A URL of the web is the record's URL; so is an id that is one. What browsers take from a URL or escape in it (white space) is
   no reason to lose it. Else the record is named after its file and line.
3. What is no text, no date or no address is left out, and never an error: a row is lost for want of its text alone.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import quote

from core import InputError
from storage.inputs.entry import MAX_PAYLOAD_BYTES, InputRecord, UnusableRecord
from storage.warc.exchange_records import EPOCH, Fact, target_uri

PLAIN = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"
HTML_BYTES = "text/html"
"""Of bytes whose encoding nobody has said."""
TEXTS = ("text", "raw_content", "content")
PAGES = ("html", "raw_html", "html_content")
URLS = ("url", "metadata.url", "meta.url", "warc-target-uri", "uri", "source_url")
IDS = ("id", "metadata.id", "doc_id", "docid", "_id", "uuid")
FETCH_TIME_COLUMNS = (
    "fetched_at_ms",
    "fetched_at",
    "fetch_time",
    "timestamp",
    "metadata.timestamp",
    "crawl_date",
    "date_download",
    "warc-date",
)
DUMPS = ("dump", "metadata.dump")
"""Where a row names the Common Crawl dump that it is from (FineWeb), its date is when it was fetched."""
FACT_COLUMNS: Mapping[Fact, tuple[str, ...]] = {
    "title": ("title", "metadata.title", "meta.title"),
    "author": ("author", "authors", "metadata.author", "byline"),
    "date": ("date", "published", "date_published", "publish_date", "created", "metadata.date"),
    "language": ("language", "lang", "metadata.language", "metadata.lang"),
    "license": ("license", "licence", "metadata.license"),
}
WEB = frozenset({"http://", "https://", "ftp://"})
NO_BREAKS = dict.fromkeys(map(ord, "\t\n\r"))
HOST_END = re.compile(r"[/?#\\]")
LONGEST_URL = 8192
"""Characters, as it is written in a head."""
LONGEST_FACT = 3000
"""Bytes in JSON, so that all of them and a URL find room in a record's head. A longer one is cut, but for an id, which
would be another.
"""
CHARACTERS = 250
"""Of a fact that is cut: as many have room whatever they are."""
SECONDS_END = 100_000_000_000
"""A number from here on is milliseconds: as seconds it would be in the year 5138."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The names that a user gives; empty for the usual ones."""

    text: str = ""
    html: str = ""
    url: str = ""
    id: str = ""

    def named(self) -> dict[str, str]:
        """Those that are not empty."""
        named = {"text": self.text, "html": self.html, "url": self.url, "id": self.id}
        return {what: name for what, name in named.items() if name}


DEFAULT_COLUMNS = Columns()


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLocation:
    """Where a row lies in its input."""

    name: str
    """Of the input, as errors and URIs call it."""
    place: int
    fragment: str
    """`line=7`, `row=7` or the like, which no other row has."""
    facts: Mapping[Fact, str] = field(default_factory=dict)

    @property
    def uri(self) -> str:
        """What a record is called that has no URL."""
        return f"file:{quote(self.name)}#{quote(self.fragment, safe='=/')}"


def require_columns(names: Collection[str], columns: Columns, where: str) -> None:
    """Raises `InputError`, saying `where`, for a table that lacks what the user named, or has no text at all."""
    there = {name.lower() for name in names}
    for what, name in columns.named().items():
        if name.lower().partition(".")[0] not in there and name.lower() not in there:
            raise InputError(
                f"{where} has no column {name}, which is to be its {what}; it has: {_listed(names)}"
            )
    if columns.text or columns.html or there & {*TEXTS, *PAGES}:
        return
    raise InputError(
        f"{where} has no column text or html; it has: {_listed(names)}; name one with --text-column or --html-column"
    )


def used_columns(names: Sequence[str], columns: Columns) -> list[str]:
    """Those of a table's columns that can say anything of a record."""
    known = {
        name.partition(".")[0]
        for names in (TEXTS, PAGES, URLS, IDS, FETCH_TIME_COLUMNS, DUMPS, *FACT_COLUMNS.values())
        for name in names
    }
    known |= {part.lower() for name in columns.named().values() for part in (name, name.partition(".")[0])}
    return [name for name in names if name.lower() in known]


def record_of_row(
    row: Mapping[str, Any], columns: Columns, spot: RowLocation
) -> InputRecord | UnusableRecord:
    """The row as a record."""
    cells = _cells(row)
    mime, payload = _payload(cells, columns)
    if not payload.strip():
        return UnusableRecord(place=spot.place, reason="no_text", detail=f"{spot.fragment}: no text in it")
    if len(payload) > MAX_PAYLOAD_BYTES:
        return UnusableRecord(
            place=spot.place,
            reason="too_long",
            detail=f"{spot.fragment}: a text of more than {MAX_PAYLOAD_BYTES:,} bytes",
        )
    if mime == PLAIN and not _is_utf8(payload):
        return UnusableRecord(
            place=spot.place, reason="not_utf8", detail=f"{spot.fragment}: a text that is not UTF-8"
        )
    identity = _first(cells, (columns.id.lower(), *IDS) if columns.id else IDS)
    url = _first(cells, (columns.url.lower(), *URLS) if columns.url else URLS, _written)
    dumped = _first(cells, DUMPS) != ""
    facts: dict[Fact, str] = {"id": identity} if identity == _short(identity) else {}
    for fact, names in FACT_COLUMNS.items():
        if not (fact == "date" and dumped):
            facts[fact] = _short(_first(cells, names))
    facts["date"] = _iso(facts.get("date", ""))
    return InputRecord(
        place=spot.place,
        uri=web_url(url) or web_url(identity) or spot.uri,
        mime=mime,
        payload=payload,
        date_ms=_fetched(
            cells, (*FETCH_TIME_COLUMNS, "date", "metadata.date") if dumped else FETCH_TIME_COLUMNS
        ),
        facts={fact: said for fact, said in {**facts, "from": spot.name, **spot.facts}.items() if said},
    )


def web_url(url: str) -> str:
    """Return the address of something in the web; empty for any other text.

    Spaces around it, tabs and line breaks are taken out (WHATWG URL, section 4.4). A space in it stays, and is escaped in the
    head of its record (`storage.warc.exchange_records.target_uri`). A host with white space in it is none.
    """
    scheme, colon, rest = url.strip().translate(NO_BREAKS).partition("//")
    host = HOST_END.split(rest, maxsplit=1)[0]
    if f"{scheme.lower()}{colon}" not in WEB or not host or any(map(str.isspace, host)):
        return ""
    found = f"{scheme}{colon}{rest}"
    return found if len(target_uri(found)) <= LONGEST_URL else ""


def milliseconds(value: object) -> int:
    """Since the epoch, of a moment in ISO 8601, 14 digits, seconds or milliseconds; 0 for what is none."""
    moment: datetime | None = None
    if isinstance(value, str) and value.isdecimal() and len(value) == 14:
        value = f"{value[:8]}T{value[8:]}"
    if isinstance(value, str) and not value.isdecimal():
        try:
            moment = datetime.fromisoformat(value.strip().removesuffix(" UTC"))
        except ValueError:
            return 0
    elif isinstance(value, datetime):
        moment = value
    elif isinstance(value, date):
        moment = datetime(value.year, value.month, value.day, tzinfo=UTC)
    elif isinstance(value, str):
        return _of_number(int(value[:20]))
    if moment is not None:
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0, (moment - EPOCH) // timedelta(milliseconds=1))
    return _of_number(value)


def _of_number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < SECONDS_END * 1000:
        return 0
    return int(value if value >= SECONDS_END else value * 1000)


def _payload(cells: Mapping[str, Any], columns: Columns) -> tuple[str, bytes]:
    texts: tuple[str, ...] = (columns.text.lower(),) if columns.text else () if columns.html else TEXTS
    pages = (columns.html.lower(),) if columns.html else PAGES
    for mime, names in ((PLAIN, texts), (HTML, pages)):
        for name in names:
            value = cells.get(name)
            if isinstance(value, str) and value.strip():
                return mime, _encoded(value)
            if isinstance(value, bytes) and value.strip():
                return (HTML_BYTES if mime == HTML else PLAIN), value
    return PLAIN, b""


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a pair, which JSON can write
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _cells(row: Mapping[str, Any]) -> dict[str, Any]:
    """What the row holds, by names in lower case; fields of a structure by `column.field` too."""
    cells: dict[str, Any] = {}
    for name, value in row.items():
        column = str(name).lower()
        cells[column] = value
        if isinstance(value, dict):
            for inner, within in value.items():
                cells.setdefault(f"{column}.{str(inner).lower()}", within)
    return cells


def _first(
    cells: Mapping[str, Any], names: tuple[str, ...], read: Callable[[object], str] | None = None
) -> str:
    for name in names:
        value = cells.get(name)
        if value is not None and (said := (read or _said)(value)):
            return said
    return ""


def _written(value: object) -> str:
    """A text as it stands there, white space and all."""
    return value.strip() if isinstance(value, str) else _said(value)


def _said(value: object) -> str:
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, list):
        return "; ".join(filter(None, map(_said, value)))
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _short(said: str) -> str:
    return said if len(json.dumps(said)) <= LONGEST_FACT else said[:CHARACTERS]


def _fetched(cells: Mapping[str, Any], names: tuple[str, ...]) -> int:
    moments = (milliseconds(cells[name]) for name in names if cells.get(name) is not None)
    return next(filter(None, moments), 0)


def _iso(said: str) -> str:
    """A date that is one, as it was written; empty for any other text."""
    try:
        datetime.fromisoformat(said)
    except ValueError:
        return ""
    return said


def _listed(names: Collection[str]) -> str:
    # A table without a header has a row of texts in its place.
    shown = ", ".join(name[:40] for name in sorted(map(str, names))[:20])
    return f"{shown}, ..." if len(names) > 20 else shown or "none"
