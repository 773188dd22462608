"""`Project`: a project directory, and the work of the commands as methods.

Each method calls what the command of the same name calls, so a project may be worked on by both in turn.
"""

import asyncio
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from thresher.core import InputError
from thresher.crawler.spiders import SpiderSpec
from thresher.frontier.urls.scope import ScopeKind
from thresher.pipeline import new_project, recipe
from thresher.pipeline.commands.options import check_name, followed_sources, require_sources
from thresher.pipeline.crawls import seed_files
from thresher.pipeline.crawls.seed import SeedPlan, SeedSummary, add_seeds, parse_revisit, seed_file
from thresher.pipeline.engine.run_step import StepSummary
from thresher.pipeline.fleet.crawl_call import CrawlLimits
from thresher.pipeline.fleet.crawl_command import crawl
from thresher.pipeline.fleet.crawl_summary import CrawlSummary
from thresher.pipeline.inputs.chosen_ingest import chosen_selection, ingest_chosen
from thresher.pipeline.inputs.commoncrawl_selection import IndexName
from thresher.pipeline.inputs.ingest import IngestOptions, IngestSummary
from thresher.pipeline.reports.mix_plot import check_plot, draw_mix
from thresher.pipeline.steps.annotations.annotate_options import AnnotateOptions, chosen_sources
from thresher.pipeline.steps.annotations.annotate_step import BATCH, Documents
from thresher.pipeline.steps.annotations.annotation_tables import AnnotateSummary
from thresher.pipeline.steps.options.export_options import check_texts, chosen_options
from thresher.pipeline.steps.options.step_options import DedupOptions, JudgeOptions, ProcessOptions
from thresher.pipeline.steps.records.rule_set import with_choices
from thresher.pipeline.terminal.progress import stderr_progress
from thresher.project_view import ProjectView
from thresher.shards import Dataset
from thresher.shards.formats.shard_rows import IdType
from thresher.shards.held_out_split import HeldOutBy, Split
from thresher.shards.packer import Packings
from thresher.shards.special_tokens import SpecialTokens
from thresher.shards.tokenizer import chosen_tokenizer
from thresher.storage.inputs.table_files.columns import Columns


class Project(ProjectView):
    """A directory with a `thresher.toml`, and the work that is done on it.

    Progress and warnings go to stderr, as with the commands. Every method may be killed and called again: it goes on
    where it was. Worker processes import the modules that they need; they do not run the script that calls a method.
    `seed` and `crawl` run an event loop of their own: in a notebook, which has one already, type `!thresher crawl`
    instead. `crawl` needs the main thread, because it handles SIGINT and SIGTERM.

    All methods raise `InputError` for wrong input or configuration, `Unavailable` if a server does not answer, and
    `Conflict` if what is stored was made otherwise.
    """

    @classmethod
    def create(cls, directory: str | Path, *, contact: str = "") -> "Project":
        """Write a commented `thresher.toml` into a directory, which is made if it does not exist, and open the project.

        `contact` (`mailto:you@example.org` or `https://...`) goes into the User-Agent; without it nothing is crawled.
        Raise `InputError` if there is a `thresher.toml` already.
        """
        new_project.create(Path(directory), contact)
        return cls(directory)

    def seed(  # noqa: PLR0913 - the options of the command
        self,
        seeds: str | Path | Iterable[str],
        crawl: str = "main",
        *,
        scope: ScopeKind = "domain",
        depth: int | None = None,
        priority: int = 0,
        revisit: str = "",
        links: bool = False,
        again: bool = False,
        update: bool = False,
    ) -> SeedSummary:
        """Add URLs to a crawl's frontier: those of a file, one URL, or any number of URLs. Known URLs change nothing.

        `scope` says how far links are followed from a seed (`any`, `domain`, `host` or `prefix`), `depth` at most how
        many links away. URLs of a larger `priority` are fetched sooner. `revisit` is the time after which each page is
        visited again, such as `12h`. `links` adds the links of a WAT file too. `again` fetches known seeds once more.
        `update` replaces the crawl's settings with those of `thresher.toml`. Of the result, `added`, `known` and
        `refused` are counts of seeds.
        """
        _require_no_event_loop("seed")
        plan = SeedPlan(
            crawl=check_name(crawl),
            scope=scope,
            max_depth=depth,
            priority=priority,
            revisit_s=parse_revisit(revisit) if revisit else 0,
            again=again,
        )
        if isinstance(seeds, str | Path):
            return seed_file(self._opened, str(seeds), plan, links=links, update=update)
        if links:
            raise InputError("links: these are the links of a WAT file; give the file")
        return add_seeds(self._opened, seed_files.of_urls(seeds), plan, "of this call", update=update)

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
        update: bool = False,
        verbose: bool = False,
    ) -> CrawlSummary:
        """Crawl until the frontier drains, a limit is reached, or Ctrl-C. Ctrl-C drains: what is in flight is archived.

        `spider` is a Scrapy spider of your own, as `package.module:Class`, with the `arguments` of its constructor
        and the module of its Scrapy `settings`. Worker processes import it, from the project's directory or from
        where Python looks for modules. `update` replaces the crawl's settings with those of `thresher.toml`, and
        `verbose` shows each line of the crawl log on stderr. Of the result, `outcomes` counts the pages that this call
        settled by outcome (`fetched`, `failed`, ...), `reasons` the same by `outcome:reason`; `requests` is how many
        were sent, `stats.is_drained` whether nothing waits, and `interrupted` whether a signal ended the crawl.
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
        chosen = own if spider else None
        return crawl(
            self._opened, check_name(name), limits, stderr_progress(), chosen, update=update, verbose=verbose
        )

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
        files: int | None = None,
        segment: str | Iterable[str] = (),
        domain: str | Iterable[str] = (),
        domains: str | Path | None = None,
        url_prefix: str | Iterable[str] = (),
        mime: str | Iterable[str] = (),
        status: int | Iterable[int] = (),
        language: str | Iterable[str] = (),
        limit: int | None = None,
        index: IndexName = "cdx",
        workers: int | None = None,
    ) -> IngestSummary:
        """Bring in files, directories or `s3://` addresses: archives, tables, texts (docs/guides/ingest.md lists the
        formats); or `commoncrawl:CC-MAIN-2024-22` (docs/guides/common-crawl.md).

        The first four options name columns of tables. `exact_text` keeps their texts byte for byte, `by_line` makes a
        document of each line of a text file, and `site` is the host of a Stack Exchange `Posts.xml`. `in_place` leaves
        WARC files where they are. `workers` processes read large tables, one for each core if not given.

        The others select from Common Crawl: at most `files` whole files, those of a `segment`; or single records, at
        most `limit`, by `domain` (those of the file `domains` too), `url_prefix`, `mime`, `status` (200 if none is
        given) and `language`, looked up in the index `cdx` or `columnar`. Each takes one value or several.

        A file that cannot be read does not keep the others out. Of the result, `added` and `known` are counts of
        files, `entries` is how many records there are to process, and `refused` lists the files that were not brought
        in, each with `file` and `reason`. `selection` has `found`, `known` and `added` records if single ones were
        selected.
        """
        columns = Columns(
            text=text_column, html=html_column, url=url_column, id=id_column, exact_text=exact_text
        )
        selection = chosen_selection(
            files=files,
            segment=segment,
            domain=domain,
            domains=domains,
            url_prefix=url_prefix,
            mime=mime,
            status=status,
            language=language,
            limit=limit,
            index=index,
        )
        options = IngestOptions(columns=columns, by_line=by_line, site=site, in_place=in_place)
        return ingest_chosen(
            self._opened, check_name(name), inputs, options, selection, stderr_progress(), workers=workers
        )

    def process(
        self,
        *names: str,
        workers: int | None = None,
        redo: bool = False,
        follow: bool = False,
        retry: bool = False,
        screen: bool | None = None,
    ) -> StepSummary:
        """Extract the text of what is new in the archive, and judge it: of these sources, of all if none is named.

        `workers` is one for each core if not given. `redo` forgets earlier results first, as it must be after a
        change of `[filters]`. `follow` processes files while a crawl that runs elsewhere seals them, until it is
        drained. `retry` tries parts in quarantine again. `screen` leaves out documents that `dedup` knows before they
        are judged; None for what `[dedup] screen` says. Of the result, `made` and `already` are counts of parts. Raise
        `ThresherError` if a part is in quarantine; all others are made.
        """
        sources = (followed_sources if follow else require_sources)(self._opened, list(names))
        options = ProcessOptions(workers=workers, redo=redo, follow=follow, retry=retry, screen=screen)
        ran = recipe.process_chosen(self._opened, sources, options, stderr_progress())
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
        options = JudgeOptions(
            verdict_set=verdicts,
            filters=with_choices(
                self._opened.config.filters, preset=preset, languages=languages, thresholds=thresholds
            ),
            workers=workers,
            redo=redo,
        )
        sources = require_sources(self._opened, list(names))
        return recipe.judge_chosen(self._opened, sources, options, stderr_progress())

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

    def dedup(self, *names: str, verdicts: str = "", workers: int | None = None) -> dict[str, int]:
        """Find duplicates among everything that these sources hold, of all if none is named.

        `verdicts` names the set of verdicts that says which documents are kept; those of `process` if it is empty.
        `workers` is one for each core if not given. Return how many documents were removed, by kind: `exact`, `url`,
        `near`.
        """
        options = DedupOptions(verdict_set=verdicts, workers=workers)
        sources = require_sources(self._opened, list(names))
        return recipe.dedup_chosen(self._opened, sources, options, stderr_progress()).removed

    def audit_dedup(
        self, *names: str, sample: int | None = None, verdicts: str = "", workers: int | None = None
    ) -> dict[str, Any]:
        """Do the same, check the result on `sample` documents (10,000 if not given) with datasketch and the exact
        Jaccard similarity, and return what `thresher dedup --audit --json` prints under `audit`.
        """
        options = DedupOptions(verdict_set=verdicts, workers=workers, is_audited=True, sample=sample)
        sources = require_sources(self._opened, list(names))
        found: dict[str, Any] = recipe.dedup_chosen(
            self._opened, sources, options, stderr_progress()
        ).to_dict()["audit"]
        return found

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
        messages: str | None = None,
        chat_template: str | Path | None = None,
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

        `tokenizer` is a Hugging Face `tokenizer.json`, or `bytes`. Without one the rows are texts and have no token
        ids. `formats` are any of `tokens`, `parquet`, `jsonl`, `webdataset`, `mds`, `megatron` and `hf`; `tokens` and
        `megatron` need a tokenizer. `columns` are names of further columns of the rows (docs/guides/exports.md), in a
        list or with commas between them. `shard_size` is written as `500MB`. `eos` is the token that ends each
        document: a token, its id, or `none`; the tokenizer's own if it is not given. `bos` is one that begins each.
        `special_tokens` says what the name of a special token in a text becomes: `text`, or its id (`ids`). `id_type`
        is `int32` or `int64`, for ids of that type in rows. `text` stores the text of each document. `pack` is the
        length of packed sequences in tokens, and `packing` one of `best-fit`, `concat` and `none`. `messages` is the
        column of the input whose conversations become the tokens, rendered with `chat_template`: a file, or the name of
        one of the tokenizer's; `default` if it is not given. `mix` is a TOML file with the proportions of sources
        (docs/guides/exports.md), and `plot` a picture of it to draw. `verdicts` names the set of verdicts that says
        which documents are kept; those of `process` if it is empty. `dedup` must cover the same sources and verdicts.
        `held_out` is the share of the documents that is held out for evaluation, by `domain` or by `url`, and `split`
        says whether those are exported that are not held out (`train`), or those that are (`held-out`).

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
            messages=messages,
            chat_template=chat_template,
            tokenizer=tokenizer,
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


def _require_no_event_loop(method: str) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise InputError(
        f"{method}: an event loop runs in this thread already, as in a notebook; run `thresher {method}` instead"
    )
