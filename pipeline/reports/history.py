"""`url_history`: everything that a project knows about one URL, source by source.

For a crawl: the state of the URL in the frontier, and its lines in the crawl's log. For a crawl and an ingest: its
captures in the archive, and for each capture the verdict of the process step, the document, and whether deduplication
removed it. Everything comes from files that users can read with other tools; nothing is stored only here.

Indexes and logs are read from end to end, which takes seconds per million records. Memory does not grow with them.
"""

import logging
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.compute as pc

from thresher.core import InputError, RecordRef, Url, document_id
from thresher.crawler.reading.rendered_page import pictured_page
from thresher.frontier import Frontier, HostSwitch, InvalidUrl, UrlState, canonicalize
from thresher.frontier.page_key import page_key
from thresher.frontier.policy import OFF
from thresher.pipeline.open_crawl import ask_project
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.steps import dedup
from thresher.pipeline.steps.cuts import cut_results
from thresher.pipeline.steps.process import NAME
from thresher.storage import tables
from thresher.storage.archive.open_files import archive_outputs
from thresher.storage.crawllog.log_line import LogLine
from thresher.storage.crawllog.log_reader import has_log, read_in_order
from thresher.storage.manifest import Manifest, manifests
from thresher.storage.sealed_reading import SealedObject
from thresher.storage.store import Store
from thresher.storage.warc.cdxj import CdxjRow
from thresher.storage.warc.cdxj import read as read_cdxj

LOGGER = logging.getLogger(__name__)
MAX_LOG_LINES = 10
"""Number of newest log lines in the result."""
_DOCUMENTS = tables.columns(tables.DOCUMENTS, "id", "title", "language", "mime", "extractor")
_WITNESSES = tables.columns(tables.REMOVALS, "id", "witness", "kind")


FILE = "file:"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileUri:
    """The URI of a document of a local file that gave it no URL: `file:NAME#line=7`. No crawl knows it."""

    text: str
    """In the spelling of `storage.inputs`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureVerdict:
    """What the later steps decided about a capture."""

    id: str
    """Id of the document, or of the record if there is no document."""
    keep: bool
    rule: str
    reason: str
    title: str = ""
    language: str = ""
    extractor: str = ""
    """Empty if there is no document."""
    duplicate_of: str = ""
    """Id of the document that this one repeats, if deduplication removed it, or `process` screened it."""
    duplicate_kind: str = ""
    part: str = ""
    """Part of the process step that has read the record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureHistory:
    """One record of the archive, and its verdict."""

    row: CdxjRow
    verdict: CaptureVerdict | None
    """None if the process step has not read it."""
    pictures: tuple[CdxjRow, ...] = ()
    """Screenshots of the page that were taken at the time of this capture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What one source knows about the URL."""

    source: str
    place: UrlState | None
    """State of the URL in the frontier; None for an ingest, and if the frontier has no such crawl."""
    lines: tuple[LogLine, ...]
    """Lines of the crawl's log, the newest last, at most `MAX_LOG_LINES`."""
    captures: tuple[CaptureHistory, ...]
    """Captures, the oldest first."""

    @property
    def is_empty(self) -> bool:
        """Whether the source knows nothing about the URL."""
        is_known = self.place is not None and self.place.state != "unknown"
        return not (is_known or self.lines or self.captures)


def parse_address(text: str) -> Url | FileUri:
    """Return the address in the spelling in which a project knows it, given any spelling.

    Raise `InputError` if it is neither an http or https URL nor the `file:` URI of a document.
    """
    if text[: len(FILE)].lower() == FILE:
        return FileUri(text=_file_uri(text))
    try:
        return canonicalize(text)
    except InvalidUrl as error:
        raise InputError(
            f"{text[:200]!r} is no URL ({error}); give http://, https://, or the file: URI of a document"
        ) from None


def url_history(project: OpenProject, url: Url | FileUri, sources: tuple[str, ...]) -> Iterator[History]:
    """Yield what each source knows about a URL. If `sources` is empty, ask all."""
    places = _places(project, url) if isinstance(url, Url) else {}
    for source in sources or sorted({*project.sources(()), *places}):
        place, query_order = places.get(source, (None, OFF))
        page = _Page(url, query_order) if isinstance(url, Url) else _FileDocument(url)
        yield History(
            source=source,
            place=place,
            lines=tuple(_lines(project.store, source, page)),
            captures=tuple(_captures(project, source, page)),
        )


class _Page:
    """The page of a URL: all URLs that a crawl takes for the same page."""

    def __init__(self, url: Url, query_order: HostSwitch) -> None:
        self.sought = url.host
        self._wire, self._query_order = url.wire, query_order
        self._key = page_key(url.text, url.host, query_order)

    def is_at(self, address: str) -> bool:
        """Return whether an address, in any spelling, is one of its URLs."""
        if address == self._wire:
            return True
        if self.sought not in address.lower():
            return False
        try:
            url = canonicalize(address)
        except InvalidUrl:
            return False
        return page_key(url.text, url.host, self._query_order) == self._key

    def __repr__(self) -> str:
        return f"<page {self._key}>"


class _FileDocument:
    """The document of a `file:` URI."""

    def __init__(self, uri: FileUri) -> None:
        self._text = uri.text
        name, _, fragment = uri.text.lower().partition("#")
        self.sought = fragment or name.rpartition("/")[2]

    def is_at(self, address: str) -> bool:
        """Return whether an address, in any spelling, is its URI."""
        return address == self._text or (address.startswith(FILE) and _file_uri(address) == self._text)

    def __repr__(self) -> str:
        return f"<document {self._text}>"


def _file_uri(text: str) -> str:
    name, hash_, fragment = text[len(FILE) :].partition("#")
    return f"{FILE}{quote(unquote(name))}{hash_}{quote(unquote(fragment), safe='=/')}"


def _places(project: OpenProject, url: Url) -> dict[str, tuple[UrlState, HostSwitch]]:
    """Return the URL's state in each crawl, and on which hosts the crawl tells pages apart by parameter order."""

    async def place(_: str, frontier: Frontier) -> tuple[UrlState, HostSwitch]:
        return await frontier.inspection.find(url), frontier.crawl.settings.policy.query_order

    found = ask_project(project, place)
    for line in found.lost.values():
        LOGGER.warning("%s", line)
    return found.answers


def _lines(store: Store, source: str, page: _Page | _FileDocument) -> Iterator[LogLine]:
    if has_log(store, source):
        found = (
            line for line in read_in_order(store, source) if line.kind == "page" and page.is_at(line.url)
        )
        yield from deque(found, maxlen=MAX_LOG_LINES)


def _captures(project: OpenProject, source: str, page: _Page | _FileDocument) -> Iterator[CaptureHistory]:
    store = project.store
    rows: list[CdxjRow] = []
    pictures: list[CdxjRow] = []
    for archive in manifests(store, "archive", source):
        _, index = archive_outputs(archive.outputs)
        with store.open(index.name) as file:
            for row in read_cdxj(file, name=index.name, sought=page.sought):
                if page.is_at(row.url):
                    rows.append(row)
                elif page.is_at(pictured_page(row.url)):
                    pictures.append(row)
    if not rows:
        return
    judged = _verdicts(project, source, rows)
    rows.sort(key=lambda row: row.date_ms)
    for row in rows:
        shown = tuple(picture for picture in pictures if _nearest(rows, picture.date_ms) is row)
        yield CaptureHistory(row=row, verdict=judged.get(_id(source, row)), pictures=shown)


def _nearest(rows: list[CdxjRow], date_ms: int) -> CdxjRow:
    return min(rows, key=lambda row: abs(row.date_ms - date_ms))


def _verdicts(project: OpenProject, source: str, rows: list[CdxjRow]) -> dict[str, CaptureVerdict]:
    store, found = project.store, dict[str, CaptureVerdict]()
    run, cut = _dedup_runs(project, source)
    removed = _removals(store, run, pa.array([_id(source, row) for row in rows], pa.string()))
    cut_verdicts = cut_results.verdicts_of(cut)
    for part in manifests(store, NAME, source):
        ids = pa.array([_id(source, row) for row in rows if _is_of(part, row)], pa.string())
        if not len(ids):
            continue
        outputs = {output.name.partition("/")[0]: output for output in part.outputs}
        documents = {row["id"]: row for row in _rows(store, outputs["documents"], _DOCUMENTS, ids)}
        screened = _witnesses(store, outputs["screened"], ids) if "screened" in outputs else {}
        verdicts = tables.columns(tables.VERDICTS, "id", "keep", "rule", "reason")
        for verdict in _rows(store, cut_verdicts.get(part.part, outputs["verdicts"]), verdicts, ids):
            document = documents.get(verdict["id"], {})
            kind, witness = removed.get(verdict["id"]) or screened.get(verdict["id"], ("", ""))
            found[verdict["id"]] = CaptureVerdict(
                **verdict,
                title=document.get("title", ""),
                language=document.get("language", ""),
                extractor=document.get("extractor", ""),
                duplicate_of=witness,
                duplicate_kind=kind,
                part=part.part,
            )
    return found


def _dedup_runs(project: OpenProject, source: str) -> tuple[Manifest | None, Manifest | None]:
    """Return the removals and the cuts of the run over this source alone, or else of that over all."""
    store, config = project.store, project.config.dedup
    for sources in ([source], project.sources(())):
        run = dedup.find(store, sources, config)
        if run is not None:
            return run, cut_results.find(store, sources, config, run)
    return None, None


def _removals(store: Store, run: Manifest | None, ids: pa.StringArray) -> dict[str, tuple[str, str]]:
    """Return kind and witness of removed documents by id."""
    if run is None:
        return {}
    (output,) = run.outputs
    return _witnesses(store, output, ids)


def _witnesses(store: Store, sealed: SealedObject, ids: pa.StringArray) -> dict[str, tuple[str, str]]:
    """Return kind and witness by id, from a table of removed or of screened documents."""
    rows = _rows(store, sealed, _WITNESSES, ids)
    return {row["id"]: (row["kind"], row["witness"]) for row in rows}


def _rows(store: Store, sealed: SealedObject, schema: pa.Schema, ids: pa.StringArray) -> list[dict[str, Any]]:
    table = tables.read(store, sealed, schema)
    return table.filter(pc.is_in(table["id"], value_set=ids)).to_pylist()


def _is_of(part: Manifest, row: CdxjRow) -> bool:
    return any(
        span.name == row.filename and span.first <= row.offset and (span.end is None or row.offset < span.end)
        for span in part.inputs
    )


def _id(source: str, row: CdxjRow) -> str:
    ref = RecordRef(file=row.filename, offset=row.offset, length=row.length, digest=row.digest)
    return document_id(source, ref)
