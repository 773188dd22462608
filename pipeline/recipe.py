"""The whole job on one screen: how a list of URLs becomes a tokenized dataset.

Every line of `run_all` is a command of its own as well. Each command continues where it was stopped, and all of them
may run again at any time.

A function imports what only it needs: the crawler, the index of duplicates and the formats of shards take half a second
to import, and no command uses all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from thresher.core import Interruption
from thresher.pipeline.engine import run_step
from thresher.pipeline.engine.local.worker_pool import WorkerPool
from thresher.pipeline.engine.quarantine import remove_marks
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.runs import record_run
from thresher.pipeline.steps import blocklist, process
from thresher.pipeline.steps.records import signal_files
from thresher.pipeline.steps.records.rule_probe import require_confinable
from thresher.pipeline.terminal.progress import Progress

if TYPE_CHECKING:
    from thresher.pipeline.crawls.seed import SeedPlan, SeedSummary
    from thresher.pipeline.crawls.seed_files import RefusedLine
    from thresher.pipeline.duplicates.dedup_result import DedupResult
    from thresher.pipeline.fleet.crawl_call import CrawlLimits
    from thresher.pipeline.fleet.crawl_summary import CrawlSummary
    from thresher.pipeline.funnel import Funnel
    from thresher.pipeline.steps.annotations.annotate_options import AnnotateOptions
    from thresher.pipeline.steps.annotations.annotation_tables import AnnotateSummary
    from thresher.pipeline.steps.options.export_options import ExportOptions
    from thresher.pipeline.steps.options.step_options import DedupOptions, JudgeOptions, ProcessOptions
    from thresher.pipeline.steps.records.rule_set import RuleSet
    from thresher.shards import Dataset
    from thresher.shards.tokenizer import TokenizerFile
    from thresher.storage.manifest import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """The results of `thresher run`, step by step."""

    seed_summary: SeedSummary
    crawl_summary: CrawlSummary
    funnel: Funnel
    dataset: Dataset


def run_all(  # noqa: PLR0913 - the options of the command
    project: OpenProject,
    seeds: str,
    plan: SeedPlan,
    out: str,
    tokenizer: Path | None,
    limits: CrawlLimits,
    workers: int | None,
    progress: Progress,
    on_refused: Callable[[RefusedLine], None],
    *,
    update: bool = False,
) -> RunSummary:
    """Make shards from seeds. Invalid input raises `InputError` before anything is fetched.

    `workers` is the number of worker processes after the crawl; None for one per CPU. `update` replaces the crawl's
    settings with those of the project.
    """
    from thresher.pipeline.crawls.seed import seed_file
    from thresher.pipeline.fleet.crawl_command import crawl
    from thresher.pipeline.steps import export_directory
    from thresher.shards.tokenizer import load_tokenizer_file

    _ = project.config.contact  # raises if none is set
    blocklist.put_blocklist(project.store, project.directory, project.config.filters.blocklist)
    process.step(signal_files.stored_filters(project.store, project.directory, project.config.filters))
    require_confinable(project.config.filters.rules)
    vocabulary = load_tokenizer_file(tokenizer)
    export_directory.check_free(out)
    names = (plan.crawl,)

    seeded = seed_file(project, seeds, plan, on_refused, update=update)
    crawled = crawl(project, plan.crawl, limits, progress)
    if crawled.interrupted:
        raise Interruption(
            f"crawl {plan.crawl} was interrupted, and no fetched page is lost; run the same command again to continue"
        )
    with project.worker_pool(workers) as pool:
        process_sources(project, names, pool, progress).require_all()
        find_duplicates(project, names, pool, progress)
        dataset, funnel = export_dataset(project, names, out, vocabulary, pool, progress)
    return RunSummary(seed_summary=seeded, crawl_summary=crawled, funnel=funnel, dataset=dataset)


def process_sources(
    project: OpenProject,
    names: tuple[str, ...],
    pool: WorkerPool,
    progress: Progress,
    *,
    screen: bool | None = None,
) -> run_step.StepSummary:
    """Extract and filter every sealed record of the sources that is not processed yet.

    `screen` says whether documents that deduplication knows are left out; None for what `[dedup]` says.
    """
    from thresher.pipeline.steps.dedup import choose_screen
    from thresher.pipeline.steps.records.rule_set import rule_set
    from thresher.pipeline.steps.records.screened_parts import with_screen

    filters = signal_files.stored_filters(project.store, project.directory, project.config.filters)
    blocked = blocklist.put_blocklist(project.store, project.directory, filters.blocklist)
    numbers = project.config.dedup.permutations
    step = process.step(filters, blocked, permutations=numbers)
    if process.wants_columns(filters):
        from thresher.pipeline.steps.columns.threshold_columns import threshold_columns

        threshold_columns(project.store, names, rule_set(filters), annotated=False)
    parts = (
        part
        for name in names
        for part in process.parts(project.store, name, filters, blocked, permutations=numbers)
    )
    chosen = choose_screen(
        project.store, project.config.dedup, names, pool=pool, progress=progress, screen=screen
    )
    screened = with_screen(project.store, parts, chosen)
    with record_run(project, step, names) as record:
        record.summary = run_step.run_step(
            project.store, step, screened, process.work, pool=pool, progress=progress
        )
    return record.summary


def process_chosen(
    project: OpenProject, names: tuple[str, ...], options: ProcessOptions, progress: Progress
) -> run_step.StepSummary:
    """Process the sources as a user chose it. Invalid filters raise `InputError` before anything is deleted."""
    process.step(signal_files.stored_filters(project.store, project.directory, project.config.filters))
    require_confinable(project.config.filters.rules)
    if options.redo:
        process.delete_all_results(project.store, names)
    for name in names if options.retry else ():
        remove_marks(project.store, process.NAME, name)
    with project.worker_pool(options.workers) as pool:
        if options.follow:
            from thresher.pipeline.steps.follow import follow

            return follow(project, names, pool, progress, screen=options.screen)
        return process_sources(project, names, pool, progress, screen=options.screen)


def judge_chosen(
    project: OpenProject, names: tuple[str, ...], options: JudgeOptions, progress: Progress
) -> run_step.StepSummary:
    """Make a set of verdicts as a user chose it. Unknown thresholds raise `InputError` before anything is deleted."""
    from thresher.pipeline.steps.records.rule_set import rule_set, rules_of
    from thresher.pipeline.steps.verdicts.verdict_sets import check_set_name, delete_set

    chosen = rule_set(signal_files.stored_filters(project.store, project.directory, options.filters))
    rules_of(chosen)
    check_set_name(options.verdict_set)
    for name in names if options.redo else ():
        delete_set(project.store, name, options.verdict_set)
    with project.worker_pool(options.workers) as pool:
        return judge_sources(project, names, options.verdict_set, chosen, pool, progress)


def judge_sources(
    project: OpenProject,
    names: tuple[str, ...],
    verdict_set: str,
    chosen: RuleSet,
    pool: WorkerPool,
    progress: Progress,
) -> run_step.StepSummary:
    """Make a set of verdicts of the measurements of the sources. Raise `InputError` if a record is not processed, or if
    its measurements do not suffice.
    """
    from thresher.pipeline.steps.columns.threshold_columns import threshold_columns
    from thresher.pipeline.steps.judging import judge_step

    filters = project.config.filters
    process.require_processed(project.store, names, filters)
    blocked = blocklist.put_blocklist(project.store, project.directory, filters.blocklist)
    for name in names:
        judge_step.require_same_reading(project.store, name, process.reading_recipe(filters, blocked))
    step = judge_step.step(chosen)
    columns = threshold_columns(project.store, names, chosen, annotated=True)
    parts = [
        part for name in names for part in judge_step.parts(project.store, name, verdict_set, chosen, columns)
    ]
    with record_run(project, step, names) as record:
        record.summary = run_step.run_step(
            project.store, step, parts, judge_step.work, pool=pool, progress=progress, retry=True
        )
    record.summary.require_all()
    return record.summary


def annotate(
    project: OpenProject,
    names: tuple[str, ...],
    options: AnnotateOptions,
    progress: Progress,
    *,
    redo: bool = False,
) -> AnnotateSummary:
    """Give documents of the sources values of a user's function or table: those that are new, or have another text.

    `redo` deletes the annotation of these sources first. Raise `InputError` if a record is not processed or the options
    are wrong, and `Conflict` if something else has the annotation's name.
    """
    from thresher.pipeline.inputs import new_documents
    from thresher.pipeline.steps import dedup
    from thresher.pipeline.steps.annotations import (
        annotate_options,
        annotate_step,
        annotation_tables,
        score_tables,
    )

    options = replace(options, on_ray=options.on_ray or project.config.project.cluster is not None)
    plan = annotate_options.make_plan(options, project.directory)  # wrong options must raise before the rest
    new_documents.check_source(names, options.into)
    process.require_processed(project.store, names, project.config.filters)
    for name in names if redo else ():
        annotation_tables.delete_annotation(project.store, name, options.annotation)
    removals = None
    if options.documents == "deduplicated":
        found = dedup.require_run(project.store, names, project.config.dedup, options.verdict_set)
        (removals,) = found.outputs
    step = plan.step()
    if isinstance(plan, score_tables.ScorePlan):
        parts = list(score_tables.parts(project.store, names, plan))
    else:
        parts = list(annotate_step.parts(project.store, names, plan, removals))
    annotation_tables.unseal_changed(project.store, step, parts, progress)
    with record_run(project, step, names) as record:
        if isinstance(plan, score_tables.ScorePlan):
            record.summary = score_tables.join(project.store, step, parts, plan, progress)
        else:
            with project.worker_pool(options.worker_count, on_ray=options.on_ray) as pool:
                record.summary = run_step.run_step(
                    project.store, step, parts, annotate_step.work, pool=pool, progress=progress, retry=True
                )
    made = annotation_tables.summed(project.store, parts, record.summary)
    if options.into and not record.summary.quarantined:
        return replace(made, new_documents=new_documents.ingest_texts(project.store, parts, options.into))
    return made


def find_duplicates(
    project: OpenProject,
    names: tuple[str, ...],
    pool: WorkerPool,
    progress: Progress,
    verdict_set: str = "",
) -> Manifest:
    """Find the duplicates among all documents of the sources that a set of verdicts keeps, and cut the repeated text of
    those that stay, if `[dedup]` asks for that. Return the removals.

    Raise `InputError` if a record is not processed, or not judged.
    """
    from thresher.pipeline.steps import dedup
    from thresher.pipeline.steps.cuts import cut_results, cut_run

    process.require_processed(project.store, names, project.config.filters)
    config = project.config.dedup
    with record_run(project, dedup.step(config), names) as record:
        manifest, record.summary = dedup.run(
            project.store, names, config, pool=pool, progress=progress, verdict_set=verdict_set
        )
    if cut_results.is_wanted(config):
        with record_run(project, cut_results.step(config), names) as record:
            _, record.summary = cut_run.run(
                project.store, names, config, manifest, pool=pool, progress=progress, verdict_set=verdict_set
            )
    return manifest


def dedup_chosen(
    project: OpenProject, names: tuple[str, ...], options: DedupOptions, progress: Progress
) -> DedupResult:
    """Find duplicates as a user chose it, and check a sample of the result if that is asked for."""
    from thresher.pipeline.duplicates import cut_summary
    from thresher.pipeline.duplicates.dedup_result import DedupResult

    if options.is_audited:
        from thresher.pipeline.duplicates.stored_minhashes import require_datasketch

        require_datasketch()  # raises before minutes of work
    store, config, verdict_set = project.store, project.config.dedup, options.verdict_set
    with project.worker_pool(options.workers) as pool:
        manifest = find_duplicates(project, names, pool, progress, verdict_set)
    cut = cut_summary.find(store, names, config, manifest, verdict_set)
    if not options.is_audited:
        return DedupResult(manifest=manifest, cut=cut)
    from thresher.pipeline.duplicates.dedup_audit import AUDITED_DOCUMENTS, audit

    sample = AUDITED_DOCUMENTS if options.sample is None else options.sample
    found = audit(store, names, manifest, config, sample=sample, verdict_set=verdict_set)
    return DedupResult(manifest=manifest, cut=cut, audit=found)


def export_crawl(
    project: OpenProject,
    name: str,
    out: str,
    tokenizer: TokenizerFile,
    pool: WorkerPool,
    progress: Progress,
) -> None:
    """Process what a crawl has sealed, find its duplicates, and write its shards. Raise `InputError` if the crawl has
    sealed nothing, or seals more meanwhile.
    """
    from thresher.pipeline.fleet.export_schedule import require_sealed

    require_sealed(project.store, name)
    names = (name,)
    process_sources(project, names, pool, progress).require_all()
    find_duplicates(project, names, pool, progress)
    export_dataset(project, names, out, tokenizer, pool, progress)


def deduplicated(
    project: OpenProject, names: tuple[str, ...], verdict_set: str = ""
) -> tuple[Manifest, Manifest | None]:
    """Return the removals that cover the sources, and the run of the cuts if repeated text is cut. Raise `InputError`
    if a step is missing.
    """
    from thresher.pipeline.steps import dedup
    from thresher.pipeline.steps.cuts import cut_results

    process.require_processed(project.store, names, project.config.filters)
    config = project.config.dedup
    removed = dedup.require_run(project.store, names, config, verdict_set)
    return removed, cut_results.require_run(project.store, names, config, removed, verdict_set)


def export_dataset(  # noqa: PLR0913 - what a user chooses for an export
    project: OpenProject,
    names: tuple[str, ...],
    out: str,
    tokenizer: TokenizerFile | None,
    pool: WorkerPool,
    progress: Progress,
    options: ExportOptions | None = None,
) -> tuple[Dataset, Funnel]:
    """Write the kept documents as shards, with the funnel in the same directory; as texts if there is no tokenizer."""
    from thresher.pipeline.funnel import TokenCounts
    from thresher.pipeline.reports import report
    from thresher.pipeline.steps import export, export_directory, export_plan
    from thresher.shards.dataset import count_tokens

    verdict_set = "" if options is None else options.verdict_set
    removed, cut = deduplicated(project, names, verdict_set)
    plan = export_plan.make_plan(project.store, names, tokenizer, removed, options, cut)
    directory = export.open_directory(plan, out)
    is_of_texts = tokenizer is not None and plan.messages is None
    if (
        tokenizer is not None
        and is_of_texts
        and options is not None
        and options.eos is None
        and plan.eos is None
    ):
        progress.print_line(
            f"{tokenizer.name} names no end token, so nothing marks where a document ends; "
            "give one with --eos TOKEN, or say that you want none with --eos none"
        )
    with export_directory.write_lock(directory), record_run(project, export.step(plan), names) as record:
        shards = export.make_shards(plan, directory, pool=pool, progress=progress)
        record.summary = shards.summary
        counted = None
        if tokenizer is not None and plan.has_tokens_of_texts:
            counted = TokenCounts(
                tokenizer=tokenizer.name, tokens=count_tokens(shards.files), text_bytes=plan.text_bytes
            )
        funnel = report.counted_funnel(project, names, counted, verdict_set)
        dataset = export.finish(plan, directory, shards, funnel)
    export.record_dataset(project.store, plan, dataset)
    return dataset, funnel
