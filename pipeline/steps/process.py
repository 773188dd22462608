"""The process step: it reads archived records, and writes documents, verdicts and signatures.

A part is a range of records of one sealed WARC file. Its stages are fused: a record becomes a document or is skipped,
the document is judged, and a kept document is signed for deduplication, before the next record is read.
Every record that may hold a page, or stands for one (`storage.warc.records.PAGE_TYPES`), becomes exactly one row of the
verdicts, kept or with its reason. Therefore the numbers of archived, processed and reported records agree.
"""

import dataclasses
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np

from core import Document, Failure, InputError, Verdict, failure_boundary
from core.failure import FAILURE_PREFIX
from crawler.reading.rendered_page import DOM_CONTENT_TYPE, dom_id
from extract import Skip
from extract.mime import PLAIN
from extract.raw_text import declared_language, page_windows
from extract.record_document import EXTRACTORS, LanguagePrecheck, document_id, extract_document, rights_of
from filters.dedup.signature import SIGNATURE_VERSION, minhash, text_hash
from filters.judge import judge
from filters.rules.presets import measurement_names, preset_rules
from filters.rules.presets import preset_recipe as rules_recipe
from filters.text import Rule
from pipeline.configuration import FiltersConfig
from pipeline.engine import quarantine
from pipeline.engine.part_store import PartStore
from pipeline.engine.step import Part, Step
from pipeline.engine.task import ItemTracker, PartOutputs
from pipeline.steps import blocklist
from pipeline.steps.language_precheck import cached_recogniser, is_other_language
from storage import sealed_reading, tables
from storage.commoncrawl import index_facts
from storage.manifest import Input, Manifest, Output, manifest_name, manifests
from storage.store import Store
from storage.warc.cdxj import read as read_cdxj
from storage.warc.dropped import DROPPED
from storage.warc.dropped import decode as dropped
from storage.warc.records import DAMAGED, PAGE_TYPES, ArchivedRecord
from storage.warc.revisit import REVISIT

LOGGER = logging.getLogger(__name__)
NAME = "process"
VERSION = 6
RECORDS_PER_PART = 1000
TABLES = ("documents", "verdicts", "signatures")
"""The tables of a part. Each lies in a folder of that name."""
RIGHTS_RULE = "rights"
"""Name in place of a rule if a page asks not to be used."""
CRASHED_REASON = "crashed"
"""Reason of a record that crashes the process that reads it."""
EARLY_RULE = "early"
"""Name in place of a rule if nothing had to be extracted to decide."""
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


def step(filters: FiltersConfig, blocklist_name: str = "") -> Step:
    """Return the step that this configuration and the installed extractors define.

    `blocklist_name` is the name of the blocklist in the storage.
    """
    recipe = {
        "extractors": list(EXTRACTORS),
        "format": filters.format,
        "filters": rules_recipe(filters.preset, filters.languages, filters.rules),
        "signature": SIGNATURE_VERSION,
        "obey": list(filters.obey),
        "blocklist": blocklist_name,
    }
    return Step(name=NAME, version=VERSION, recipe=recipe)


def rule_names(recipe: Mapping[str, Any]) -> list[str]:
    """Return the names of the rules in a recipe of this step, in their order."""
    return [str(rule["rule"]) for rule in recipe["filters"]["rules"]]


class ProcessParameters(NamedTuple):
    """Parameters of a worker besides its inputs."""

    source: str
    preset: str
    languages: tuple[str, ...]
    rules: tuple[str, ...]
    """Names of users' own rules."""
    obey: tuple[str, ...]
    markdown: bool
    links: bool
    blocklist: str


class _SignatureRow(NamedTuple):
    """The row of a kept document in the signatures."""

    id: str
    url: str
    text_hash: bytes
    text_bytes: int
    payload_bytes: int
    fetched_at_ms: int
    minhash: np.ndarray[Any, np.dtype[np.uint32]]


def parts(store: Store, source: str, filters: FiltersConfig, blocklist_name: str = "") -> Iterator[Part]:
    """Yield the parts of everything that a source has sealed.

    A sealed file never changes, so its parts are the same at any time.
    """
    for manifest in manifests(store, "archive", source):
        yield from parts_of(store, manifest, filters, blocklist_name)


def parts_of(
    store: Store, archive: Manifest, filters: FiltersConfig, blocklist_name: str = ""
) -> Iterator[Part]:
    """Yield the parts of one sealed archive file: ranges of `RECORDS_PER_PART` responses, from its index."""
    source, _, stem = archive.part.partition("/")
    warc, index = archive_outputs(archive.outputs)
    with store.open(index.name) as file:
        rows = read_cdxj(file, name=index.name)
        ends = sorted(row.offset + row.length for row in rows if row.filename == warc.name)
    # Parts start after a response, because the DOM of a page lies before its response and belongs to the same part.
    starts = [0, *(end for end in ends[RECORDS_PER_PART - 1 :: RECORDS_PER_PART] if end != ends[-1])]
    for first, end in pairwise([*starts, warc.bytes]):
        name = f"{source}/part-{stem}-{first:012d}"
        yield Part(
            name=name,
            reads=(blocklist_name,) if blocklist_name else (),
            writes=tuple(f"{table}/{name}.parquet" for table in TABLES),
            inputs=(Input(name=warc.name, sha256=warc.sha256, first=first, end=end),),
            parameters=ProcessParameters(
                source=source,
                preset=filters.preset,
                languages=filters.languages,
                rules=filters.rules,
                obey=filters.obey,
                markdown=filters.format != "text",
                links=filters.format == "markdown+links",
                blocklist=blocklist_name,
            ),
        )


def require_processed(store: Store, sources: Iterable[str], filters: FiltersConfig) -> None:
    """Raise `InputError` if a sealed part of a source is not processed, so that no part is left out silently."""
    for source in sources:
        done = set(store.list(f"manifests/{NAME}/{source}/"))
        every = [part.name for part in parts(store, source, filters)]
        missing = sum(manifest_name(NAME, name) not in done for name in every)
        if missing:
            aside = next(quarantine.marks(store, NAME, source), None)
            remedy = (
                f"run `thresher process {source}` first"
                if aside is None
                else f"{aside.part} is in quarantine ({aside.reason}): run `thresher process {source} --retry`"
            )
            raise InputError(f"{source}: {missing} of {len(every)} parts are not processed; {remedy}")


def delete_results(store: Store, source: str) -> None:
    """Delete the results of the step for a source, seals first, because no half-deleted result may seem complete."""
    for kind in ("manifests/process", "signatures", "verdicts", "documents", "quarantine/process"):
        for name in list(store.list(f"{kind}/{source}/")):
            store.delete(name)


def archive_outputs(outputs: tuple[Output, ...]) -> tuple[Output, Output]:
    """Return the WARC file and its index from the outputs of an archive part."""
    index = next(output for output in outputs if output.name.endswith(".cdxj.gz"))
    warc = next(output for output in outputs if output is not index)
    return warc, index


def work(store: PartStore, _: Step, part: Part, tracker: ItemTracker) -> PartOutputs:
    """Make the three tables of one part."""
    (span,) = part.inputs
    task: ProcessParameters = part.parameters
    chosen = _rules(task.preset, task.languages, task.rules)
    reader = _RecordReader(
        parameters=task,
        rules=chosen,
        precheck=partial(language_precheck, task.languages) if task.languages else None,
        is_blocked=blocklist.load_blocklist(store, task.blocklist).blocks if task.blocklist else None,
    )
    cached_recogniser()  # outside the failure boundary, because a missing model is no fault of a record
    results = list(_records(store, span, reader, tracker))
    counts: Counter[str] = Counter()
    for result in results:
        counts.update(
            stage_counts(
                funnel_stage(result.verdict),
                documents=1,
                payload=result.payload_bytes,
                text=result.text_bytes,
            )
        )
    documents = [result.document for result in results if result.document is not None]
    verdicts = [result.verdict for result in results]
    signatures = [result.signature for result in results if result.signature is not None]
    output_tables = (
        tables.document_rows(documents),
        tables.verdict_rows(verdicts, measurement_names(chosen)),
        tables.signature_rows(
            ids=[signature.id for signature in signatures],
            urls=[signature.url for signature in signatures],
            text_hashes=[signature.text_hash for signature in signatures],
            text_bytes=[signature.text_bytes for signature in signatures],
            payload_bytes=[signature.payload_bytes for signature in signatures],
            fetched_at_ms=[signature.fetched_at_ms for signature in signatures],
            minhashes=np.array([signature.minhash for signature in signatures], dtype=np.uint32),
        ),
    )
    outputs = tuple(
        store.write(output, table.num_rows, partial(tables.write, table=table))
        for output, table in zip(part.writes, output_tables, strict=True)
    )
    return PartOutputs(counts=dict(counts), outputs=outputs)


class _RecordResult(NamedTuple):
    """The result of one record."""

    verdict: Verdict
    payload_bytes: int
    document: Document | None = None
    text_bytes: int = 0
    signature: _SignatureRow | None = None


class _RecordReader(NamedTuple):
    """Reads the records of a part."""

    parameters: ProcessParameters
    rules: tuple[Rule, ...]
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
        found, verdict = _extract_and_judge(record, self.parameters, self.precheck, self.rules)
        if found is None:
            return _RecordResult(verdict=verdict, payload_bytes=payload)
        with failure_boundary("sign"):
            text_bytes = tables.require_storable(found)
            signed = _sign(found, payload) if verdict.keep else None
        return _RecordResult(
            verdict=verdict, payload_bytes=payload, document=found, text_bytes=text_bytes, signature=signed
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


def funnel_stage(verdict: Verdict) -> str:
    """Return the stage that decided a record: `keep`, or `rule/reason`."""
    return "keep" if verdict.keep else f"{verdict.rule}/{verdict.reason}"


def stage_counts(stage: str, *, documents: int, payload: int, text: int) -> dict[str, int]:
    """Return the counts of one record, under the names that the report adds up."""
    return {f"{stage}.documents": documents, f"{stage}.payload_bytes": payload, f"{stage}.text_bytes": text}


def _sign(found: Document, payload_bytes: int) -> _SignatureRow:
    return _SignatureRow(
        id=found.id,
        url=found.url,
        text_hash=text_hash(found.text),
        text_bytes=len(found.text.encode()),
        payload_bytes=payload_bytes,
        fetched_at_ms=found.fetched_at_ms,
        minhash=minhash(found.text),
    )


@cache
def _rules(preset: str, languages: tuple[str, ...], own: tuple[str, ...]) -> tuple[Rule, ...]:
    return preset_rules(preset, languages, own)


def _extract_and_judge(
    record: ArchivedRecord,
    task: ProcessParameters,
    precheck: LanguagePrecheck | None,
    chosen: tuple[Rule, ...],
) -> tuple[Document | None, Verdict]:
    with failure_boundary("extract"):
        if record.type == DROPPED and (remains := dropped(record.payload)) is not None:
            identity = document_id(task.source, record.ref)
            return None, Verdict(
                id=identity, keep=False, rule="archive", reason=remains.reason, measurements={}
            )
        problem = record.problem or ""
        found = (
            Skip(reason=problem)
            if problem.startswith(FAILURE_PREFIX)
            else Skip(reason=record.type, is_early=True)
            if record.type in PAGELESS_TYPES
            else extract_document(
                record, task.source, language_precheck=precheck, markdown=task.markdown, links=task.links
            )
        )
    if isinstance(found, Skip):
        return None, _skip_verdict(task.source, record, found.reason, early=found.is_early)
    with failure_boundary("judge"):
        language = cached_recogniser()(found.text)
        found = dataclasses.replace(found, language=language.code)
        if (reason := rights_of(found).refusal(task.obey)) is not None:
            return found, Verdict(id=found.id, keep=False, rule=RIGHTS_RULE, reason=reason, measurements={})
        return found, judge(found, language, chosen)


def language_precheck(wanted: tuple[str, ...], html: str) -> str | None:
    """Return why a page can be dropped before its extraction, or None.

    A page that declares a wanted language is not checked: if the declaration is wrong, the filters see it in the text.
    """
    if declared_language(html) in wanted:
        return None
    return "other_language" if is_other_language(page_windows(html), wanted) else None


def _skip_verdict(source: str, record: ArchivedRecord, reason: str, *, early: bool = False) -> Verdict:
    identity = document_id(source, record.ref)
    return Verdict(
        id=identity, keep=False, rule=EARLY_RULE if early else "extract", reason=reason, measurements={}
    )
