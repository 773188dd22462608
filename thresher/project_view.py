"""`ProjectView`: what a project holds. Nothing in it changes the project."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from thresher.pipeline import recipe
from thresher.pipeline.commands.options import require_sources
from thresher.pipeline.duplicates.stored_minhashes import StoredSignature, stored_signatures
from thresher.pipeline.funnel import Funnel
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.reports import report
from thresher.pipeline.reports.chosen_report import ReportOptions, make_duplicate_report, make_report
from thresher.pipeline.reports.dropped_documents import EXAMPLES, dropped_documents
from thresher.pipeline.reports.kept_documents import exported_documents, kept_documents
from thresher.pipeline.steps.annotations.annotation_tables import annotation_names
from thresher.pipeline.steps.verdicts.verdict_sets import set_names
from thresher.shards.formats.plain_values import plain_rows

BATCH_ROWS = 1024
"""Rows of a record batch at most."""


class ProjectView:
    """The methods of `Project` that read: documents, signatures, reports."""

    def __init__(self, directory: str | Path = ".") -> None:
        """Open the project of a directory. Raise `InputError` if there is none, or if its `thresher.toml` is wrong."""
        self._opened = OpenProject.at(Path(directory))

    @property
    def directory(self) -> Path:
        """The directory that holds `thresher.toml`, as an absolute path."""
        return self._opened.directory

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the crawls and ingests that have something archived, sorted."""
        return self._opened.sources(())

    @property
    def annotations(self) -> tuple[str, ...]:
        """Names of the annotations that `annotate` made, sorted."""
        return annotation_names(self._opened.store)

    @property
    def verdict_sets(self) -> tuple[str, ...]:
        """Names of the sets of verdicts that `judge` made, sorted."""
        return tuple(sorted(set_names(self._opened.store)))

    def documents(
        self, *names: str, columns: Iterable[str] = (), verdicts: str = "", duplicates: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Yield each document that an export of these sources holds, of all if none is named: without duplicates, with
        its text as the rules edited it and as it was cut. With `duplicates`, yield what the filters keep, before
        deduplication.

        The keys are the columns of the table `documents` (docs/reference/files.md), `url`, `title`, `text` and
        `language` among them, and the `columns` that you name (docs/guides/exports.md). `verdicts` names a set of
        verdicts in place of those of `process`. At most one part, some thousand documents, is in memory at a time.
        Raise `InputError` if `dedup` does not cover the sources.
        """
        for batch in self.document_batches(*names, columns=columns, verdicts=verdicts, duplicates=duplicates):
            yield from plain_rows(pa.Table.from_batches([batch]))

    def document_batches(
        self, *names: str, columns: Iterable[str] = (), verdicts: str = "", duplicates: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """Yield the same documents as Arrow record batches, all of one schema."""
        opened, chosen = self._opened, require_sources(self._opened, list(names))
        if duplicates:
            found = kept_documents(opened.store, chosen, columns, verdicts)
        else:
            removed, cut = recipe.deduplicated(opened, chosen, verdicts)
            found = exported_documents(opened.store, chosen, removed, cut, columns, verdicts)
        return (batch for table in found for batch in table.to_batches(BATCH_ROWS))

    def signatures(self, *names: str, verdicts: str = "") -> Iterator[StoredSignature]:
        """Yield the signature of each document that the filters keep, of these sources, of all if none is named.
        `verdicts` names a set of verdicts in place of those of `process`.

        A signature has `id`, `url`, `source`, `text_hash` and `minhash`, an array of `uint32`.
        `thresher.to_datasketch(signature.minhash)` opens it as datasketch's `MinHash`, or as `LeanMinHash` with
        `lean=True`. At most one part is in memory at a time.
        """
        chosen = require_sources(self._opened, list(names))
        return stored_signatures(self._opened.store, chosen, self._opened.config.dedup.permutations, verdicts)

    def funnel(self, *names: str, verdicts: str = "") -> Funnel:
        """Return where every record of these sources went, of all if none is named. `verdicts` names a set of verdicts
        in place of those of `process`.

        `records` is how many entered; `stages` are in the order of the filters, each with `name`, `documents`,
        `payload_bytes` and `text_bytes`; `kept` is the last of them. The documents of all stages add up to `records`.
        """
        return report.funnel_of(self._opened, require_sources(self._opened, list(names)), verdicts)

    def report(
        self,
        *names: str,
        plot: str | Path | None = None,
        by: str | Iterable[str] = (),
        rules: bool = False,
        histograms: str | Path | None = None,
        verdicts: str = "",
        by_domain: bool = False,
    ) -> dict[str, Any]:
        """Return what `thresher report --json` prints of these sources, of all if none is named: the keys of the
        funnel, `flags`, `cost`, and `scan` if all measurements are read.

        They are read for `by`, columns that documents are counted by (`language`, `source`, `domain`, or a column of
        inputs or annotations), for `rules` (what only one rule drops), for `histograms`, a picture of each measurement
        to draw, and for a `plot` whose name ends with `.html`: the whole report as a page. Any other `plot` is a
        picture of the funnel (PNG, SVG, PDF). `by_domain` adds the cost of the 20 largest domains of each crawl.
        `verdicts` names a set of verdicts in place of those of `process`.
        """
        options = ReportOptions(
            plot=None if plot is None else Path(plot),
            by=(by,) if isinstance(by, str) else tuple(dict.fromkeys(by)),
            rules=rules,
            histograms=None if histograms is None else Path(histograms),
            verdict_set=verdicts,
            by_domain=by_domain,
        )
        return make_report(self._opened, require_sources(self._opened, list(names)), options).to_dict()

    def report_dropped(
        self, dropped: str, *names: str, sample: int = EXAMPLES, verdicts: str = ""
    ) -> list[dict[str, Any]]:
        """Return `sample` documents that `dropped`, a rule or `rule/reason`, dropped, the same in every call: with
        `url`, `rule`, `reason`, `value`, `threshold`, `excerpt` and the other keys of `thresher report --dropped`.
        """
        sources = require_sources(self._opened, list(names))
        found = dropped_documents(self._opened.store, sources, dropped, sample, verdicts)
        return [asdict(each) for each in found]

    def report_duplicates(
        self, *names: str, plot: str | Path | None = None, verdicts: str = ""
    ) -> dict[str, Any]:
        """Return what `thresher report --duplicates --json` prints: the largest clusters, the domains that have most
        duplicates, and which source repeats which. `plot` is a picture of the last to draw.
        """
        sources = require_sources(self._opened, list(names))
        path = None if plot is None else Path(plot)
        return make_duplicate_report(self._opened, sources, path, verdicts).to_dict()

    def __repr__(self) -> str:
        return f"<Project at {self.directory}>"
