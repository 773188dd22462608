"""Turn a row into an `InputRecord`: find the columns of its text, its URL and its facts.

Columns are recognised by the names that published collections use, in upper or lower case. `metadata.url` is the field
`url` of the column `metadata`. A name that the user gives takes precedence over all others.

1. Text is archived unchanged. If a row has no text but HTML, the HTML is a page and is extracted like a fetched page.
   If it has neither but a conversation, its text are the contents of the messages; the conversation stays a column.
2. A web URL becomes the URL of the record; so does an id that is a web URL. White space that browsers remove from a URL
   or escape in it is tolerated. Without a URL, the record is named after its file and line.
3. A value that is not a valid date, address or text is left out and is never an error: only a missing text costs the
   row.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote

from thresher.core import InputError
from thresher.core.standards.moment import parse_moment
from thresher.storage.columns.conversations import CONVERSATIONS, conversation_text
from thresher.storage.columns.row_values import InputColumns, RowValues
from thresher.storage.inputs.entry import MAX_PAYLOAD_BYTES, InputRecord, UnusableRecord
from thresher.storage.warc.exchange_records import EPOCH, Fact, target_uri

PLAIN = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"
EXACT = "text"
"""The fact `exact` of a record whose text stays as it is."""
HTML_BYTES = "text/html"
"""Media type of HTML bytes whose encoding is unknown."""
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
"""Columns that name the Common Crawl dump of a row (FineWeb). In such a row, the date is the time of the fetch."""
FACT_COLUMNS: Mapping[Fact, tuple[str, ...]] = {
    "title": ("title", "metadata.title", "meta.title"),
    "author": ("author", "authors", "metadata.author", "byline"),
    "date": ("date", "published", "date_published", "publish_date", "created", "metadata.date"),
    "language": ("language", "lang", "metadata.language", "metadata.lang"),
    "license": ("license", "licence", "metadata.license"),
}
WEB = frozenset({"http://", "https://", "ftp://"})
NO_BREAKS = dict.fromkeys(map(ord, "\t\n\r"))
PLAIN_URL = re.compile(r"https?://[A-Za-z0-9.-]++(?:[/?#][!-;=?-~]*+)?")
"""A web URL as most are: it is taken as it stands."""
HOST_END = re.compile(r"[/?#\\]")
MAX_URL_LENGTH = 8192
"""Characters of a URL at most, as written in the head of a record."""
MAX_FACT_LENGTH = 3000
"""Bytes of a fact in JSON at most, so that all facts and a URL fit into the head of a record.

A longer fact is cut. A longer id is dropped instead, because a cut id would be another id.
"""
CHARACTERS = 250
"""Characters that remain of a fact that is cut: that many fit, whatever characters they are."""
SECONDS_END = 100_000_000_000
"""A time that is this number or more is in milliseconds: in seconds it would lie in the year 5138."""


Keep: TypeAlias = Callable[[frozenset[str]], InputColumns]
"""Returns the columns of a row except those named, in lower case: the record holds these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The column names that a user gives; an empty name stands for the usual names."""

    text: str = ""
    html: str = ""
    url: str = ""
    id: str = ""
    exact_text: bool = False
    """Whether texts stay byte for byte as they are, through extraction too."""

    def named(self) -> dict[str, str]:
        """Return the names that are not empty, by what they name."""
        named = {"text": self.text, "html": self.html, "url": self.url, "id": self.id}
        return {what: name for what, name in named.items() if name}


DEFAULT_COLUMNS = Columns()


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLocation:
    """The place of a row in its input."""

    name: str
    """Name of the input in errors and URIs."""
    place: int
    fragment: str
    """`line=7`, `row=7` or the like; unique within the input."""
    facts: Mapping[Fact, str] = field(default_factory=dict)

    @property
    def uri(self) -> str:
        """The URI of a record that has no URL."""
        return f"file:{quote(self.name)}#{quote(self.fragment, safe='=/')}"


def require_columns(names: Collection[str], columns: Columns, where: str) -> None:
    """Raise `InputError`, which names `where`, if a table lacks a column that the user named or has no text column."""
    there = {name.lower() for name in names}
    for what, name in columns.named().items():
        if name.lower().partition(".")[0] not in there and name.lower() not in there:
            raise InputError(
                f"{where} has no column {name}, which is to be its {what}; it has: {_shown(names)}"
            )
    if columns.text or columns.html or there & {*TEXTS, *PAGES, *CONVERSATIONS}:
        return
    raise InputError(
        f"{where} has no column text, html or messages; it has: {_shown(names)}; name one with --text-column or "
        "--html-column"
    )


def used_columns(names: Sequence[str], columns: Columns) -> list[str]:
    """Return the columns of a table that a record can be made of."""
    known = {
        name.partition(".")[0]
        for names in (
            TEXTS,
            PAGES,
            URLS,
            IDS,
            FETCH_TIME_COLUMNS,
            DUMPS,
            *FACT_COLUMNS.values(),
        )
        for name in names
    }
    known |= {part.lower() for name in columns.named().values() for part in (name, name.partition(".")[0])}
    if not {name.lower() for name in names} & {*TEXTS, *PAGES}:
        known |= {*CONVERSATIONS}
    return [name for name in names if name.lower() in known]


def record_of_row(
    row: Mapping[str, Any],
    columns: Columns,
    spot: RowLocation,
    keep: Keep | None = None,
) -> InputRecord | UnusableRecord:
    """Return the record of a row; return an `UnusableRecord` if the row has no usable text.

    The record has the columns that `keep` returns.
    """
    cells = _cells(row)
    mime, payload, used = _payload(cells, columns)
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
    there = _columns_there(_known(columns).intersection(cells), columns)
    id_column, identity = _first(cells, there.ids)
    url_column, url = _first(cells, there.urls, _written)
    address = web_url(url)
    dumped = _first(cells, there.dumps)[1] != ""
    facts: dict[Fact, str] = {"id": identity} if identity and identity == _short(identity) else {}
    for fact, names in there.facts:
        if not (fact == "date" and dumped) and (value := _short(_first(cells, names)[1])):
            facts[fact] = value
    if "date" in facts and not _is_date(facts["date"]):
        del facts["date"]
    if columns.exact_text and mime == PLAIN:
        facts["exact"] = EXACT
    facts["from"] = spot.name
    held = {used}
    if address:
        held.add(url_column)
    if "id" in facts and (cells[id_column] == identity or cells[id_column] in _whole(identity)):
        held.add(id_column)
    return InputRecord(
        place=spot.place,
        uri=address or web_url(identity) or spot.uri,
        mime=mime,
        payload=payload,
        date_ms=_fetched(cells, there.dumped if dumped else there.fetched),
        facts={**facts, **spot.facts} if spot.facts else facts,
        columns=keep(frozenset(held)) if keep else None,
    )


class _ColumnsThere(NamedTuple):
    """The columns of a row that say something, by what they say; the first one with a value counts."""

    ids: tuple[str, ...]
    urls: tuple[str, ...]
    dumps: tuple[str, ...]
    facts: tuple[tuple[Fact, tuple[str, ...]], ...]
    fetched: tuple[str, ...]
    dumped: tuple[str, ...]
    """Times of the fetch in a row of a dump."""


@lru_cache(8)
def _known(columns: Columns) -> frozenset[str]:
    """Return the names, in lower case, of columns that say something besides text and HTML."""
    every = (IDS, URLS, DUMPS, FETCH_TIME_COLUMNS, *FACT_COLUMNS.values(), (columns.id, columns.url))
    return frozenset(name.lower() for names in every for name in names)


@lru_cache(64)
def _columns_there(names: frozenset[str], columns: Columns) -> _ColumnsThere:
    """Return which of these columns say what. Most rows of a table have the same."""

    def there(*known: str) -> tuple[str, ...]:
        return tuple(name for name in known if name in names)

    facts = ((fact, there(*known)) for fact, known in FACT_COLUMNS.items())
    return _ColumnsThere(
        ids=there(*((columns.id.lower(), *IDS) if columns.id else IDS)),
        urls=there(*((columns.url.lower(), *URLS) if columns.url else URLS)),
        dumps=there(*DUMPS),
        facts=tuple((fact, known) for fact, known in facts if known),
        fetched=there(*FETCH_TIME_COLUMNS),
        dumped=there(*FETCH_TIME_COLUMNS, "date", "metadata.date"),
    )


def values_of_row(row: Mapping[str, Any], size: int, held: frozenset[str]) -> RowValues:
    """Return the columns of a row of Python values that its record does not hold. The row takes `size` bytes."""
    return RowValues({name: value for name, value in row.items() if name.lower() not in held}, size)


def web_url(url: str) -> str:
    """Return `url` if it is a web URL; return `""` for any other text.

    Surrounding spaces, tabs and line breaks are removed (WHATWG URL, section 4.4). A space within the URL stays and is
    escaped in the head of the record (`storage.warc.exchange_records.target_uri`). A host that contains white space is
    invalid.
    """
    if PLAIN_URL.fullmatch(url) and len(url) <= MAX_URL_LENGTH:
        return url
    scheme, colon, rest = url.strip().translate(NO_BREAKS).partition("//")
    host = HOST_END.split(rest, maxsplit=1)[0]
    if f"{scheme.lower()}{colon}" not in WEB or not host or any(map(str.isspace, host)):
        return ""
    found = f"{scheme}{colon}{rest}"
    return found if len(target_uri(found)) <= MAX_URL_LENGTH else ""


def milliseconds(value: object) -> int:
    """Return milliseconds since the epoch for a time in ISO 8601, 14 digits, seconds or milliseconds.

    Return 0 if `value` is not a time. A time without a time zone is UTC.
    """
    moment: datetime | None = None
    if isinstance(value, str) and value.isdecimal() and len(value) == 14:
        value = f"{value[:8]}T{value[8:]}"
    if isinstance(value, str) and not value.isdecimal():
        try:
            moment = parse_moment(value.strip().removesuffix(" UTC"))
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


def _payload(cells: Mapping[str, Any], columns: Columns) -> tuple[str, bytes, str]:
    """Return media type and bytes of the text or the page of a row, and the name of the column that holds them."""
    texts: tuple[str, ...] = (columns.text.lower(),) if columns.text else () if columns.html else TEXTS
    pages = (columns.html.lower(),) if columns.html else PAGES
    for mime, names in ((PLAIN, texts), (HTML, pages)):
        for name in names:
            value = cells.get(name)
            if isinstance(value, str) and value.strip():
                exact = value.encode(errors="surrogatepass") if columns.exact_text else _encoded(value)
                return mime, exact, name
            if isinstance(value, bytes) and value.strip():
                return (HTML_BYTES if mime == HTML else PLAIN), value, name
            if isinstance(value, list) and mime == PLAIN and (text := conversation_text(value)):
                return PLAIN, _encoded(text), ""
    if not columns.text and not columns.html:
        for name in CONVERSATIONS:
            if text := conversation_text(cells.get(name)):
                return PLAIN, _encoded(text), ""
    return PLAIN, b"", ""


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # a lone surrogate, which JSON can express
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _cells(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a row by column name in lower case, and the fields of a structure by `column.field` too."""
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
) -> tuple[str, str]:
    """Return the first of the columns that has a text, and the text."""
    for name in names:
        value = cells.get(name)
        if value is not None and (text := (read or _as_text)(value)):
            return name, text
    return "", ""


def _whole(text: str) -> tuple[int, ...]:
    """Return the integer that is written as `text`, if there is one."""
    return (int(text),) if text.isdecimal() and len(text) < 20 else ()


def _written(value: object) -> str:
    """Return a text without normalizing the white space within it."""
    return value.strip() if isinstance(value, str) else _as_text(value)


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, list):
        return "; ".join(filter(None, map(_as_text, value)))
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _short(text: str) -> str:
    return text if len(text) < CHARACTERS or len(json.dumps(text)) <= MAX_FACT_LENGTH else text[:CHARACTERS]


def _fetched(cells: Mapping[str, Any], names: tuple[str, ...]) -> int:
    moments = (milliseconds(cells[name]) for name in names if cells.get(name) is not None)
    return next(filter(None, moments), 0)


def _is_date(text: str) -> bool:
    """Return whether `text` is a date in ISO 8601."""
    try:
        parse_moment(text)
    except ValueError:
        return False
    return True


def _shown(names: Collection[str]) -> str:
    # If a table has no header, its first row of texts takes the header's place, so the names may be long.
    shown = ", ".join(name[:40] for name in sorted(map(str, names))[:20])
    return f"{shown}, ..." if len(names) > 20 else shown or "none"
