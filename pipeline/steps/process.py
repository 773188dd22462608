"""The process step: it reads archived records, and writes documents, measurements, verdicts and signatures.

A part is a range of records of one sealed WARC file. Its stages are fused: a record becomes a document or is skipped,
the document is measured by all rules and signed for deduplication, before the next record is read. The verdicts follow
from the measurements alone, so `judge` can make others of the same tables without reading a text.
Every record that may hold a page, or stands for one (`storage.warc.records.PAGE_TYPES`), becomes exactly one row of the
verdicts, kept or with its reason. Therefore the numbers of archived, processed and reported records agree.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from thresher.core import InputError
from thresher.crawler.reading.rendered_page import pictured_page
from thresher.pipeline.configuration import FiltersConfig
from thresher.pipeline.engine import quarantine
from thresher.pipeline.engine.part_store import PartStore
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.engine.task import ItemTracker, PartOutputs
from thresher.pipeline.steps.records.process_parameters import ProcessParameters
from thresher.pipeline.steps.records.rule_set import (
    COLUMNS_PREFIX,
    named_columns,
    rule_set,
    rules_of,
    rules_recipe,
)
from thresher.pipeline.steps.records.stored_signals import file_names, preparation
from thresher.storage.archive.open_files import archive_outputs
from thresher.storage.columns.kept_names import kept_table_name
from thresher.storage.in_place.placed_file import placed_file
from thresher.storage.manifest import Input, Manifest, manifest_name, manifests
from thresher.storage.store import Store
from thresher.storage.warc.cdxj import read as read_cdxj

NAME = "process"
VERSION = 12
RECORDS_PER_PART = 1000
PERMUTATIONS = 112
"""Numbers of a MinHash if the configuration does not say otherwise (`filters.dedup.signature.PERMUTATIONS`)."""
TABLES = ("documents", "measurements", "verdicts", "signatures", "dropped_signatures")
"""The tables of a part. Each lies in a folder of that name."""
SCREENED = "screened"
"""Folder of the table that a screened part has besides."""


def step(filters: FiltersConfig, blocklist_name: str = "", *, permutations: int = PERMUTATIONS) -> Step:
    """Return the step that this configuration and the installed extractors define.

    `blocklist_name` is the name of the blocklist in the storage. Signatures have `permutations` numbers. Raise
    `InputError` if the engine is not installed.
    """
    from thresher.filters.dedup.dedup_versions import signature_version

    recipe = {
        **reading_recipe(filters, blocklist_name),
        "filters": rules_recipe(rule_set(filters)),
        "signature": signature_version(permutations),
    }
    return Step(name=NAME, version=VERSION, recipe=recipe)


def reading_recipe(filters: FiltersConfig, blocklist_name: str = "") -> dict[str, Any]:
    """Return what decides which records are read, and into which text. Raise `InputError` as `step`."""
    from thresher.extract.engines.page_engine import engine_version
    from thresher.extract.record_document import EXTRACTORS

    engine = [] if filters.engine == "thresher" else [engine_version(filters.engine)]
    return {
        "extractors": [*engine, *EXTRACTORS],
        "format": filters.format,
        "obey": list(filters.obey),
        "blocklist": blocklist_name,
    }


def parts(
    store: Store,
    source: str,
    filters: FiltersConfig,
    blocklist_name: str = "",
    *,
    permutations: int = PERMUTATIONS,
) -> Iterator[Part]:
    """Yield the parts of everything that a source has sealed.

    A sealed file never changes, so its parts are the same at any time.
    """
    for manifest in manifests(store, "archive", source):
        yield from parts_of(store, manifest, filters, blocklist_name, permutations=permutations)


def parts_of(
    store: Store,
    archive: Manifest,
    filters: FiltersConfig,
    blocklist_name: str = "",
    *,
    permutations: int = PERMUTATIONS,
) -> Iterator[Part]:
    """Yield the parts of one sealed archive file: ranges of `RECORDS_PER_PART` responses, from its index."""
    source, _, stem = archive.part.partition("/")
    warc, index = archive_outputs(archive.outputs)
    with store.open(index.name) as file:
        rows = read_cdxj(file, name=index.name)
        ends = sorted(
            (row.offset + row.length, pictured_page(row.url)) for row in rows if row.filename == warc.name
        )
    beside = [
        Input(name=output.name, sha256=output.sha256)
        for output in archive.outputs
        if output.name == kept_table_name(archive.part) and wants_columns(filters)
    ]
    # Parts start after a response, because screenshots and the DOM of a page lie before its response and belong to the
    # same part.
    starts = [0]
    for at in range(RECORDS_PER_PART - 1, len(ends), RECORDS_PER_PART):
        end = next((end for end, picture in ends[at:] if not picture), ends[-1][0])
        if starts[-1] < end < ends[-1][0]:
            starts.append(end)
    for first, end in pairwise([*starts, warc.bytes]):
        name = f"{source}/part-{stem}-{first:012d}"
        yield Part(
            name=name,
            reads=(*([blocklist_name] if blocklist_name else []), *file_names(filters.signals)),
            preparation=preparation(filters.signals),
            writes=tuple(f"{table}/{name}.parquet" for table in TABLES),
            inputs=(Input(name=warc.name, sha256=warc.sha256, first=first, end=end), *beside),
            parameters=ProcessParameters(
                source=source,
                rules=rule_set(filters),
                obey=filters.obey,
                markdown=filters.format != "text",
                links=filters.format == "markdown+links",
                engine=filters.engine,
                blocklist=blocklist_name,
                permutations=permutations,
            ),
        )


def wants_columns(filters: FiltersConfig) -> bool:
    """Return whether a threshold or a rule needs the columns that came with the documents."""
    if any(key.startswith(COLUMNS_PREFIX) for key in filters.thresholds):
        return True
    return bool(filters.rules) and any(named_columns(rule) for rule in rules_of(rule_set(filters)))


def require_processed(store: Store, sources: Iterable[str], filters: FiltersConfig) -> None:
    """Raise `InputError` if a sealed part of a source is not processed, so that no part is left out silently."""
    from thresher.pipeline.steps.records.screened_parts import stale_parts

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
        stale = stale_parts(store, [source])
        if stale:
            raise InputError(
                f"{source}: {len(stale)} parts were screened for documents whose results are gone; "
                f"run `thresher process {source}`, which makes them again without screening"
            )


def delete_all_results(store: Store, sources: Sequence[str]) -> None:
    """Delete the results of the step for some sources, which are to be made again. Raise `ChangedInPlace`, and delete
    nothing, if a file that was ingested in place is not as it was: its results could not be made again.
    """
    for source in sources:
        for archive in manifests(store, "archive", source):
            warc, _ = archive_outputs(archive.outputs)
            if (placed := placed_file(store, warc.name)) is not None:
                placed.stamp()
    for source in sources:
        delete_results(store, source)


def delete_results(store: Store, source: str) -> None:
    """Delete the results of the step for a source, seals first, because no half-deleted result may seem complete."""
    for kind in (f"manifests/{NAME}", SCREENED, *reversed(TABLES), f"quarantine/{NAME}"):
        for name in list(store.list(f"{kind}/{source}/")):
            store.delete(name)


def work(store: PartStore, step: Step, part: Part, tracker: ItemTracker) -> PartOutputs:
    """Make the tables of one part."""
    from thresher.pipeline.steps.records.process_records import make_tables

    return make_tables(store, step, part, tracker)
