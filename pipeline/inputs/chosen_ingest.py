"""`ingest` as a user chose it, by the command or in Python: files, or a selection from Common Crawl."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from thresher.core import InputError
from thresher.pipeline.inputs.commoncrawl_selection import (
    CommonCrawlSelection,
    IndexName,
    SelectionSummary,
    is_commoncrawl,
)
from thresher.pipeline.inputs.ingest import IngestOptions, IngestResult, IngestSummary, ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.terminal.progress import Progress

Words = str | Iterable[str] | None
"""One word or several; None for none."""


def chosen_selection(  # noqa: PLR0913 - the options of the command, which Python has as well
    *,
    files: int | None,
    segment: Words,
    domain: Words,
    domains: str | Path | None,
    url_prefix: Words,
    mime: Words,
    status: int | Iterable[int] | None,
    language: Words,
    limit: int | None,
    index: IndexName,
) -> CommonCrawlSelection:
    """Return what a user chose from Common Crawl. Raise `InputError` if a number or an index is wrong, or if the file
    `domains` cannot be read.
    """
    for option, number in (("--files", files), ("--limit", limit)):
        if number is not None and number < 1:
            raise InputError(f"{option} {number}: give a number from 1")
    if index not in ("cdx", "columnar"):
        raise InputError(f"--index {index}: is not known; choose cdx or columnar")
    return CommonCrawlSelection(
        files=files,
        segments=frozenset(_words(segment)),
        domains=(*_words(domain), *(_lines(Path(domains)) if domains else ())),
        prefixes=_words(url_prefix),
        mimes=_words(mime),
        statuses=(status,) if isinstance(status, int) else tuple(status or ()),
        languages=_words(language),
        limit=limit,
        index=index,
    )


def ingest_chosen(  # noqa: PLR0913 - what a user chooses for an ingest
    project: OpenProject,
    source: str,
    inputs: Sequence[str | Path],
    options: IngestOptions,
    selection: CommonCrawlSelection,
    progress: Progress,
    on_result: Callable[[IngestResult], None] = lambda _: None,
    *,
    workers: int | None = None,
) -> IngestSummary:
    """Ingest the inputs into a source, and hand the result of each file to `on_result`.

    Raise `InputError` if an option is for inputs of another kind.
    """
    if any(map(is_commoncrawl, map(str, inputs))):
        if options != IngestOptions():
            raise InputError(
                "--text-column, --exact-text, --in-place and similar options are not for Common Crawl; leave them out"
            )
        return _ingest_commoncrawl(project, source, tuple(map(str, inputs)), selection, progress, on_result)
    if selection != CommonCrawlSelection(index=selection.index):
        raise InputError(
            "--files, --segment, --domain and similar options select from Common Crawl: "
            "give commoncrawl:CC-MAIN-... with them"
        )
    project.store.sweep()
    return ingest(project.store, source, locate_inputs(inputs), options, on_result, workers)


def _ingest_commoncrawl(
    project: OpenProject,
    source: str,
    inputs: tuple[str, ...],
    selection: CommonCrawlSelection,
    progress: Progress,
    on_result: Callable[[IngestResult], None],
) -> IngestSummary:
    from thresher.pipeline.inputs import commoncrawl_input  # noqa: PLC0415 - imports HTTP and S3; files need neither

    project.store.sweep()
    with commoncrawl_input.open_client(project.config) as client:
        job = commoncrawl_input.CommonCrawlJob(
            store=project.store, source=source, client=client, progress=progress
        )
        if not selection.is_selective:
            return commoncrawl_input.ingest_files(job, inputs, selection, on_result)
        found = commoncrawl_input.ingest_selections(job, inputs, selection)
        return _summary(found)


def _summary(found: SelectionSummary) -> IngestSummary:
    return IngestSummary(
        added=found.files,
        records=found.added,
        entries=found.added,
        unusable=found.unusable,
        selection=found,
    )


def _words(given: Words) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given or ())


def _lines(path: Path) -> list[str]:
    """Return the lines of a file without empty lines and comments."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    lines = (line.strip() for line in text.split("\n"))
    return [line for line in lines if line and not line.startswith("#")]
