"""Read the pages of a MediaWiki XML dump, such as Wikipedia's (`pages-articles.xml`; export-0.10, export-0.11).

1. Every `<page>` is one item. Pages of other namespaces, redirects, deleted texts and pages that are not wikitext
   become `UnusableRecord`s, each with its reason.
2. The dump is always read from its beginning; the pages before number `first` are not parsed.
3. If a page has many revisions, the last one in the file is taken, which is the newest.
4. The language is the one that the dump declares (`xml:lang`), unless the wiki has many languages.
"""

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import BinaryIO
from urllib.parse import quote

from thresher.core import InputError
from thresher.core.url import split_url
from thresher.storage.inputs.dumps.elements import BROKEN_XML, TOO_LONG, Element, elements, parse, parse_head
from thresher.storage.inputs.entry import MAX_PAYLOAD_BYTES, InputRecord, UnusableRecord, guard
from thresher.storage.warc.exchange_records import Fact

MIME = "text/x-wiki; charset=utf-8"
ARTICLES = frozenset({0})
"""The main namespace."""
LICENSE = "https://creativecommons.org/licenses/by-sa/4.0"
"""Licence of the texts of Wikimedia projects (Terms of Use of 2023, section 7b)."""
SHARE_ALIKE = re.compile(
    r"(?:.+\.)?(?:wikipedia|wiktionary|wikibooks|wikiquote|wikisource|wikiversity|wikivoyage|wikimedia|mediawiki)\.org"
)
"""Hosts whose texts have `LICENSE`; Wikinews and Wikidata have other licences."""
MANY_LANGUAGES = re.compile(
    r"(?:commons|meta|species|incubator|outreach|wikimania|foundation)\.wikimedia\.org"
    r"|www\.(?:wikidata|wikifunctions|mediawiki)\.org|beta\.wikiversity\.org|(?:www\.|mul\.)?wikisource\.org"
)
"""Hosts with pages in other languages than the one that their dumps declare."""
MAX_TITLE_LENGTH = 512
"""Bytes of a title at most: twice what MediaWiki permits, because it does not count the namespace."""
MAX_PREFIX_LENGTH = 1000
"""Characters of a URL before the title at most."""
UNESCAPED = ";@$!*(),/~:"
"""Characters of a title that MediaWiki's wfUrlencode does not escape, beside letters, digits and `-_.`."""
WIKITEXT = "wikitext"

_ROOT = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]{0,200}\?>\s*)?<mediawiki[\s>]")
_NUMBER = re.compile(r"\d{1,18}", re.ASCII)
_LANGUAGE = re.compile(r"[A-Za-z0-9-]{1,35}")  # RFC 5646, section 4.4.1
_REVISION = ("page", "revision")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wiki:
    """Facts from the head of a dump."""

    prefix: str
    """URL of a page without its title: `https://en.wikipedia.org/wiki/`."""
    facts: Mapping[Fact, str]


@dataclass(slots=True)
class _Page:
    """Fields of a page, collected while it is parsed. Each revision resets the fields of the revision before it."""

    title: str = ""
    id: str = ""
    namespace: str = ""
    is_redirect: bool = False
    timestamp: str = ""
    model: str = ""
    is_deleted: bool = False
    text: list[str] = field(default_factory=list)

    def start(self, path: tuple[str, ...], attributes: Mapping[str, str]) -> None:
        if path == ("page", "redirect"):
            self.is_redirect = True
        elif path == _REVISION:
            self.timestamp, self.model, self.is_deleted = "", "", False
            self.text.clear()
        elif path == (*_REVISION, "text"):
            self.is_deleted = "deleted" in attributes

    def add_text(self, path: tuple[str, ...], characters: str) -> None:
        match path:
            case ("page", "revision", "text"):
                self.text.append(characters)
            case ("page", "revision", "timestamp"):
                self.timestamp += characters
            case ("page", "revision", "model"):
                self.model += characters
            case ("page", "title"):
                self.title += characters
            case ("page", "id"):
                self.id += characters
            case ("page", "ns"):
                self.namespace += characters


def is_dump(head: bytes) -> bool:
    """Return whether an unpacked file with these first bytes is a dump of a wiki."""
    return _ROOT.match(head) is not None


def read(
    file: BinaryIO,
    name: str,
    first: int = 0,
    *,
    namespaces: Container[int] = ARTICLES,
    limit: int = MAX_PAYLOAD_BYTES,
) -> Iterator[InputRecord | UnusableRecord]:
    """Yield the items of a dump, from number `first` on.

    `limit` bounds the bytes of a page in the dump. Raise `InputError` if the file is not a dump, or if it does not name
    its wiki.
    """
    head, pages = elements(file, name, root="mediawiki", begin=b"<page>", limit=limit)
    wiki = _parse_wiki(head, name)
    for page in pages:
        if isinstance(page, UnusableRecord):
            if page.place >= first:
                yield page
        elif page.number >= first:
            yield guard(page.number, f"page {page.number + 1}", partial(_record, page, wiki, namespaces))


def _record(page: Element, wiki: _Wiki, namespaces: Container[int]) -> InputRecord | UnusableRecord:
    where = f"page {page.number + 1}, at byte {page.offset} unpacked"
    if not page.xml:
        return UnusableRecord(place=page.number, reason=TOO_LONG, detail=where)
    parsed = _Page()
    if problem := parse(page.xml.rstrip(), parsed.start, parsed.add_text):
        return UnusableRecord(place=page.number, reason=BROKEN_XML, detail=f"{where}: {problem}")
    text, date_ms = "".join(parsed.text), _milliseconds(parsed.timestamp)
    if reason := _unusable(parsed, text, namespaces):
        return UnusableRecord(place=page.number, reason=reason, detail=f"{where}: {parsed.title}")
    return InputRecord(
        place=page.number,
        uri=wiki.prefix + quote(parsed.title.replace(" ", "_"), safe=UNESCAPED),
        mime=MIME,
        payload=text.encode(),
        date_ms=date_ms,
        facts=_without_empty(
            {
                "id": parsed.id if _NUMBER.fullmatch(parsed.id) else "",
                "title": parsed.title,
                "date": parsed.timestamp[:10] if date_ms else "",
                **wiki.facts,
            }
        ),
    )


def _without_empty(facts: Mapping[Fact, str]) -> dict[Fact, str]:
    return {fact: value for fact, value in facts.items() if value}


def _unusable(page: _Page, text: str, namespaces: Container[int]) -> str | None:
    if not 0 < len(page.title.encode()) <= MAX_TITLE_LENGTH:
        return "no_title"
    if not _NUMBER.fullmatch(page.namespace) or int(page.namespace) not in namespaces:
        return "other_namespace"
    if page.is_redirect:
        return "redirect"
    if page.model not in (WIKITEXT, ""):  # not written before export-0.8
        return "not_wikitext"
    if page.is_deleted:
        return "deleted"
    return None if text.strip() else "no_text"


def _parse_wiki(head: bytes, name: str) -> _Wiki:
    if not is_dump(head):
        raise InputError(
            f"{name} is no dump of a wiki: it does not begin with <mediawiki>; give pages-articles.xml"
        )
    base, language = [], []

    def start(path: tuple[str, ...], attributes: Mapping[str, str]) -> None:
        if path == ("mediawiki",):
            language.append(attributes.get("xml:lang", ""))

    def add_text(path: tuple[str, ...], characters: str) -> None:
        if path == ("mediawiki", "siteinfo", "base"):
            base.append(characters)

    parse_head(head, name, start, add_text)
    main_page = "".join(base).strip()
    host = _host(main_page)
    if not host or len(main_page) > MAX_PREFIX_LENGTH:
        raise InputError(f"{name} does not name its wiki: no <base> with a URL in its <siteinfo>")
    return _Wiki(
        prefix=_prefix(main_page),
        facts={
            "language": ""
            if MANY_LANGUAGES.fullmatch(host)
            else next(filter(_LANGUAGE.fullmatch, language), ""),
            "license": LICENSE if SHARE_ALIKE.fullmatch(host) else "",
            "from": name,
        },
    )


def _host(url: str) -> str:
    """Return the host of an HTTP URL; return `""` if `url` is not one."""
    parts = split_url(url)
    return parts.host if parts.scheme in ("http", "https") else ""


def _prefix(main_page: str) -> str:
    """Return the part before the title in the URL of a wiki's main page. The title may contain slashes."""
    for mark in ("/wiki/", "?title=", "/index.php/"):
        before, separator, _ = main_page.partition(mark)
        if separator:
            return before + separator
    return main_page[: main_page.rindex("/") + 1]


def _milliseconds(timestamp: str) -> int:
    try:
        when = datetime.strptime(timestamp, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        return 0
    return max(0, int(when.timestamp()) * 1000)
