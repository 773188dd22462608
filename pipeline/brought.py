"""What the ingest command says: a line a file, and what came of all."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import typer

from pipeline import commoncrawl
from pipeline.commoncrawl import Selected
from pipeline.given import given
from pipeline.ingest import Brought, Ingested, Ways, ingest
from pipeline.progress import stderr_progress
from pipeline.project import Project
from pipeline.said import counted
from pipeline.terminal import say
from pipeline.wanted import Wanted
from storage.store import Store


def run_ingest(store: Store, source: str, inputs: Iterable[str], ways: Ways, as_json: bool) -> None:
    """Bring in every input, and say so. Ends the command with exit code 2 where one was refused."""
    store.sweep()
    _say(source, ingest(store, source, given(inputs), ways, _told), as_json)


def run_commoncrawl(
    project: Project, source: str, inputs: Iterable[str], wanted: Wanted, as_json: bool
) -> None:
    """Bring in what is wanted of Common Crawl, and say so. Ends the command with exit code 2 where a file was refused."""
    project.store.sweep()
    progress = stderr_progress()
    with commoncrawl.opened(project.config) as client:
        if wanted.is_selective:
            selected = commoncrawl.select_all(project.store, source, client, inputs, wanted, progress)
            say(as_json, asdict(selected), selected_line(source, selected))
            return
        done = commoncrawl.bring_all(project.store, source, client, inputs, wanted, progress, _told)
    _say(source, done, as_json)


def _told(brought: Brought) -> None:
    typer.echo(line(brought), err=True)


def _say(source: str, done: Ingested, as_json: bool) -> None:
    body: dict[str, Any] = asdict(done) | {"unusable": dict(done.unusable)}  # it takes Counters apart
    if done.refused:
        body["error"] = done.refused[0]["reason"]
    refused = f"; {len(done.refused)} refused" if done.refused else ""
    told = (
        f"{source}: {done.added} files added, {done.known} known{refused}; {done.records:,} records, "
        f"{done.entries:,} of them to be processed{_passed(done.unusable)}"
    )
    say(as_json, body, told)
    if done.refused:
        raise typer.Exit(2)


def selected_line(source: str, selected: Selected) -> str:
    """What a look-up brought in."""
    return (
        f"{source}: {selected.found:,} records found, {selected.known:,} of them known, {selected.added:,} added in "
        f"{selected.files:,} archive files{_passed(selected.unusable)}"
    )


def line(brought: Brought) -> str:
    """What became of one file."""
    if brought.fate == "refused":
        return f"thresher: {brought.reason}"
    sums = f"{brought.records:,} records, {brought.entries:,} to be processed"
    return f"{brought.name} ({brought.kind}): {brought.fate}, {sums}{_passed(brought.unusable)}"


def _passed(unusable: Mapping[str, int]) -> str:
    return f"; passed over: {counted(unusable)}" if unusable else ""
