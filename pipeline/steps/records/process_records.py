"""The work of the process step: it makes the tables of one part from a range of records.

The stages are fused: a record becomes a document or is skipped, the document is judged, and a kept document is signed
for deduplication, before the next record is read.
"""

import dataclasses
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import pyarrow as pa

from core import Document, Failure, Verdict, failure_boundary
from core.failure import FAILURE_PREFIX
from crawler.reading.rendered_page import DOM_CONTENT_TYPE, dom_id
from extract import Skip
from extract.engines.page_engine import load_engine, require_engine
from extract.mime import PLAIN
from extract.raw_text import declared_language, page_windows
from extract.record_document import LanguagePrecheck, document_id, extract_document, rights_of
from filters.decision import decide
from filters.dedup.signature import sign
from filters.judge import analyzed
from filters.measuring import Measurer, measured_columns
from filters.models.language_codes import canonical
from filters.signals.licenses import stated_license_url
from pipeline.engine.part_store import PartStore
from pipeline.engine.step import Part, Step
from pipeline.engine.task import ItemTracker, PartOutputs
from pipeline.funnel import EARLY_RULE, edited_count, funnel_stage, stage_counts
from pipeline.steps import blocklist
from pipeline.steps.language_precheck import cached_recogniser, is_other_language
from pipeline.steps.records.measured_rows import measured_rows
from pipeline.steps.records.process_parameters import ProcessParameters
from pipeline.steps.records.rare_collection import rare_collection
from pipeline.steps.records.rule_set import rules_of
from pipeline.steps.records.stored_signals import StoredFiles
from storage import sealed_reading, tables
from storage.commoncrawl import index_facts
from storage.manifest import Input
from storage.tables import MeasurementRow
from storage.warc.dropped import DROPPED
from storage.warc.dropped import decode as dropped
from storage.warc.records import DAMAGED, PAGE_TYPES, ArchivedRecord
from storage.warc.revisit import REVISIT

LOGGER = logging.getLogger(__name__)
LANGUAGE_MEASURES = ("language_score", "language_share")
"""The measurements that every document has, whether or not a rule on languages is among the rules."""
RIGHTS_RULE = "rights"
"""Name in place of a rule if a page asks not to be used."""
CRASHED_REASON = "crashed"
"""Reason of a record that crashes the process that reads it."""
BLOCKED_REASON = "blocked_address"
"""Reason of a record whose address is on the blocklist."""
PAGE_SCHEMES = frozenset({"http", "https", "ftp", "file"})
"""Schemes of resources that may be pages. Others are notes of a crawler (`urn:pageinfo:`, `metadata:`)."""
CRAWLER_NOTE_REASON = "crawler_note"
"""Reason of a resource with another scheme."""
PAGE_PART_REASON = "page_part"
"""Reason of a record that a browser fetched for a page. The page's own text is in its DOM."""
PAGE_PART_TYPES = frozenset(
    (
        *("stylesheet", "image", "media", "font", "script", "texttrack", "xhr", "fetch", "prefetch"),
        *("eventsource", "websocket", "manifest", "signedexchange", "ping", "cspviolationreport"),
        *("preflight", "fedcm", "other"),
    )
)
"""Values of WARC-Resource-Type for parts of a page: the resource types of the Chrome DevTools Protocol
(Network.ResourceType) in lower case, except `document`, which browsertrix-crawler writes on pages."""
PAGELESS_TYPES = frozenset({REVISIT, DAMAGED})
"""Types without text, which are skipped. The document of a revisit is that of the record it refers to."""


class _SignatureRow(NamedTuple):
    """The row of a kept document in the signatures."""

    id: str
    url: str
    text_hash: bytes
    text_bytes: int
    payload_bytes: int
    fetched_at_ms: int
    minhash: np.ndarray[Any, np.dtype[np.uint32]]


def make_tables(store: PartStore, step: Step, part: Part, tracker: ItemTracker) -> PartOutputs:
    """Make the tables of one part."""
    (span,) = part.inputs
    task: ProcessParameters = part.parameters
    chosen, languages = rules_of(task.rules, StoredFiles(store)), task.rules.languages
    reader = _RecordReader(
        parameters=task,
        measurer=Measurer(chosen),
        precheck=partial(language_precheck, languages) if languages else None,
        is_blocked=blocklist.load_blocklist(store, task.blocklist).blocks if task.blocklist else None,
    )
    # Outside the failure boundary, because a missing model or engine is no fault of a record.
    require_engine(task.engine, step.recipe["extractors"])
    cached_recogniser(task.rules.language_model)
    with rare_collection():
        results = list(_records(store, span, reader, tracker))
    measured = [result.measured for result in results if result.measured is not None]
    measurements = tables.measurement_rows(
        [each.row for each in measured],
        [*measured_columns(chosen), *LANGUAGE_MEASURES],
        [rule.name for rule in chosen],
    )
    decisions = decide(chosen, measured_rows(measurements))
    decided = iter(zip(decisions.rules, decisions.reasons, strict=True))
    verdicts: list[Verdict] = []
    counts: Counter[str] = Counter()
    for result in results:
        verdict = result.verdict or _verdict(result, *next(decided))
        text_bytes = result.text_bytes
        if verdict.keep and result.measured is not None and result.measured.signature is not None:
            text_bytes = result.measured.signature.text_bytes
        verdicts.append(verdict)
        counts.update(
            stage_counts(
                funnel_stage(verdict.rule, verdict.reason),
                documents=1,
                payload=result.payload_bytes,
                text=text_bytes,
            )
        )
    counts.update(edited_count(editor) for each in measured for editor in each.editors)
    signed = list(zip([each.signature for each in measured], decisions.keep, strict=True))
    output_tables = (
        tables.document_rows([result.document for result in results if result.document is not None]),
        measurements,
        tables.verdict_rows(verdicts),
        _signature_rows([row for row, keep in signed if row is not None and keep], task.permutations),
        _signature_rows([row for row, keep in signed if row is not None and not keep], task.permutations),
    )
    outputs = tuple(
        store.write(output, table.num_rows, partial(tables.write, table=table))
        for output, table in zip(part.writes, output_tables, strict=True)
    )
    return PartOutputs(counts=dict(counts), outputs=outputs)


def _verdict(result: "_RecordResult", rule: str, reason: str) -> Verdict:
    """Return the verdict of a measured document."""
    assert result.measured is not None
    row = result.measured.row
    edits = tuple(row.edits) if not rule else ()
    return Verdict(
        id=row.id, keep=not rule, rule=rule, reason=reason, measurements=row.measurements, edits=edits
    )


def _signature_rows(rows: Sequence[_SignatureRow], permutations: int) -> pa.Table:
    return tables.signature_rows(
        ids=[row.id for row in rows],
        urls=[row.url for row in rows],
        text_hashes=[row.text_hash for row in rows],
        text_bytes=[row.text_bytes for row in rows],
        payload_bytes=[row.payload_bytes for row in rows],
        fetched_at_ms=[row.fetched_at_ms for row in rows],
        minhashes=np.array([row.minhash for row in rows], dtype=np.uint32).reshape(-1, permutations),
    )


class _MeasuredDocument(NamedTuple):
    """What every later decision about a document follows from."""

    row: MeasurementRow
    editors: tuple[str, ...]
    signature: _SignatureRow | None
    """None if no later decision can keep the document, because nobody wants its language."""


class _RecordResult(NamedTuple):
    """The result of one record: a verdict, or what it follows from."""

    payload_bytes: int
    verdict: Verdict | None = None
    document: Document | None = None
    text_bytes: int = 0
    measured: _MeasuredDocument | None = None


class _RecordReader(NamedTuple):
    """Reads the records of a part."""

    parameters: ProcessParameters
    measurer: Measurer
    precheck: LanguagePrecheck | None
    is_blocked: Callable[[str], bool] | None

    def read(
        self, record: ArchivedRecord, dom: ArchivedRecord | None, facts_record: ArchivedRecord | None
    ) -> _RecordResult:
        """Return the result of a record. `dom` and `facts_record` lie before it and may be its own. Raise `Failure`."""
        with failure_boundary("record"):
            payload, reason = _payload_bytes(record), pageless_reason(record)
            if reason is None:
                # The same page, as its browser saw it, and with the facts of Common Crawl's index.
                record = index_facts.with_index_facts(with_dom(record, dom), facts_record)
                if self.is_blocked is not None and self.is_blocked(record.url):
                    reason = BLOCKED_REASON
        if reason is not None:
            verdict = _skip_verdict(self.parameters.source, record, reason, early=True)
            return _RecordResult(verdict=verdict, payload_bytes=payload)
        found = _extract(record, self.parameters, self.precheck)
        if isinstance(found, Verdict):
            return _RecordResult(verdict=found, payload_bytes=payload)
        with failure_boundary("judge"):
            language = cached_recogniser(self.parameters.rules.language_model)(found.text)
            found = dataclasses.replace(found, language=language.code)
            refusal = rights_of(found).refusal(self.parameters.obey)
            measured = None if refusal is not None else self.measurer.measure(analyzed(found, language))
            if not found.license:
                found = dataclasses.replace(found, license=stated_license_url(found.text))
        with failure_boundary("sign"):
            text_bytes = tables.require_storable(found)
            if measured is None:
                verdict = Verdict(
                    id=found.id, keep=False, rule=RIGHTS_RULE, reason=str(refusal), measurements={}
                )
                return _RecordResult(
                    verdict=verdict, payload_bytes=payload, document=found, text_bytes=text_bytes
                )
            row = MeasurementRow(
                id=found.id,
                language=found.language,
                payload_bytes=payload,
                text_bytes=text_bytes,
                edits=measured.edits,
                measurements={
                    **measured.measurements,
                    **dict(zip(LANGUAGE_MEASURES, (language.score, language.share), strict=True)),
                },
                reasons=measured.reasons,
            )
            signature = (
                _sign(found, measured.text, payload, self.parameters.permutations)
                if measured.is_wanted
                else None
            )
        return _RecordResult(
            payload_bytes=payload,
            document=found,
            text_bytes=text_bytes,
            measured=_MeasuredDocument(row=row, editors=measured.editors, signature=signature),
        )


def _records(
    store: PartStore, span: Input, reader: _RecordReader, tracker: ItemTracker
) -> Iterator[_RecordResult]:
    """Yield the result of each record of a range that is a page or stands for one.

    A record that makes our code fail loses only itself.
    """
    source = reader.parameters.source
    dom: ArchivedRecord | None = None
    facts_record: ArchivedRecord | None = None
    failed = set[str]()
    tracker.start_item(span.first)
    for record in sealed_reading.sealed_records(store, span):
        tracker.start_item(record.offset)
        if record.type == "metadata":
            facts_record = record
        if record.type not in PAGE_TYPES:
            continue
        if record.offset in tracker.crashing_items:
            yield _RecordResult(
                verdict=_skip_verdict(source, record, CRASHED_REASON), payload_bytes=len(record.payload)
            )
        else:
            try:
                yield reader.read(record, dom, facts_record)
            except Failure as failure:
                if failure.reason not in failed:
                    LOGGER.warning("%s, record at byte %d: %s", span.name, record.offset, failure)
                failed.add(failure.reason)
                verdict = _skip_verdict(source, record, failure.reason)
                yield _RecordResult(verdict=verdict, payload_bytes=len(record.payload))
        if record.type == "conversion":
            dom = record


def pageless_reason(record: ArchivedRecord) -> str | None:
    """Return the reason code of a record that holds no page of its own; None for one that may."""
    if record.type == "conversion":
        return None if record.mime == PLAIN else record.type
    if record.resource_type.lower() in PAGE_PART_TYPES:
        return PAGE_PART_REASON
    scheme = record.url.partition(":")[0].lower()
    return CRAWLER_NOTE_REASON if record.type == "resource" and scheme not in PAGE_SCHEMES else None


def with_dom(page: ArchivedRecord, dom: ArchivedRecord | None) -> ArchivedRecord:
    """Return a page with the DOM that was archived before it, if it is the DOM of this page."""
    if dom is None or page.type not in {"response", REVISIT} or dom.record_id != _dom_of(page.record_id):
        return page
    headers = tuple((name, value) for name, value in page.headers if name.lower() != "content-type")
    # A page whose HTML was archived before is a revisit, but its DOM may have changed.
    return dataclasses.replace(
        page,
        type="response",
        payload=dom.payload,
        mime=dom.mime,
        headers=(("content-type", DOM_CONTENT_TYPE), *headers),
    )


def _dom_of(page: str) -> str | None:
    try:
        return dom_id(UUID(page)).urn
    except ValueError:
        return None  # the id comes from another crawler


def _payload_bytes(record: ArchivedRecord) -> int:
    """Return the payload bytes of a page, also of one that was dropped before the archive."""
    remains = dropped(record.payload) if record.type == DROPPED else None
    return len(record.payload) if remains is None else remains.length


def _sign(found: Document, text: str, payload_bytes: int, permutations: int) -> _SignatureRow:
    """Return the signature of a document whose edited text is `text`."""
    text_hash, minhash = sign(text, permutations)
    return _SignatureRow(
        id=found.id,
        url=found.url,
        text_hash=text_hash,
        text_bytes=len(text.encode()),
        payload_bytes=payload_bytes,
        fetched_at_ms=found.fetched_at_ms,
        minhash=minhash,
    )


def _extract(
    record: ArchivedRecord, task: ProcessParameters, precheck: LanguagePrecheck | None
) -> Document | Verdict:
    """Return the document of a record, or the verdict if it has none."""
    with failure_boundary("extract"):
        if record.type == DROPPED and (remains := dropped(record.payload)) is not None:
            identity = document_id(task.source, record.ref)
            return Verdict(id=identity, keep=False, rule="archive", reason=remains.reason, measurements={})
        problem = record.problem or ""
        found = (
            Skip(reason=problem)
            if problem.startswith(FAILURE_PREFIX)
            else Skip(reason=record.type, is_early=True)
            if record.type in PAGELESS_TYPES
            else extract_document(
                record,
                task.source,
                language_precheck=precheck,
                markdown=task.markdown,
                links=task.links,
                engine=load_engine(task.engine),
            )
        )
    if isinstance(found, Skip):
        return _skip_verdict(task.source, record, found.reason, early=found.is_early)
    return found


def language_precheck(wanted: tuple[str, ...], html: str) -> str | None:
    """Return why a page can be dropped before its extraction, or None.

    A page that declares a wanted language is not checked: if the declaration is wrong, the filters see it in the text.
    """
    if canonical(declared_language(html)) in map(canonical, wanted):
        return None
    return "other_language" if is_other_language(page_windows(html), wanted) else None


def _skip_verdict(source: str, record: ArchivedRecord, reason: str, *, early: bool = False) -> Verdict:
    identity = document_id(source, record.ref)
    return Verdict(
        id=identity, keep=False, rule=EARLY_RULE if early else "extract", reason=reason, measurements={}
    )
