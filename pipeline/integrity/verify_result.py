"""The verify command and its output: a line per finding on stderr, and the result at the end."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import typer

from thresher.core import InputError, Unavailable
from thresher.pipeline.integrity.findings import VerifyResult
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.terminal.output import echo, print_result
from thresher.pipeline.terminal.progress import Progress, stderr_progress


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions:
    """The user's options."""

    datasets: tuple[str, ...]
    """Directories of exported datasets; the storage if empty."""
    repair: bool
    accept_loss: bool
    deep: bool


def run_verify(directory: Path, options: VerifyOptions, as_json: bool) -> None:
    """Verify the storage and the catalog of a project, or datasets, which need no project.

    End the command with exit code 1 if anything is damaged.
    """
    progress = stderr_progress()
    if options.datasets:
        if options.deep or options.accept_loss:
            raise InputError("--deep and --accept-loss are for the archive: leave out the export directories")
        results = [_verify_dataset(uri, options, progress) for uri in options.datasets]
        damage = [line for result in results for line in result.damage]
    else:
        result, catalog_and_frontier_damage = _verify_storage(OpenProject.at(directory), options, progress)
        results, damage = [result], [*result.damage, *catalog_and_frontier_damage]
    _print_result(results, damage, options, as_json)
    if damage:
        raise typer.Exit(1)


def _verify_dataset(uri: str, options: VerifyOptions, progress: Progress) -> VerifyResult:
    from thresher.pipeline.integrity import export_audit  # noqa: PLC0415 - a dataset needs no project

    found = export_audit.verify_dataset(uri, progress)
    if options.repair and found.damage and (removed := export_audit.repair_dataset(uri)):
        echo(f"{uri}: removed {', '.join(removed)}; the same export makes it again", err=True)
    return found


def _verify_storage(
    project: OpenProject, options: VerifyOptions, progress: Progress
) -> tuple[VerifyResult, list[str]]:
    from thresher.pipeline import catalog_refresh  # noqa: PLC0415 - as above
    from thresher.pipeline.integrity import reconcile, verify  # noqa: PLC0415

    settled: Mapping[str, int] = {}
    lost: list[str] = []
    try:
        frontiers = reconcile.settled_pages(project)
        settled, lost = frontiers.answers, list(frontiers.lost.values())
    except Unavailable as error:
        echo(f"not checked: whether all settled pages can be read ({error})", err=True)
    found = verify.verify_storage(project.store, progress, is_deep=options.deep, settled=settled)
    in_catalog = list(catalog_refresh.faults(project))
    if options.repair:
        verify.repair(project.store, found)
        if in_catalog:
            catalog_refresh.rebuild(project)
    for name in verify.accept_loss(project.store, found) if options.accept_loss else ():
        echo(f"{name} is sealed again without its damaged records; run `thresher process` again", err=True)
    for name in verify.delete_damaged_logs(project.store, found) if options.accept_loss else ():
        echo(f"{name} is deleted: its pages cannot be requested again from the log", err=True)
    return found, [*in_catalog, *lost]


def _print_result(
    results: list[VerifyResult], damage: list[str], options: VerifyOptions, as_json: bool
) -> None:
    count, size = sum(result.files for result in results), sum(result.bytes for result in results)
    differences = [line for result in results for line in result.differences]
    unread = [line for result in results for line in result.unread]
    unfinished = [line for result in results for line in result.unfinished]
    for line in (*damage, *differences, *unread, *unfinished):
        echo(line.replace("\n", "\\n"), err=True)  # a name in storage may have line breaks
    if not options.accept_loss and any(result.archives for result in results):
        echo(
            "damaged archive files: copy them back from a backup, or give up their damaged records with --accept-loss",
            err=True,
        )
    if not options.accept_loss and any(result.logs for result in results):
        echo("damaged crawl logs: copy them back from a backup, or give them up with --accept-loss", err=True)
    body = {
        "files": count,
        "bytes": size,
        "damage": damage,
        "differences": differences,
        "unread": unread,
        "unfinished": unfinished,
        "garbage": sum(result.garbage for result in results),
        "redo": [name for result in results for name in result.redo],
    }
    outcome = f"{len(damage)} damaged" if damage else "all as they were sealed"
    print_result(as_json, body, f"{count:,} files, {size:,} bytes: {outcome}")
