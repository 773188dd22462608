"""`RenderedPage`: a page as a browser rendered it, and the report about it in the archive.

The report is the block of a WARC metadata record (`application/warc-fields`): how the rendering ended, how long it
took, which requests of the page were refused, what behaviours did in it (`crawler.render.behaviours`), and where its
scripts would have gone (`outlink`, as Heritrix writes it).
Report and DOM decide how the page's lease ends, so a worker that recovers the archive of a dead one decides the same.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, cast, get_args
from uuid import UUID, uuid5

from thresher.crawler.reading.page_parts import Subresource

RenderProblem = Literal["", "render_crash", "render_memory", "render_timeout"]
"""Why the DOM is not what a reader would have seen: the tab crashed, took too much memory, or was not done in time.
After `render_timeout` there may be the DOM of that moment; after the others there is none."""
BEHAVIOURS_CUT = "behaviours_cut"
"""Reason of a page that behaviours left before they came to its end."""
DOM_CONTENT_TYPE = "text/html; charset=utf-8"
"""Content-Type of a DOM, whatever that of the page was."""


ScreenshotKind = Literal["view", "thumbnail", "fullPage"]
SCREENSHOT_URIS = {kind: f"urn:{kind}:" for kind in get_args(ScreenshotKind)}
"""Begin the URIs of screenshots, as in browsertrix-crawler: `urn:view:https://example.org/`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screenshot:
    """A picture of a page."""

    kind: ScreenshotKind
    mime: str
    data: bytes
    height: int
    """In pixels."""


BehaviourName = Literal["consent", "more", "scroll", "next", "autoplay"]
"""What may be done in a page, in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviourReport:
    """What behaviours did in a page."""

    version: int
    names: tuple[str, ...]
    """Those that were switched on."""
    actions: Mapping[str, str] = field(default_factory=dict)
    """What each of those did that had something to do: `6 steps`."""
    cut: str = ""
    """The bound that ended them; empty if they came to their end. Then the page would have shown more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderReport:
    """How a rendering went."""

    problem: RenderProblem = ""
    behaviours: BehaviourReport | None = None
    """None if no behaviour was switched on, or none could begin."""
    navigations: tuple[str, ...] = ()
    """Where the page's scripts, or its `meta refresh`, would have led the reader: links of the page."""

    @property
    def reason(self) -> str:
        """Why the DOM is not all of the page; empty if nothing is known to be missing."""
        return self.problem or (BEHAVIOURS_CUT if self.behaviours is not None and self.behaviours.cut else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedPage:
    """One page at the end of its rendering."""

    url: str
    """The requested URL."""
    html: bytes
    """The DOM with its doctype, in UTF-8; empty if the browser returned none."""
    title: str
    subresources: tuple[Subresource, ...]
    refusals: Mapping[str, int]
    """Number of the page's requests that were refused, by reason (`crawler.subresources.request_rules`)."""
    report: RenderReport = field(default_factory=RenderReport)
    started_ms: int
    """UTC, milliseconds since the epoch."""
    elapsed_ms: int
    browser: str
    """Name and version."""
    screenshots: tuple[Screenshot, ...] = ()
    page_height: int | None = None
    """Height of the page in pixels, if screenshots were taken."""


def dom_id(page: UUID) -> UUID:
    """Return the id of the record with the DOM of a page; `page` is the id of the page's own record."""
    return uuid5(page, "rendered")


def report_id(page: UUID) -> UUID:
    """Return the id of the record with the report."""
    return uuid5(page, "rendering")


def screenshot_id(page: UUID, kind: ScreenshotKind) -> UUID:
    """Return the id of the record with a picture of a page."""
    return uuid5(page, kind)


def pictured_page(uri: str) -> str:
    """Return the URL of the page that a screenshot shows, given its URI; an empty text for any other URI."""
    prefix = next((prefix for prefix in SCREENSHOT_URIS.values() if uri.startswith(prefix)), "")
    return uri[len(prefix) :] if prefix else ""


def encode_report(rendered: RenderedPage) -> bytes:
    """Return the block of the report's record."""
    lines = [
        ("rendering", rendered.report.problem or "done"),
        *_behaviour_lines(rendered.report.behaviours),
        ("browser", rendered.browser),
        ("elapsed-ms", str(rendered.elapsed_ms)),
        ("parts", str(len(rendered.subresources))),
        *((f"refused-{reason}", str(count)) for reason, count in sorted(rendered.refusals.items())),
        *(
            (f"screenshot-{each.kind}", f"{each.height} pixels high, {len(each.data)} bytes")
            for each in rendered.screenshots
        ),
        *([] if rendered.page_height is None else [("page-height", str(rendered.page_height))]),
        *(("outlink", url) for url in rendered.report.navigations),
    ]
    return "".join(f"{name}: {' '.join(value.split())}\r\n" for name, value in lines).encode(errors="replace")


def _behaviour_lines(report: BehaviourReport | None) -> Iterator[tuple[str, str]]:
    if report is None:
        return
    yield "behaviours", " ".join((str(report.version), *report.names))
    yield from ((f"behaviour-{name}", done) for name, done in report.actions.items())
    if report.cut:
        yield "behaviours-cut", report.cut


def decode_report(block: bytes) -> RenderReport | None:
    """Return the report that `encode_report` encoded; None for any other block."""
    lines = [line.partition(": ") for line in block.decode(errors="replace").split("\r\n")]
    name, _, ending = lines[0]
    problem = "" if ending == "done" else ending
    if name != "rendering" or problem not in get_args(RenderProblem):
        return None
    return RenderReport(
        problem=cast("RenderProblem", problem),
        navigations=tuple(value for name, _, value in lines if name == "outlink"),
        behaviours=_decode_behaviours({name: value for name, _, value in lines}),
    )


def _decode_behaviours(fields: Mapping[str, str]) -> BehaviourReport | None:
    version, *names = fields.get("behaviours", "").split() or ("",)
    if not version.isdecimal():
        return None
    prefix = "behaviour-"
    return BehaviourReport(
        version=int(version),
        names=tuple(names),
        actions={name[len(prefix) :]: value for name, value in fields.items() if name.startswith(prefix)},
        cut=fields.get("behaviours-cut", ""),
    )
