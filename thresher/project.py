"""`Project`: a project directory, and the work of the commands as methods.

Each method calls what the command of the same name calls, so a project may be worked on by both in turn.
"""

import asyncio
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from thresher.core import InputError
from thresher.crawler.spiders import SpiderSpec
from thresher.frontier.urls.scope import ScopeKind
from thresher.pipeline import new_project, recipe
from thresher.pipeline.commands.options import check_name, require_sources
from thresher.pipeline.crawls import seed_files
from thresher.pipeline.crawls.seed import SeedPlan, SeedSummary, add_seeds, seed_file
from thresher.pipeline.duplicates.stored_minhashes import StoredSignature, stored_signatures
from thresher.pipeline.engine.run_step import StepSummary
from thresher.pipeline.fleet.crawl_call import CrawlLimits
from thresher.pipeline.fleet.crawl_command import crawl
from thresher.pipeline.fleet.crawl_summary import CrawlSummary
from thresher.pipeline.funnel import REMOVAL_KINDS, Funnel
from thresher.pipeline.inputs.ingest import IngestOptions, IngestSummary, ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.reports import report
from thresher.pipeline.reports.kept_documents import exported_documents, kept_documents
from thresher.pipeline.reports.mix_plot import check_plot, draw_mix
from thresher.pipeline.steps import process
from thresher.pipeline.steps.annotations.annotate_options import AnnotateOptions, chosen_sources
from thresher.pipeline.steps.annotations.annotate_step import BATCH, Documents
from thresher.pipeline.steps.annotations.annotation_tables import AnnotateSummary, annotation_names
from thresher.pipeline.steps.options.export_options import check_texts, chosen_options
from thresher.pipeline.steps.records import signal_files
from thresher.pipeline.steps.records.rule_probe import require_confinable
from thresher.pipeline.steps.records.rule_set import rule_set, rules_of, with_choices
from thresher.pipeline.steps.verdicts.verdict_sets import check_set_name, delete_set, set_names
from thresher.pipeline.terminal.progress import stderr_progress
from thresher.shards import Dataset
from thresher.shards.formats.plain_values import plain_rows
from thresher.shards.formats.shard_rows import IdType
from thresher.shards.held_out_split import HeldOutBy, Split
from thresher.shards.packer import Packings
from thresher.shards.special_tokens import SpecialTokens
from thresher.shards.tokenizer import chosen_tokenizer
from thresher.storage.inputs.table_files.columns import Columns

BATCH_ROWS = 1024
"""Rows of a record batch at most."""


class Project:
    """A directory with a `thresher.toml`, and the work that is done on it.

    Progress and warnings go to stderr, as with the commands. Every method may be killed and called again: it goes on
    where it was. Worker processes import the modules that they need; they do not run the script that calls a method.
    `seed` and `crawl` run an event loop of their own: in a notebook, which has one already, type `!thresher crawl`
    instead. `crawl` needs the main thread, because it handles SIGINT and SIGTERM.

    All methods raise `InputError` for wrong input or configuration, `Unavailable` if a server does not answer, and
    `Conflict` if what is stored was made otherwise.
    """

    def __init__(self, directory: str | Path = ".") -> None:
        """Open the project of a directory. Raise `InputError` if there is none, or if its `thresher.toml` is wrong."""
        self._opened = OpenProject.at(Path(directory))

    @classmethod
    def create(cls, directory: str | Path, *, contact: str = "") -> "Project":
        """Write a commented `thresher.toml` into a directory, which is made if it does not exist, and open the project.

        `contact` (`mailto:you@example.org` or `https://...`) goes into the User-Agent; without it nothing is crawled.
        Raise `InputError` if there is a `thresher.toml` already.
        """
        new_project.create(Path(directory), contact)
        return cls(directory)

    @property
    def directory(self) -> Path:
        """The directory that holds `thresher.toml`, as an absolute path."""
        return self._opened.directory

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the crawls and ingests that have something archived, sorted."""
        return self._opened.sources(())

    def seed(
        self,
        seeds: str | Path | Iterable[str],
        crawl: str = "main",
        *,
        scope: ScopeKind = "domain",
        depth: int | None = None,
        priority: int = 0,
    ) -> SeedSummary:
        """Add URLs to a crawl's frontier: those of a file, one URL, or any number of URLs. Known URLs change nothing.

        `scope` says how far links are followed from a seed (`any`, `domain`, `host` or `prefix`), `depth` at most how
        many links away. URLs of a larger `priority` are fetched sooner. Of the result, `added`, `known` and `refused`
        are counts of seeds.
        """
        _require_no_event_loop("seed")
        plan = SeedPlan(crawl=check_name(crawl), scope=scope, max_depth=depth, priority=priority)
        if isinstance(seeds, str | Path):
            return seed_file(self._opened, str(seeds), plan)
        return add_seeds(self._opened, seed_files.of_urls(seeds), plan, "of this call")

    def crawl(  # noqa: PLR0913 - the options of the command
        self,
        name: str = "main",
        *,
        workers: int = 1,
        max_pages: int | None = None,
        max_requests: int | None = None,
        max_seconds: float | None = None,
        spider: str = "",
        arguments: Mapping[str, str] | None = None,
        settings: str = "",
    ) -> CrawlSummary:
        """Crawl until the frontier drains, a limit is reached, or Ctrl-C. Ctrl-C drains: what is in flight is archived.

        `spider` is a Scrapy spider of your own, as `package.module:Class`, with the `arguments` of its constructor
        and the module of its Scrapy `settings`. Worker processes import it, from the project's directory or from
        where Python looks for modules. Of the result, `outcomes` counts the pages that this call settled by outcome
        (`fetched`, `failed`, ...), `reasons` the same by `outcome:reason`; `requests` is how many were sent,
        `stats.is_drained` whether nothing waits, and `interrupted` whether a signal ended the crawl.
        """
        _require_no_event_loop("crawl")
        if threading.current_thread() is not threading.main_thread():
            raise InputError(
                "crawl: it handles signals, which only the main thread can; call it there, or run `thresher crawl`"
            )
        if (arguments or settings) and not spider:
            raise InputError(
                "arguments and settings are for a spider; name it with spider='package.module:Class'"
            )
        own = SpiderSpec(
            class_path=spider,
            arguments=tuple((arguments or {}).items()),
            settings_path=settings,
            directory=self.directory,
        )
        limits = CrawlLimits(
            workers=workers, max_pages=max_pages, max_requests=max_requests, max_time_s=max_seconds
        )
        return crawl(self._opened, check_name(name), limits, stderr_progress(), own if spider else None)

    def ingest(  # noqa: PLR0913 - the options of the command
        self,
        name: str,
        *inputs: str | Path,
        text_column: str = "",
        html_column: str = "",
        url_column: str = "",
        id_column: str = "",
        exact_text: bool = False,
        by_line: bool = False,
        site: str = "",
        in_place: bool = False,
        workers: int | None = None,
    ) -> IngestSummary:
        """Bring in files, directories or `s3://` addresses: archives, tables, texts (docs/guides/ingest.md lists the
        formats).

        The first four options name columns of tables. `exact_text` keeps their texts byte for byte, `by_line` makes a
        document of each line of a text file, and `site` is the host of a Stack Exchange `Posts.xml`. `in_place` leaves
        WARC files where they are. `workers` processes read large tables, one for each core if not given.

        A file that cannot be read does not keep the others out. Of the result, `added` and `known` are counts of
        files, `entries` is how many records there are to process, and `refused` lists the files that were not brought
        in, each with `file` and `reason`.
        """
        self._opened.store.sweep()
        columns = Columns(
            text=text_column, html=html_column, url=url_column, id=id_column, exact_text=exact_text
        )
        options = IngestOptions(columns=columns, by_line=by_line, site=site, in_place=in_place)
        return ingest(self._opened.store, check_name(name), locate_inputs(inputs), options, workers=workers)

    def process(
        self, *names: str, workers: int | None = None, redo: bool = False, screen: bool | None = None
    ) -> StepSummary:
        """Extract the text of what is new in the archive, and judge it: of these sources, of all if none is named.

        `workers` is one for each core if not given. `redo` forgets earlier results first, as it must be after a
        change of `[filters]`. `screen` leaves out documents that `dedup` knows before they are judged; None for what
        `[dedup] screen` says. Of the result, `made` and `already` are counts of parts. Raise `ThresherError` if a part
        is in quarantine; all others are made.
        """
        chosen = require_sources(self._opened, list(names))
        opened = self._opened
        stored = signal_files.stored_filters(opened.store, opened.directory, opened.config.filters)
        process.step(stored)  # wrong filters are refused before anything is forgotten
        require_confinable(opened.config.filters.rules)
        if redo:
            process.delete_all_results(opened.store, chosen)
        with self._opened.worker_pool(workers) as pool:
            ran = recipe.process_sources(self._opened, chosen, pool, stderr_progress(), screen=screen)
        ran.require_all()
        return ran

    def judge(
        self,
        verdicts: str,
        *names: str,
        thresholds: Mapping[str, float] = MappingProxyType({}),
        preset: str | None = None,
        languages: Iterable[str] | None = None,
        workers: int | None = None,
        redo: bool = False,
    ) -> StepSummary:
        """Make the set of verdicts `verdicts` from the measurements that `process` stored, without reading a text: of
        these sources, of all if none is named.

        `thresholds` are values by `rule.parameter`, such as `{"gopher_quality.fewest_words": 30}`; `preset` and
        `languages` are as in `[filters]`. What is not given is as in `thresher.toml`. `redo` deletes a set of this name
        first; without it, a set that was made with other values raises `Conflict`. Of the result, `made` and `already`
        are counts of parts.
        """
        opened = self._opened
        filters = with_choices(
            opened.config.filters, preset=preset, languages=languages, thresholds=thresholds
        )
        chosen = rule_set(signal_files.stored_filters(opened.store, opened.directory, filters))
        rules_of(chosen)  # an unknown threshold must raise before a set is deleted
        sources = require_sources(opened, list(names))
        check_set_name(verdicts)
        for source in sources if redo else ():
            delete_set(opened.store, source, verdicts)
        with opened.worker_pool(workers) as pool:
            return recipe.judge_sources(opened, sources, verdicts, chosen, pool, stderr_progress())

    def annotate(  # noqa: PLR0913 - the options of the command
        self,
        annotation: str,
        *names: str,
        function: str = "",
        arguments: Mapping[str, str] = MappingProxyType({}),
        version_of: Iterable[str | Path] = (),
        batch: int = BATCH,
        documents: Documents = "kept",
        verdicts: str = "",
        table: str | Path | None = None,
        key: str = "",
        into: str = "",
        workers: int | None = None,
        ray: bool = False,
        gpu: bool = False,
        redo: bool = False,
    ) -> AnnotateSummary:
        """Give documents values of your own, as the annotation `annotation`: of these sources, of all if none is named.

        `function` is `package.module:NAME`, a function or class of yours that workers call with lists of at most
        `batch` `Document`s (docs/guides/annotate.md); `arguments` go to it. `version_of` are files whose change makes
        the values again, such as weights. `documents` says which are annotated: `kept`, `deduplicated` (kept and no
        duplicate) or `all`; `verdicts` names the set of verdicts that says which are kept. Or the values come from a
        `table` that `key` joins: `id`, `url`, `external_id`, or `external_id=COLUMN`. `into` is the source that gets
        the texts that the function returns as `text`. `ray` runs the workers on a cluster, and `gpu` gives each a GPU.
        `redo` deletes the annotation first.

        Of the result, `documents` and `annotated` are counts of documents, and `step` has `made` and `already`, counts
        of parts. Raise `ThresherError` if a part is in quarantine; all others are made.
        """
        options = AnnotateOptions(
            annotation=annotation,
            path=function,
            arguments=tuple(arguments.items()),
            version_of=tuple(map(Path, version_of)),
            batch=batch,
            documents=documents,
            verdict_set=verdicts,
            table=None if table is None else Path(table),
            key=key,
            into=check_name(into) if into else "",
            workers=workers,
            on_ray=ray,
            gpus=int(gpu),
        )
        sources = chosen_sources(require_sources(self._opened, list(names)), names, into)
        ran = recipe.annotate(self._opened, sources, options, stderr_progress(), redo=redo)
        ran.step.require_all()
        return ran

    @property
    def annotations(self) -> tuple[str, ...]:
        """Names of the annotations that `annotate` made, sorted."""
        return annotation_names(self._opened.store)

    @property
    def verdict_sets(self) -> tuple[str, ...]:
        """Names of the sets of verdicts that `judge` made, sorted."""
        return tuple(sorted(set_names(self._opened.store)))

    def dedup(self, *names: str, verdicts: str = "") -> dict[str, int]:
        """Find duplicates among everything that these sources hold, of all if none is named.

        `verdicts` names the set of verdicts that says which documents are kept; those of `process` if it is empty.
        Return how many documents were removed, by kind: `exact`, `url`, `near`.
        """
        chosen = require_sources(self._opened, list(names))
        with self._opened.worker_pool(1) as pool:
            manifest = recipe.find_duplicates(self._opened, chosen, pool, stderr_progress(), verdicts)
        return {kind: manifest.counts.get(f"{kind}.documents", 0) for kind in REMOVAL_KINDS}

    def export(  # noqa: PLR0913 - the options of the command
        self,
        out: str | Path,
        *names: str,
        tokenizer: str | Path | None = None,
        formats: Sequence[str] = ("parquet",),
        columns: str | Iterable[str] = (),
        shard_size: str | None = None,
        eos: str | None = None,
        bos: str | None = None,
        special_tokens: SpecialTokens | None = None,
        id_type: IdType | None = None,
        text: bool = True,
        pack: int | None = None,
        packing: Packings | None = None,
        mix: str | Path | None = None,
        verdicts: str = "",
        held_out: str | float | None = None,
        held_out_by: HeldOutBy | None = None,
        split: Split | None = None,
        plot: str | Path | None = None,
        workers: int | None = None,
    ) -> Dataset:
        """Write what is kept of these sources, of all if none is named, as shards into the directory `out`, or under
        the `s3://` address `out`.

        `tokenizer` is a Hugging Face `tokenizer.json`, or `bytes`: each byte is a token. Without one the rows are texts
        and have no token ids. `formats` are any of `tokens`, `parquet`, `jsonl`, `webdataset`, `mds`, `megatron` and
        `hf`; `tokens` and `megatron` need a tokenizer. `columns` are names of further columns of the rows
        (docs/guides/exports.md), in a list or with commas between them. `shard_size` is written as `500MB`. `eos` is
        the token that ends each document: a token, its id, or `none`; the tokenizer's own if it is not given. `bos` is
        one that begins each. `special_tokens` says what the name of a special token in a text becomes: `text`, or its
        id (`ids`). `id_type` is `int32` or `int64`, for ids of that type in rows of every format. `text` stores the
        text of each document. `pack` is the length of packed sequences in tokens, and `packing` one of `best-fit`,
        `concat` and `none`. `mix` is a TOML file with the proportions of sources (docs/guides/exports.md), and `plot` a
        picture of it to draw. `verdicts` names the set of verdicts that says which documents are kept; those of
        `process` if it is empty. `dedup` must cover the same sources and verdicts. `held_out` is the share of the
        documents that is held out for evaluation, by `domain` or by `url`, and `split` says whether those are exported
        that are not held out (`train`), or those that are (`held-out`).

        Parquet shards lie in `out/data` and open in any tool that reads Parquet. Of the result, `documents` and
        `tokens` are counts, the second None without a tokenizer; `shards` has `name`, `bytes`, `sha256`, `documents`
        and `tokens` of each file.
        """
        options = chosen_options(
            formats=formats,
            shard_size=shard_size,
            eos=eos,
            bos=bos,
            special_tokens=special_tokens,
            id_type=id_type,
            text=text,
            pack=pack,
            packing=packing,
            mix=mix,
            verdicts=verdicts,
            held_out=held_out,
            held_out_by=held_out_by,
            split=split,
            columns=columns,
        )
        if tokenizer is None:
            check_texts(options)
        if plot is not None:
            check_plot(Path(plot), options.mix)
        vocabulary = chosen_tokenizer(tokenizer)
        chosen = require_sources(self._opened, list(names))
        with self._opened.worker_pool(workers) as pool:
            dataset, _ = recipe.export_dataset(
                self._opened, chosen, str(out), vocabulary, pool, stderr_progress(), options
            )
        if plot is not None:
            draw_mix(dataset, Path(plot))
        return dataset

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

    def __repr__(self) -> str:
        return f"<Project at {self.directory}>"


def _require_no_event_loop(method: str) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise InputError(
        f"{method}: an event loop runs in this thread already, as in a notebook; run `thresher {method}` instead"
    )
