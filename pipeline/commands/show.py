"""`thresher show`: what a project knows of one URL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core import InputError
from pipeline.commands.options import HERE, JsonOption, ProjectOption, checked_name
from pipeline.terminal.output import say

if TYPE_CHECKING:
    from frontier import Place
    from pipeline.reports.history import Capture, History


def show_command(
    url: Annotated[str, typer.Argument(help="A URL, as any page or list has it.")],
    names: Annotated[
        list[str] | None, typer.Argument(help="Crawls and ingests to look into; all if none is named.")
    ] = None,
    project: ProjectOption = HERE,
    as_json: JsonOption = False,
) -> None:
    """Show what is known of a URL.

    For each crawl its state in the frontier and its newest lines in the log; for each source its captures, verdicts and documents.

    \b
    Example:
      thresher show https://example.org/about
      thresher show https://example.org/about docs --json
    """
    from frontier import NotAUrl, canonical
    from pipeline.project import Project
    from pipeline.reports.history import history

    try:
        wanted = canonical(url)
    except NotAUrl as error:
        raise InputError(f"show {url!r}: is no URL ({error}); give http:// or https://") from None
    opened = Project.at(project)
    found = [
        each for each in history(opened, wanted, tuple(map(checked_name, names or ()))) if not each.is_empty
    ]
    lines = [line for each in found for line in _lines(each, wanted.text)]
    body = {"url": wanted.text, "sources": [_body(each) for each in found]}
    say(
        as_json,
        body,
        "\n".join(lines) if lines else f"{wanted.text}: unknown; no crawl has found it, no ingest holds it",
    )


def _lines(known: History, url: str) -> Iterator[str]:
    from pipeline.terminal.log_text import text

    yield f"{known.source}:{f' {_place(known.place)}' if known.place else ''}"
    yield from (f"  {text(line)}" for line in known.lines)
    for capture in known.captures:
        yield from (f"  {line}" for line in _capture(capture, url))


def _place(place: Place) -> str:
    from pipeline.terminal.rate import duration
    from pipeline.terminal.reasons import in_words

    said: str = place.state
    if place.due_ms is not None:
        said += f", is tried again in {duration(place.due_ms / 1000)}"
    if place.attempt:
        said += f", tried {place.attempt} {'time' if place.attempt == 1 else 'times'}"
    if place.worker:
        said += f", by worker {place.worker}"
    if place.visit_ms is not None:
        said += f", is visited again in {duration(place.visit_ms / 1000)}"
    if place.rest is not None:
        why = f" ({in_words(place.rest.reason)})" if place.rest.reason else ""
        said += f"; its host is held for {duration(place.rest.ms / 1000)}{why}"
    if place.stored:
        said += f", or among the {place.stored:,} URLs of its host that wait in storage"
    return said


def _capture(capture: Capture, url: str) -> Iterator[str]:
    row, judged = capture.row, capture.judged
    day, clock = row.timestamp[:8], row.timestamp[8:]
    moment = f"{day[:4]}-{day[4:6]}-{day[6:]} {clock[:2]}:{clock[2:4]}:{clock[4:]}"
    address = f" as {row.url}" if row.url != url else ""
    yield f"{moment} captured {row.status or '-'} {row.mime} in {row.filename} at {row.offset}{address}"
    if judged is None:
        yield "  not processed"
        return
    if judged.duplicate_of:
        yield f"  removed by dedup ({judged.duplicate_kind}): document {judged.duplicate_of} stands for it"
    elif judged.keep:
        yield "  kept"
    else:
        yield f"  dropped by {judged.rule}: {judged.reason}"
    if judged.extractor:
        title = f" {judged.title!r}" if judged.title else ""
        yield f"  document {judged.id}{title}, language {judged.language or 'unknown'}, by {judged.extractor}"


def _body(known: History) -> dict[str, Any]:
    from storage.crawllog.log_line import encode

    return {
        "name": known.source,
        "frontier": None if known.place is None else asdict(known.place),
        "log": [_json(encode(line)) for line in known.lines],
        "captures": [
            {**asdict(capture.row), "verdict": None if capture.judged is None else asdict(capture.judged)}
            for capture in known.captures
        ],
    }


def _json(line: bytes) -> Any:
    import json

    return json.loads(line)
