"""The whole job on one screen: how a list of URLs becomes a tokenized dataset.

Every line below is a command of its own as well; each goes on where it was stopped, and all of them may be
run again at any time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from core import Interruption
from pipeline.crawls.seed import Plan, Seeded, seed
from pipeline.crawls.seed_files import Refused
from pipeline.engine import run_step
from pipeline.engine.local.worker_pool import Crew
from pipeline.fleet.crawl_command import Limits, crawl
from pipeline.fleet.crawl_summary import Crawled
from pipeline.funnel import Funnel, Tokens
from pipeline.project import Project
from pipeline.reports import report
from pipeline.runs import recorded
from pipeline.steps import blocklist, dedup, export, process
from pipeline.terminal.progress import Progress
from shards import Dataset
from shards.tokenizer import TokenizerFile, load_tokenizer_file
from storage.manifest import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What `thresher run` came to."""

    seeded: Seeded
    crawled: Crawled
    funnel: Funnel
    dataset: Dataset


def run(
    project: Project,
    seeds: str,
    plan: Plan,
    out: str,
    tokenizer: Path | None,
    limits: Limits,
    hands: int | None,
    progress: Progress,
    refused: Callable[[Refused], None],
    *,
    update: bool = False,
) -> Job:
    """From seeds to shards, by so many hands behind the crawl (None: one for each CPU). What is wrong with the input is
    said before anything is fetched. `update` replaces the crawl's settings by the project's.
    """
    _ = project.config.contact
    blocklist.put(project.store, project.directory, project.config.filters.blocklist)
    process.step(project.config.filters)
    vocabulary = load_tokenizer_file(tokenizer)
    export.check_free(out)
    names = (plan.crawl,)

    seeded = seed(project, seeds, plan, refused, update=update)
    crawled = crawl(project, plan.crawl, limits, progress)
    if crawled.interrupted:
        raise Interruption(
            f"crawl {plan.crawl} was interrupted, and nothing of it is lost; run the same command again to go on"
        )
    with project.crew(hands) as crew:
        process_sources(project, names, crew, progress).require_all()
        find_duplicates(project, names, crew, progress)
        dataset, funnel = export_dataset(project, names, out, vocabulary, crew, progress)
    return Job(seeded=seeded, crawled=crawled, funnel=funnel, dataset=dataset)


def process_sources(project: Project, names: tuple[str, ...], crew: Crew, progress: Progress) -> run_step.Ran:
    """Extract and judge everything that the sources have sealed and nobody has processed."""
    filters = project.config.filters
    blocked = blocklist.put(project.store, project.directory, filters.blocklist)
    step = process.step(filters, blocked)
    parts = (part for name in names for part in process.parts(project.store, name, filters, blocked))
    with recorded(project, step, names) as record:
        record.ran = run_step.run(project.store, step, parts, process.work, crew=crew, progress=progress)
    return record.ran


def find_duplicates(project: Project, names: tuple[str, ...], crew: Crew, progress: Progress) -> Manifest:
    """Decide what duplicates what among everything that the sources have sealed, all of it processed."""
    process.require_processed(project.store, names, project.config.filters)
    config = project.config.dedup
    with recorded(project, dedup.step(config), names) as record:
        manifest, record.ran = dedup.run(project.store, names, config, crew=crew, progress=progress)
    return manifest


def export_dataset(
    project: Project,
    names: tuple[str, ...],
    out: str,
    tokenizer: TokenizerFile,
    crew: Crew,
    progress: Progress,
) -> tuple[Dataset, Funnel]:
    """Write what is kept as shards, with the funnel beside them."""
    process.require_processed(project.store, names, project.config.filters)
    plan = export.plan(
        project.store, names, tokenizer, dedup.covering(project.store, names, project.config.dedup)
    )
    directory = export.claim(plan, out)
    with export.writing(directory), recorded(project, export.step(plan), names) as record:
        shards, record.ran = export.make(plan, directory, crew=crew, progress=progress)
        tokens = sum(shard.tokens for shard in shards)
        counted = Tokens(tokenizer=tokenizer.name, tokens=tokens, text_bytes=plan.text_bytes)
        funnel = report.funnel_of(project, names, counted)
        dataset = export.finish(plan, directory, shards, funnel)
    export.record(project.store, plan, dataset)
    return dataset, funnel
