"""What the ingest command says: a line a file, and what came of all."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import typer

from pipeline.given import given
from pipeline.ingest import Brought, Ways, ingest
from pipeline.said import counted
from pipeline.terminal import say
from storage.store import Store


def run_ingest(store: Store, source: str, inputs: Iterable[str], ways: Ways, as_json: bool) -> None:
    """Bring in every input, and say so. Ends the command with exit code 2 where one was refused."""
    store.sweep()
    done = ingest(store, source, given(inputs), ways, lambda brought: typer.echo(line(brought), err=True))
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


def line(brought: Brought) -> str:
    """What became of one file."""
    if brought.fate == "refused":
        return f"thresher: {brought.reason}"
    sums = f"{brought.records:,} records, {brought.entries:,} to be processed"
    return f"{brought.name} ({brought.kind}): {brought.fate}, {sums}{_passed(brought.unusable)}"


def _passed(unusable: Mapping[str, int]) -> str:
    return f"; passed over: {counted(unusable)}" if unusable else ""
