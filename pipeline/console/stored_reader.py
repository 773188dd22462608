"""`StoredReader`: what the console shows of a project's storage and catalog. Every method reads disk or network: call
it in a thread.
"""

import json
import shutil
import threading
import time
from collections import Counter
from functools import lru_cache

from thresher.core import InputError
from thresher.pipeline.console.models.storage_models import (
    DomainYield,
    ExportView,
    FunnelStage,
    FunnelView,
    ManifestLine,
    ManifestPage,
    ManifestView,
    MixSource,
    ObjectView,
    RunPage,
    RunView,
    SourceSizes,
    StorageView,
    YieldView,
)
from thresher.pipeline.crawls.yields import part_domains
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.reports.report import funnel_of
from thresher.pipeline.steps.process import NAME as PROCESS
from thresher.pipeline.steps.process import TABLES
from thresher.storage.catalog import Cost, Run, sums
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import Input, Output, load_manifest

REFRESH_S = 10.0
"""Seconds for which a page does not look for new Manifests; longer if a refresh takes long."""
REFRESH_SHARE = 100
"""A refresh that took t seconds is not repeated for so many times t."""
YIELD_PARTS = 50
"""Parts from which the yield by domain is counted: the newest, some 50,000 documents."""
YIELD_DOMAINS = 200
MAX_EXPORTS = 20
PAGE = 50
MAX_OBJECTS = 200
MAX_RECIPE = 64 << 10


class StoredReader:
    """The storage and the catalog of one project."""

    def __init__(self, project: OpenProject) -> None:
        self._project, self.store = project, project.store
        self._lock = threading.Lock()
        self._fresh_until = 0.0
        self._part_yield = lru_cache(maxsize=1024)(self._read_part_yield)

    def refresh(self) -> None:
        """Bring the catalog up to date, unless that was done just now."""
        with self._lock:
            if time.monotonic() < self._fresh_until:
                return
            started = time.monotonic()
            self._project.refresh_catalog()
            took = time.monotonic() - started
            self._fresh_until = time.monotonic() + max(REFRESH_S, took * REFRESH_SHARE)

    def storage(self) -> StorageView:
        """Return what is stored."""
        self.refresh()
        catalog = self._project.catalog
        sizes = catalog.query(sums.step_sizes)
        by_source = {
            source.name: SourceSizes(
                name=source.name,
                kind=source.kind,
                archive_files=source.files,
                archive_bytes=source.bytes,
                responses=source.responses,
                document_bytes=sum(
                    size.bytes for size in sizes if size.step == PROCESS and size.source == source.name
                ),
                **self._progress(source.name),
            )
            for source in catalog.sources()
        }
        disk = shutil.disk_usage(self.store.root) if isinstance(self.store, DirectoryStore) else None
        return StorageView(
            uri=self.store.uri,
            damage=list(self._project.damage),
            free_bytes=disk.free if disk else None,
            total_bytes=disk.total if disk else None,
            stored_bytes=sum(size.bytes for size in sizes),
            sources=list(by_source.values()),
        )

    def funnel(self, source: str) -> FunnelView:
        """Return the funnel of one source."""
        found = funnel_of(self._project, (source,))
        total = found.records
        return FunnelView(
            records=total,
            tokenizer=found.tokenizer,
            stages=[
                FunnelStage(
                    name=stage.name,
                    records=stage.documents,
                    share=stage.documents / total if total else 0.0,
                    payload_bytes=stage.payload_bytes,
                    text_bytes=stage.text_bytes,
                    tokens=stage.tokens,
                    tokens_are_estimated=stage.tokens_estimated,
                )
                for stage in found.stages
            ],
        )

    def yields(self, source: str) -> YieldView:
        """Return the yield by domain of the newest parts: how many documents the filters keep."""
        self.refresh()
        catalog = self._project.catalog
        parts = catalog.query(sums.newest_parts, PROCESS, source, YIELD_PARTS)
        counts: Counter[tuple[str, bool]] = Counter()
        for part in parts:
            counts.update(dict(self._part_yield(part.manifest, part.stamp)))
        documents: Counter[str] = Counter()
        for (domain, _), number in counts.items():
            documents[domain] += number
        every = [
            size for size in catalog.query(sums.step_sizes) if (size.step, size.source) == (PROCESS, source)
        ]
        return YieldView(
            parts=len(parts),
            all_parts=sum(size.parts for size in every),
            domains=[
                DomainYield(domain=domain, documents=number, kept=counts[domain, True])
                for domain, number in documents.most_common(YIELD_DOMAINS)
            ],
        )

    def exports(self) -> list[ExportView]:
        """Return some of the finished exports that are recorded in the project."""
        self.refresh()
        found = self._project.catalog.query(sums.parts_after, {"step": "export"}, "", MAX_EXPORTS)
        return [self._export(part.manifest) for part in found]

    def exports_of(self, part: str) -> list[str]:
        """Return the ids of exports that were made from a part of the process step."""
        self.refresh()
        names = {f"{kind}/{part}" for kind in TABLES}
        found = self._project.catalog.query(sums.parts_after, {"step": "export"}, "", MAX_EXPORTS)
        return [
            each.source
            for each in found
            if any(
                span.name.removesuffix(".parquet") in names
                for span in load_manifest(self.store, each.manifest).inputs
            )
        ]

    def runs(self, step: str = "", before: str = "") -> RunPage:
        """Return runs, the newest first; `before` is the cursor of the page before."""
        self.refresh()
        found = self._project.catalog.query(sums.newest_runs, step, before, PAGE + 1)
        shown = [_run(run, cost) for run, cost in found[:PAGE]]
        return RunPage(runs=shown, cursor=shown[-1].name if len(found) > PAGE else "")

    def manifests(self, step: str = "", source: str = "", after: str = "") -> ManifestPage:
        """Return sealed parts in the order of their names; `after` is the cursor of the page before."""
        self.refresh()
        keys = {"step": step, "source": source}
        found = self._project.catalog.query(sums.parts_after, keys, after, PAGE + 1)
        lines = [
            ManifestLine(
                manifest=part.manifest,
                step=part.step,
                part=part.part,
                source=part.source,
                bytes=part.bytes,
                rows=part.rows,
            )
            for part in found[:PAGE]
        ]
        return ManifestPage(manifests=lines, cursor=lines[-1].manifest if len(found) > PAGE else "")

    def manifest(self, name: str) -> ManifestView:
        """Return one Manifest. Raise `InputError` if the catalog has none of that name: a name from outside never
        becomes a path.
        """
        self.refresh()
        if not self._project.catalog.query(sums.is_manifest, name):
            raise InputError(f"{name[:200]!r}: there is no Manifest of this name")
        found = load_manifest(self.store, name)
        recipe = json.dumps(found.recipe, indent=2, sort_keys=True, ensure_ascii=False, default=str)
        return ManifestView(
            name=name,
            step=found.step,
            part=found.part,
            fingerprint=found.fingerprint,
            recipe=recipe[:MAX_RECIPE],
            counts=dict(found.counts),
            inputs=[_object(each) for each in found.inputs[:MAX_OBJECTS]],
            outputs=[_object(each) for each in found.outputs[:MAX_OBJECTS]],
        )

    def has_archive_file(self, name: str) -> bool:
        """Return whether `name` is that of a sealed archive file."""
        self.refresh()
        return bool(self._project.catalog.query(sums.is_archive_file, name))

    def _progress(self, source: str) -> dict[str, int]:
        totals = self._project.catalog.totals(PROCESS, source)
        processed = sum(count for key, count in totals.items() if key.endswith(".documents"))
        return {"processed": processed, "kept": totals.get("keep.documents", 0)}

    def _read_part_yield(self, manifest: str, _stamp: str) -> tuple[tuple[tuple[str, bool], int], ...]:
        return tuple(Counter(part_domains(self.store, load_manifest(self.store, manifest))).items())

    def _export(self, name: str) -> ExportView:
        found = load_manifest(self.store, name)
        recipe = json.loads(json.dumps(found.recipe, default=str))
        mix = recipe.get("mix") or {}
        return ExportView(
            id=found.part.partition("/")[0],
            documents=found.counts.get("documents", 0),
            tokens=found.counts.get("tokens"),
            text_bytes=found.counts.get("text_bytes"),
            tokenizer=str((recipe.get("tokenizer") or {}).get("name", "")),
            formats=[str(each) for each in recipe.get("formats", [])],
            sources=[str(each) for each in recipe.get("sources", [])],
            mix=[
                MixSource(name=str(each.get("name", "")), share=each.get("share"))
                for each in mix.get("source", [])
            ],
        )


def _run(run: Run, cost: Cost) -> RunView:
    return RunView(
        name=run.name,
        step=run.step,
        version=run.version,
        started_at=run.started_ms,
        ended_at=run.ended_ms,
        host=run.host,
        engine=run.engine,
        sources=list(run.sources),
        outcome=run.outcome,
        message=run.message,
        cpu_s=cost.cpu_s,
        wall_s=cost.wall_s,
        bytes_read=cost.bytes_read,
        bytes_written=cost.bytes_written,
        peak_rss=cost.peak_rss,
        made=cost.made,
        already=cost.already,
        redone=cost.redone,
        quarantined=cost.quarantined,
    )


def _object(each: Input | Output) -> ObjectView:
    if isinstance(each, Output):
        return ObjectView(name=each.name, sha256=each.sha256, bytes=each.bytes, rows=each.rows)
    return ObjectView(name=each.name, sha256=each.sha256, bytes=None, rows=None)
