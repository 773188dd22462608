"""`thresher show`: everything that a project knows about one URL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.pipeline.commands.about.completion import complete_sources
from thresher.pipeline.commands.options import CURRENT_DIRECTORY, JsonOption, ProjectOption, check_name
from thresher.pipeline.funnel import SCREEN_RULE
from thresher.pipeline.terminal.output import print_result

if TYPE_CHECKING:
    from thresher.frontier import UrlState
    from thresher.pipeline.reports.history import CaptureHistory, History


def show_command(
    url: Annotated[
        str, typer.Argument(help="URL to look up, in any spelling, or the file: URI of a document.")
    ],
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Crawls and ingests to search. The default is all of them.", autocompletion=complete_sources
        ),
    ] = None,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Show what is known about a URL.

    For each crawl: its state in the frontier and its newest lines in the log. For each source: its captures, verdicts
    and documents.

    \b
    Example:
      thresher show https://example.org/about
      thresher show https://example.org/about docs --json
      thresher show 'file:books.jsonl#line=7'
    """
    from thresher.pipeline.open_project import OpenProject
    from thresher.pipeline.reports.history import parse_address, url_history

    address = parse_address(url)
    opened = OpenProject.at(project)
    found = [
        source
        for source in url_history(opened, address, tuple(map(check_name, names or ())))
        if not source.is_empty
    ]
    lines = [line for source in found for line in _lines(source, address.text)]
    body = {"url": address.text, "sources": [_body(source) for source in found]}
    print_result(
        as_json,
        body,
        "\n".join(lines) if lines else f"{address.text}: unknown; no crawl has found it, no ingest holds it",
    )


def _lines(known: History, url: str) -> Iterator[str]:
    from thresher.pipeline.terminal.log_text import format_line

    yield f"{known.source}:{f' {_place(known.place)}' if known.place else ''}"
    yield from (f"  {format_line(line)}" for line in known.lines)
    for capture in known.captures:
        yield from (f"  {line}" for line in _capture(capture, url))


def _place(place: UrlState) -> str:
    from thresher.pipeline.terminal.rate import format_duration
    from thresher.pipeline.terminal.reasons import describe

    text: str = place.state
    if place.due_ms is not None:
        text += f", is tried again in {format_duration(place.due_ms / 1000)}"
    if place.attempt:
        text += f", tried {place.attempt} {'time' if place.attempt == 1 else 'times'}"
    if place.worker:
        text += f", by worker {place.worker}"
    if place.visit_ms is not None:
        text += f", is visited again in {format_duration(place.visit_ms / 1000)}"
    if place.rest is not None:
        why = f" ({describe(place.rest.reason)})" if place.rest.reason else ""
        text += f"; its host is held for {format_duration(place.rest.ms / 1000)}{why}"
    if place.stored:
        text += f", or among the {place.stored:,} URLs of its host that wait in storage"
    return text


def _capture(capture: CaptureHistory, url: str) -> Iterator[str]:
    row, judged = capture.row, capture.verdict
    day, clock = row.timestamp[:8], row.timestamp[8:]
    moment = (
        f"{day[:4]}-{day[4:6]}-{day[6:]} {clock[:2]}:{clock[2:4]}:{clock[4:]}" if row.date_ms else "undated,"
    )
    address = f" as {row.url}" if row.url != url else ""
    yield f"{moment} captured {row.status or '-'} {row.mime} in {row.filename} at {row.offset}{address}"
    if row.original_file:
        yield f"  its payload lies in {row.original_file}, as another crawl archived it"
    if judged is None:
        yield "  not processed"
        return
    if judged.rule == SCREEN_RULE:
        yield f"  left out by process --screen ({judged.duplicate_kind}): document {judged.duplicate_of} was known"
    elif judged.duplicate_of:
        yield f"  removed by dedup ({judged.duplicate_kind}): document {judged.duplicate_of} stands for it"
    elif judged.keep:
        yield "  kept"
    else:
        yield f"  dropped by {judged.rule}: {judged.reason}"
    if judged.extractor:
        title = f" {judged.title!r}" if judged.title else ""
        yield f"  document {judged.id}{title}, language {judged.language or 'unknown'}, by {judged.extractor}"


def _body(known: History) -> dict[str, Any]:
    from thresher.storage.crawllog.log_line import encode

    return {
        "name": known.source,
        "frontier": None if known.place is None else asdict(known.place),
        "log": [_json(encode(line)) for line in known.lines],
        "captures": [
            {**asdict(capture.row), "verdict": None if capture.verdict is None else asdict(capture.verdict)}
            for capture in known.captures
        ],
    }


def _json(line: bytes) -> Any:
    import json

    return json.loads(line)
