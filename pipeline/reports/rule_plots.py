"""Draw the histograms of measurements with their thresholds, and write the whole report as one HTML page."""

import html
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thresher.core import InputError
from thresher.pipeline.funnel import Funnel
from thresher.pipeline.reports.published_bands import Flag
from thresher.pipeline.reports.report import funnel_figure, require_plots, save_figure
from thresher.pipeline.reports.rule_scan import GROUP_KINDS, Histogram, RuleScan
from thresher.pipeline.reports.rule_tables import largest_groups, tokens_of
from thresher.pipeline.terminal.byte_text import byte_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = 3
KEPT, DROPPED, LINE = "#2f855a", "#c05621", "#1a202c"
_STYLE = (
    "body{font:15px/1.4 system-ui,sans-serif;margin:2em auto;max-width:75em;padding:0 1em}"
    "table{border-collapse:collapse;margin:1em 0}td,th{border:1px solid #cbd5e0;padding:.2em .6em;text-align:right}"
    "td:first-child,th:first-child{text-align:left;overflow-wrap:anywhere}.flag{color:#c05621}svg{max-width:100%;height:auto}"
)


def draw_histograms(scan: RuleScan, path: Path) -> None:
    """Draw each measurement with its threshold into a PNG, SVG or PDF file. Raise `InputError` if it cannot."""
    save_figure(_histogram_figure(scan.histograms), path, "--histograms")


def write_page(funnel: Funnel, scan: RuleScan, flags: Sequence[Flag], path: Path) -> None:
    """Write funnel, groups, rules and histograms as one HTML file that needs no other file."""
    title = f"Report of {', '.join(funnel.sources)}"
    body = [
        f"<h1>{html.escape(title)}</h1>",
        *(f'<p class="flag">{html.escape(str(flag))}</p>' for flag in flags),
        _funnel_table(funnel),
        _svg(funnel_figure(funnel)),
        f"<h2>Rules on {scan.measured:,} measured documents</h2>",
        _table(
            ("rule", "drops first", "would drop alone", "only this one drops", "its text"),
            (
                (
                    each.rule,
                    f"{each.decided:,}",
                    f"{each.drops:,}",
                    f"{each.only:,}",
                    byte_text(each.only_bytes),
                )
                for each in scan.rules
            ),
        ),
        *(_group_table(scan, funnel, kind) for kind in GROUP_KINDS),
        "<h2>Measurements and thresholds</h2>",
        _svg(_histogram_figure(scan.histograms)),
    ]
    page = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body>\n{chr(10).join(body)}\n</body></html>\n"
    )
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--plot {path}: cannot be written ({error.strerror or error})") from None


def _funnel_table(funnel: Funnel) -> str:
    total = funnel.records
    rows = [("archived records", f"{total:,}", "100 %", byte_text(funnel.payload_bytes), "", "")]
    for stage in funnel.stages:
        share = 100 * stage.documents / total if total else 0.0
        tokens = "" if stage.tokens is None else f"{'~' if stage.tokens_estimated else ''}{stage.tokens:,}"
        texts = (byte_text(stage.payload_bytes), byte_text(stage.text_bytes), tokens)
        rows.append((stage.name, f"{stage.documents:,}", f"{share:.1f} %", *texts))
    return _table(("stage", "records", "share", "payload", "text", "tokens"), rows)


def _group_table(scan: RuleScan, funnel: Funnel, kind: Any) -> str:
    rules = [each.rule for each in scan.rules]
    rows = []
    for name, counts in largest_groups(scan.groups[kind]).items():
        tokens = tokens_of(counts, funnel)
        rows.append(
            (
                name,
                f"{counts.documents:,}",
                byte_text(counts.text_bytes),
                *(f"{counts.dropped[rule]:,}" for rule in rules),
                f"{counts.duplicates:,}",
                f"{counts.kept:,}",
                byte_text(counts.kept_bytes),
                "" if tokens is None else f"~{tokens:,}",
            )
        )
    columns = (
        kind,
        "documents",
        "text",
        *(f"- {rule}" for rule in rules),
        "- duplicates",
        "kept",
        "kept text",
        "tokens",
    )
    return f"<h2>Documents by {kind}</h2>{_table(columns, rows)}"


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    lines = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><tr>{head}</tr>{body}</table>"


def _histogram_figure(histograms: Sequence[Histogram]) -> "Figure":
    figure_of = require_plots()
    rows = max(-(-len(histograms) // COLUMNS), 1)
    figure = figure_of(figsize=(4.2 * COLUMNS, 2.4 * rows), layout="constrained")
    for at, axes in enumerate(figure.subplots(rows, COLUMNS, squeeze=False).flat):
        if at < len(histograms):
            _draw(axes, histograms[at])
        else:
            axes.set_axis_off()
    return figure


def _draw(axes: Any, histogram: Histogram) -> None:
    threshold, edges = histogram.threshold, histogram.edges
    drops_low = threshold.drops[0] == "<"
    is_dropped = ((edges[:-1] + edges[1:]) / 2 < threshold.value) == drops_low
    # One outline each: a bar for each of the counts costs as much time as all the rest.
    axes.stairs(histogram.counts * is_dropped, edges, fill=True, color=DROPPED)
    axes.stairs(histogram.counts * ~is_dropped, edges, fill=True, color=KEPT)
    if not histogram.is_share:
        axes.set_xscale("log")
    axes.axvline(threshold.value, color=LINE, linewidth=1.2)
    axes.set_yscale("symlog")
    axes.set_title(f"{histogram.rule}: {threshold.measurement}", fontsize=8)
    axes.set_xlabel(
        f"{threshold.reason}: {threshold.drops} {threshold.value:g}, {histogram.beyond:,} documents",
        fontsize=7,
    )
    axes.tick_params(labelsize=6)
    axes.spines[["top", "right"]].set_visible(False)


def _svg(figure: "Figure") -> str:
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    text = file.getvalue()
    return text[text.index("<svg") :]
