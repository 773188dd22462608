"""The work of the process step: it makes the tables of one part from a range of records.

The stages are fused: a record becomes a document or is skipped, the document is judged, and a kept document is signed
for deduplication, before the next record is read. If documents are screened, all of the part are signed and looked up
together, and only those without a witness are judged.
"""

import dataclasses
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from thresher.core import Document, Failure, Verdict, document_id, failure_boundary
from thresher.core.failure import FAILURE_PREFIX
from thresher.extract import Skip
from thresher.extract.engines.page_engine import load_engine, require_engine
from thresher.extract.record_document import LanguagePrecheck, extract_document, rights_of
from thresher.filters.decision import decide
from thresher.filters.judge import analyzed
from thresher.filters.measuring import Measurer, measured_columns
from thresher.filters.models.language import LanguagePrediction
from thresher.filters.signals.licenses import stated_license_url
from thresher.pipeline.dedup_index.index_screen import Witness, find_witnesses
from thresher.pipeline.engine.part_store import PartStore
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.engine.task import ItemTracker, PartOutputs
from thresher.pipeline.funnel import EARLY_RULE, SCREEN_RULE, edited_count, funnel_stage, stage_counts
from thresher.pipeline.steps import blocklist
from thresher.pipeline.steps.language_precheck import cached_recogniser, language_precheck
from thresher.pipeline.steps.records.column_thresholds import column_thresholds, crossed
from thresher.pipeline.steps.records.measured_rows import measured_rows
from thresher.pipeline.steps.records.page_records import (
    RecordsBefore,
    count_normalised,
    pageless_reason,
    with_dom,
    with_screenshot,
)
from thresher.pipeline.steps.records.process_parameters import ProcessParameters
from thresher.pipeline.steps.records.rare_collection import rare_collection
from thresher.pipeline.steps.records.rule_columns import RuleColumns
from thresher.pipeline.steps.records.rule_set import COLUMNS_RULE, named_columns, rules_of
from thresher.pipeline.steps.records.signature_rows import SignatureRow, sign_document, signature_table
from thresher.pipeline.steps.records.stored_signals import StoredFiles
from thresher.storage import sealed_reading, tables
from thresher.storage.columns.column_paths import input_values
from thresher.storage.columns.kept_names import FOLDER
from thresher.storage.commoncrawl import index_facts
from thresher.storage.manifest import Input
from thresher.storage.tables import MeasurementRow
from thresher.storage.warc.dropped import DROPPED
from thresher.storage.warc.dropped import decode as dropped
from thresher.storage.warc.records import DAMAGED, PAGE_TYPES, ArchivedRecord
from thresher.storage.warc.revisit import REVISIT

LOGGER = logging.getLogger(__name__)
LANGUAGE_MEASURES = ("language_score", "language_share")
"""The measurements that every document has, whether or not a rule on languages is among the rules."""
RIGHTS_RULE = "rights"
"""Name in place of a rule if a page asks not to be used."""
CRASHED_REASON = "crashed"
"""Reason of a record that crashes the process that reads it."""
BLOCKED_REASON = "blocked_address"
"""Reason of a record whose address is on the blocklist."""
PAGELESS_TYPES = frozenset({REVISIT, DAMAGED})
"""Types without text, which are skipped. The document of a revisit is that of the record it refers to."""


def make_tables(store: PartStore, step: Step, part: Part, tracker: ItemTracker) -> PartOutputs:
    """Make the tables of one part."""
    span, *more = part.inputs
    beside = next((each for each in more if each.name.startswith(f"{FOLDER}/")), None)
    task: ProcessParameters = part.parameters
    chosen, languages = rules_of(task.rules, StoredFiles(store)), task.rules.languages
    reader = _RecordReader(
        file=span.name,
        failures=set(),
        counts=Counter(),
        parameters=task,
        measurer=Measurer(chosen),
        precheck=partial(language_precheck, languages) if languages else None,
        columns=RuleColumns(store, span, beside, [name for rule in chosen for name in named_columns(rule)]),
        is_blocked=blocklist.load_blocklist(store, task.blocklist).blocks if task.blocklist else None,
    )
    # Outside the failure boundary, because a missing model or engine is no fault of a record.
    require_engine(task.engine, step.recipe["extractors"])
    cached_recogniser(task.rules.language_model)
    found = _records(store, span, reader, tracker)
    with rare_collection():
        results = list(
            _judged(reader, found, tracker)
            if task.screen is None
            else _screened(store, reader, found, tracker)
        )
    measured = [result.measured for result in results if result.measured is not None]
    measurements = tables.measurement_rows(
        [each.row for each in measured],
        [*measured_columns(chosen), *LANGUAGE_MEASURES],
        [rule.name for rule in chosen],
    )
    decisions = decide(chosen, measured_rows(measurements))
    thresholds = column_thresholds(task.rules)
    if beside is not None and thresholds:
        offsets = [each.document.record.offset for each in results if each.measured and each.document]
        values = input_values(store, beside, np.array(offsets, np.int64), [each.name for each in thresholds])
        decisions = decisions.behind(COLUMNS_RULE, crossed(values, thresholds))
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
    counts.update(reader.counts)
    counts.update(edited_count(editor) for each in measured for editor in each.editors)
    signed = list(zip([each.signature for each in measured], decisions.keep, strict=True))
    output_tables = (
        tables.document_rows([result.document for result in results if result.document is not None]),
        measurements,
        tables.verdict_rows(verdicts),
        signature_table([row for row, keep in signed if row is not None and keep], task.permutations),
        signature_table([row for row, keep in signed if row is not None and not keep], task.permutations),
        *([] if task.screen is None else [_screened_rows(results)]),
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


def _screened_rows(results: Sequence["_RecordResult"]) -> pa.Table:
    rows = [
        {
            "id": each.verdict.id,
            "witness": each.witness.id,
            "kind": each.witness.kind,
            "similarity": each.witness.similarity,
            "witness_table": each.witness.table,
        }
        for each in results
        if each.verdict is not None and each.witness is not None
    ]
    return pa.Table.from_pylist(rows, schema=tables.SCREENED)


class _MeasuredDocument(NamedTuple):
    """What every later decision about a document follows from."""

    row: MeasurementRow
    editors: tuple[str, ...]
    signature: SignatureRow | None
    """None if no later decision can keep the document, because nobody wants its language."""


class _RecordResult(NamedTuple):
    """The result of one record: a verdict, or what it follows from."""

    payload_bytes: int
    verdict: Verdict | None = None
    document: Document | None = None
    text_bytes: int = 0
    measured: _MeasuredDocument | None = None
    witness: Witness | None = None
    """The known document that this one repeats, if it was left out for that."""


class _Unjudged(NamedTuple):
    """The document of a record, before it is judged."""

    offset: int
    """Of the record: the item that the tracker is at."""
    payload_bytes: int
    document: Document
    language: LanguagePrediction


class _RecordReader(NamedTuple):
    """Reads the records of a part."""

    file: str
    """Name of the archive file."""
    failures: set[str]
    """Reasons that were logged."""
    counts: Counter[str]
    """What was counted besides the records of each stage."""
    parameters: ProcessParameters
    measurer: Measurer
    precheck: LanguagePrecheck | None
    is_blocked: Callable[[str], bool] | None
    columns: RuleColumns

    def read(self, record: ArchivedRecord, before: RecordsBefore) -> _RecordResult | _Unjudged:
        """Return the document of a record, or its result if that is no matter of judging. Raise `Failure`."""
        with failure_boundary("record"):
            payload, reason = _payload_bytes(record), pageless_reason(record)
            if reason is None:
                # The same page, as its browser saw it, and with the facts of Common Crawl's index.
                record = index_facts.with_index_facts(with_dom(record, before.dom), before.facts_record)
                if self.is_blocked is not None and self.is_blocked(record.url):
                    reason = BLOCKED_REASON
        if reason is not None:
            verdict = _skip_verdict(self.parameters.source, record, reason, early=True)
            return _RecordResult(verdict=verdict, payload_bytes=payload)
        found = _extract(record, self.parameters, self.precheck)
        if isinstance(found, Verdict):
            return _RecordResult(verdict=found, payload_bytes=payload)
        count_normalised(self.counts, record, found)
        with failure_boundary("judge"):
            language = cached_recogniser(self.parameters.rules.language_model)(found.text)
            found = dataclasses.replace(
                with_screenshot(found, before.screenshot_of(record.record_id)), language=language.code
            )
            refusal = rights_of(found).refusal(self.parameters.obey)
            if refusal is None:
                return _Unjudged(record.offset, payload, found, language)
            if not found.license:
                found = dataclasses.replace(found, license=stated_license_url(found.text))
        with failure_boundary("sign"):
            text_bytes = tables.require_storable(found)
        verdict = Verdict(id=found.id, keep=False, rule=RIGHTS_RULE, reason=str(refusal), measurements={})
        return _RecordResult(verdict=verdict, payload_bytes=payload, document=found, text_bytes=text_bytes)

    def judge(self, unjudged: _Unjudged, signature: SignatureRow | None = None) -> _RecordResult:
        """Return the result of a document. `signature` is that of its text, if it is known. Raise `Failure`."""
        _, payload, found, language = unjudged
        with failure_boundary("judge"):
            measured = self.measurer.measure(
                analyzed(found, language, self.columns.of_record(found.record.offset))
            )
            if not found.license:
                found = dataclasses.replace(found, license=stated_license_url(found.text))
        with failure_boundary("sign"):
            text_bytes = tables.require_storable(found)
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
            if not measured.is_wanted:
                signature = None
            elif signature is None or measured.text != found.text:
                signature = sign_document(found, measured.text, payload, self.parameters.permutations)
        return _RecordResult(
            payload_bytes=payload,
            document=found,
            text_bytes=text_bytes,
            measured=_MeasuredDocument(row=row, editors=measured.editors, signature=signature),
        )

    def failed(self, identity: str, offset: int, payload_bytes: int, failure: Failure) -> _RecordResult:
        """Return the result of a record that makes our code fail: it loses only itself."""
        if failure.reason not in self.failures:
            LOGGER.warning("%s, record at byte %d: %s", self.file, offset, failure)
        self.failures.add(failure.reason)
        verdict = Verdict(id=identity, keep=False, rule="extract", reason=failure.reason, measurements={})
        return _RecordResult(verdict=verdict, payload_bytes=payload_bytes)


def _records(
    store: PartStore, span: Input, reader: _RecordReader, tracker: ItemTracker
) -> Iterator[_RecordResult | _Unjudged]:
    """Yield the document or the result of each record of a range that is a page or stands for one.

    A record that makes our code fail loses only itself.
    """
    source = reader.parameters.source
    before = RecordsBefore()
    tracker.start_item(span.first)
    for record in sealed_reading.sealed_records(store, span):
        tracker.start_item(record.offset)
        if record.type == "metadata":
            before.facts_record = record
        if record.type not in PAGE_TYPES:
            continue
        if record.offset in tracker.crashing_items:
            yield _RecordResult(
                verdict=_skip_verdict(source, record, CRASHED_REASON), payload_bytes=len(record.payload)
            )
        else:
            try:
                yield reader.read(record, before)
            except Failure as failure:
                identity = document_id(source, record.ref)
                yield reader.failed(identity, record.offset, len(record.payload), failure)
        before.pass_record(record)


def _judged(
    reader: _RecordReader, found: Iterable[_RecordResult | _Unjudged], tracker: ItemTracker
) -> Iterator[_RecordResult]:
    """Yield the result of each record: each document is judged before the next record is read."""
    for each in found:
        yield each if isinstance(each, _RecordResult) else _judge(reader, each, None, tracker)


def _screened(
    store: PartStore,
    reader: _RecordReader,
    found: Iterable[_RecordResult | _Unjudged],
    tracker: ItemTracker,
) -> Iterator[_RecordResult]:
    """Yield the result of each record: a document that the index of deduplication has is not judged."""
    task, read = reader.parameters, list(found)
    assert task.screen is not None
    signatures: dict[int, SignatureRow] = {}
    for at, each in enumerate(read):
        if isinstance(each, _Unjudged):
            tracker.start_item(each.offset)
            try:
                with failure_boundary("sign"):
                    tables.require_storable(each.document)
                    signatures[at] = sign_document(
                        each.document, each.document.text, each.payload_bytes, task.permutations
                    )
            except Failure as failure:
                read[at] = reader.failed(each.document.id, each.offset, each.payload_bytes, failure)
    witnesses = dict(
        zip(
            signatures,
            find_witnesses(store, task.screen, task.source, list(signatures.values())),
            strict=True,
        )
    )
    for at, each in enumerate(read):
        if isinstance(each, _RecordResult):
            yield each
        elif (witness := witnesses[at]) is not None:
            verdict = Verdict(
                id=each.document.id, keep=False, rule=SCREEN_RULE, reason=witness.kind, measurements={}
            )
            yield _RecordResult(
                payload_bytes=each.payload_bytes,
                verdict=verdict,
                document=each.document,
                text_bytes=signatures[at].text_bytes,
                witness=witness,
            )
        else:
            yield _judge(reader, each, signatures[at], tracker)


def _judge(
    reader: _RecordReader, each: _Unjudged, signature: SignatureRow | None, tracker: ItemTracker
) -> _RecordResult:
    tracker.start_item(each.offset)
    try:
        return reader.judge(each, signature)
    except Failure as failure:
        return reader.failed(each.document.id, each.offset, each.payload_bytes, failure)


def _payload_bytes(record: ArchivedRecord) -> int:
    """Return the payload bytes of a page, also of one that was dropped before the archive."""
    remains = dropped(record.payload) if record.type == DROPPED else None
    return len(record.payload) if remains is None else remains.length


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


def _skip_verdict(source: str, record: ArchivedRecord, reason: str, *, early: bool = False) -> Verdict:
    identity = document_id(source, record.ref)
    return Verdict(
        id=identity, keep=False, rule=EARLY_RULE if early else "extract", reason=reason, measurements={}
    )
