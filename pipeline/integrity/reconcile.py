"""Reconcile the pages that a crawl's frontier has settled with the records that can be read.

1. A page that was settled as fetched, unchanged, redirected or gone got a response. The crawl's log has a line that
   names its record, and the record is in an archive file, sealed or open (`crawler.settler`). The frontier never has
   more such pages than there are such records: a difference is a loss.
2. A worker that is killed before it settles a page leaves a line whose record is missing, or was fetched again. So
   there may be more lines and records than settled pages. A record counts once for any number of lines.
3. The counts of a running crawl are taken first, and its files are read afterwards. Pages settled in between do not
   count as lost.
4. Pages that a rebuilt frontier knows from the archive alone (`storage.crawllog.log_line.UNLOGGED`) are not counted.
   Records in a damaged file, which is reported itself, and records that the user gave up (`thresher verify
   --accept-loss`) count as readable.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from thresher.core import CorruptData, InputError
from thresher.frontier import Frontier, Stats
from thresher.pipeline.integrity.revisit_references import RevisitReferences
from thresher.pipeline.open_crawl import Every, ask_project
from thresher.pipeline.open_project import OpenProject
from thresher.storage.archive.open_files import WARC, open_archive_files, open_files, snapshot
from thresher.storage.crawllog import log_line
from thresher.storage.crawllog.log_line import UNLOGGED, LogLine
from thresher.storage.crawllog.log_writer import LOST_STEP
from thresher.storage.crawllog.log_writer import STEP_NAME as LOG
from thresher.storage.manifest import Manifest, load_manifest, manifest_name, manifests
from thresher.storage.storage_id import read_storage_id
from thresher.storage.store import Store
from thresher.storage.warc.records import DAMAGED, read_records

ANSWERED_OUTCOMES = ("fetched", "unchanged", "redirected", "gone")
"""Outcomes of pages that got a response: each has a record."""


def answered_pages(stats: Stats) -> int:
    """Return how many settled pages of a frontier must have a line and a record."""
    outcomes = (stats.outcomes.get(outcome, 0) for outcome in ANSWERED_OUTCOMES)
    return sum(outcomes) - sum(stats.reasons.get(f"{outcome}:{UNLOGGED}", 0) for outcome in ANSWERED_OUTCOMES)


def settled_pages(project: OpenProject) -> Every[int]:
    """Return how many pages with a response the frontier has settled, for each crawl whose archive is in this storage.

    Raise `Unavailable` if the frontier does not respond.
    """
    storage_id = None
    with suppress(CorruptData):  # verify reports it
        storage_id = read_storage_id(project.store)
    if storage_id is None:  # no crawl has used this storage
        return Every(answers={}, lost={})

    async def count(_: str, frontier: Frontier) -> int | None:
        if (
            frontier.rebuild.is_running
            or frontier.crawl.storage is None
            or frontier.crawl.storage.id != storage_id
        ):
            return None
        return answered_pages(await frontier.stats())

    found = ask_project(project, count)
    answers = {crawl: number for crawl, number in found.answers.items() if number is not None}
    return Every(answers=answers, lost=found.lost)


def add_log_lines(store: Store, crawls: Sequence[str], references: RevisitReferences) -> Counter[str]:
    """Add the records that the logs of crawls name to `references`.

    Return how many lines of each crawl have no record to look for: the response came from a user's spider, or the log
    file was given up.
    """
    lines_without_record: Counter[str] = Counter()

    def add_lines(crawl: str, lines: Iterable[LogLine]) -> None:
        for line in lines:
            if line.is_final and line.outcome in ANSWERED_OUTCOMES:
                if line.record:
                    references.add_log_line(line.record, line.file)
                else:
                    lines_without_record[crawl] += 1

    for crawl in crawls:
        folder = f"{log_line.FOLDER}/{crawl}"
        for name in open_files(store, folder):
            with snapshot(store, folder, name) as path:
                add_lines(crawl, () if path is None else log_line.whole_lines(path))
        for name in log_line.files(store, crawl):
            try:
                add_lines(crawl, log_line.read(store, name))
            except CorruptData:  # verify reports it; the Manifest has the counts of its lines
                part = name.removeprefix(f"{log_line.FOLDER}/").removesuffix(log_line.SEALED_SUFFIX)
                with suppress(CorruptData):
                    lines_without_record[crawl] += answered_in_counts(
                        load_manifest(store, manifest_name(LOG, part)).counts
                    )
        lines_without_record[crawl] += sum(
            answered_in_counts(lost.counts) for lost in manifests(store, LOST_STEP, crawl)
        )
    return lines_without_record


def add_open_records(store: Store, crawls: Sequence[str], references: RevisitReferences) -> None:
    """Add the records in the open archive files of crawls to `references`, whether a worker writes to them or not."""
    for crawl in crawls:
        for name in open_archive_files(store, crawl):
            with snapshot(store, f"{WARC}/{crawl}", name) as path:
                if path is not None:
                    with path.open("rb") as file, suppress(InputError):
                        for record in read_records(file, name=name):
                            if record.type != DAMAGED:
                                references.add_record(record.record_id)


def lost_pages(
    settled: Mapping[str, int],
    lines_without_record: Mapping[str, int],
    references: RevisitReferences,
    accepted: Container[str],
) -> Iterator[str]:
    """Yield one line for each crawl that has settled more pages than can be read."""
    found = references.count_answers(accepted)
    for crawl, pages in settled.items():
        readable = found[f"{WARC}/{crawl}"] + lines_without_record.get(crawl, 0)
        if pages > readable:
            yield (
                f"crawl {crawl}: {pages:,} pages are settled with a response, but the records of only {readable:,} can"
                f" be read: {pages - readable:,} are lost; copy the archive and its log back from a backup, or run"
                f" `thresher frontier rebuild {crawl} --anew`, then crawl again"
            )


def answered_in_counts(counts: Mapping[str, int]) -> int:
    """Return how many pages got a response, from the counts of a Manifest of the log."""
    return sum(number for key, number in counts.items() if key.partition(":")[0] in ANSWERED_OUTCOMES)


def unlogged_pages(project: OpenProject, crawl: str, stats: Stats) -> int:
    """Return how many settled pages with a response have no line in the crawl's log; 0 if all is well.

    Reads only the open files of the log, and takes the counts of sealed files from the catalog.
    """
    store, found = project.store, 0
    for name in open_files(store, f"{log_line.FOLDER}/{crawl}"):
        with snapshot(store, f"{log_line.FOLDER}/{crawl}", name) as path:
            lines = () if path is None else log_line.whole_lines(path)
            found += sum(line.is_final and line.outcome in ANSWERED_OUTCOMES for line in lines)
    # Sealed files after open ones: a file that is sealed in between counts twice and is not missed.
    found += sum(answered_in_counts(project.catalog.totals(step, crawl)) for step in (LOG, LOST_STEP))
    return max(answered_pages(stats) - found, 0)


def is_loss_accepted(manifest: Manifest) -> bool:
    """Return whether the user accepted the damage of an archive file: it was sealed with damaged records."""
    return manifest.counts.get(DAMAGED, 0) > 0
