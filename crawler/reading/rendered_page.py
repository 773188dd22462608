"""`RenderedPage`: what a browser made of a page, and the note of it that the archive keeps.

The note is the block of a WARC metadata record (`application/warc-fields`): how the rendering ended, what it took,
what the page was refused, and where its scripts would have gone (`outlink`, as Heritrix writes it). Together with the
DOM it is all that decides how the page's lease ends, so that a worker which takes up what a dead one archived decides
the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast, get_args
from uuid import UUID, uuid5

from core import Capture

RenderProblem = Literal["", "render_crash", "render_memory", "render_timeout"]
"""Why a page is not what a reader would have seen: its tab crashed, or took too much memory, or was not done in time.
After `render_timeout` the DOM is there as it was by then, if there is one at all; after the others there is none."""
DOM_CONTENT_TYPE = "text/html; charset=utf-8"
"""Of a DOM, whatever the page itself was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subresource:
    """One exchange that the page asked for while it was rendered."""

    capture: Capture
    kind: str
    """What the browser wanted it for: `script`, `stylesheet`, `xhr` (and so `fetch`), `preflight`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderReport:
    """How a rendering went."""

    problem: RenderProblem = ""
    navigations: tuple[str, ...] = ()
    """Where the page's scripts, or its `meta refresh`, would have led the reader: links of the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedPage:
    """One page as its browser had it in the end."""

    url: str
    """As it was asked for."""
    html: bytes
    """The DOM with its doctype, in UTF-8; empty where the browser gave none."""
    title: str
    subresources: tuple[Subresource, ...]
    refusals: Mapping[str, int]
    """What the page was refused, by reason (`crawler.render.request_rules`), and how often."""
    report: RenderReport = field(default_factory=RenderReport)
    started_ms: int
    """UTC, milliseconds since the epoch."""
    elapsed_ms: int
    browser: str
    """Name and version."""


def dom_id(page: UUID) -> UUID:
    """Id of the record that holds the DOM of a page, by the id of the page's own."""
    return uuid5(page, "rendered")


def report_id(page: UUID) -> UUID:
    """Id of the record that holds the note."""
    return uuid5(page, "rendering")


def subresource_id(page: UUID, number: int) -> UUID:
    """Id of the response record of a part."""
    return uuid5(page, f"part-{number}")


def encode_report(rendered: RenderedPage) -> bytes:
    """The note's block."""
    lines = [
        ("rendering", rendered.report.problem or "done"),
        ("browser", rendered.browser),
        ("elapsed-ms", str(rendered.elapsed_ms)),
        ("parts", str(len(rendered.subresources))),
        *((f"refused-{reason}", str(count)) for reason, count in sorted(rendered.refusals.items())),
        *(("outlink", url) for url in rendered.report.navigations),
    ]
    return "".join(f"{name}: {' '.join(value.split())}\r\n" for name, value in lines).encode(errors="replace")


def decode_report(block: bytes) -> RenderReport | None:
    """What `encode` made, read back; None for any other block."""
    lines = [line.partition(": ") for line in block.decode(errors="replace").split("\r\n")]
    name, _, said = lines[0]
    problem = "" if said == "done" else said
    if name != "rendering" or problem not in get_args(RenderProblem):
        return None
    went = tuple(value for name, _, value in lines if name == "outlink")
    return RenderReport(problem=cast("RenderProblem", problem), navigations=went)
