"""What a scan of rules and a sample of dropped documents look like: tables for people, dictionaries for programs."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from thresher.pipeline.funnel import Funnel
from thresher.pipeline.reports.dropped_documents import DroppedDocument
from thresher.pipeline.reports.rule_scan import GroupCounts, Histogram, RuleScan
from thresher.pipeline.terminal.byte_text import byte_text
from thresher.pipeline.terminal.printable import printable

SHOWN_GROUPS = 20
"""Groups that a table names: those with the most text. The others are one row."""


def largest_groups(groups: Mapping[str, GroupCounts], shown: int = SHOWN_GROUPS) -> dict[str, GroupCounts]:
    """Return the groups with the most text, and the sum of the others."""
    ordered = sorted(groups.items(), key=lambda item: (-item[1].text_bytes, item[0]))
    found = dict(ordered[:shown])
    if len(ordered) > shown:
        others = GroupCounts()
        for _, counts in ordered[shown:]:
            others.documents += counts.documents
            others.text_bytes += counts.text_bytes
            others.duplicates += counts.duplicates
            others.kept += counts.kept
            others.kept_bytes += counts.kept_bytes
            others.dropped.update(counts.dropped)
        found[f"{len(ordered) - shown:,} others"] = others
    return found


def tokens_of(counts: GroupCounts, funnel: Funnel) -> int | None:
    """Return the kept tokens of a group, estimated at the rate of all kept text; None if nothing was tokenized."""
    kept = funnel.kept
    if kept.tokens is None or not kept.text_bytes:
        return None
    return round(counts.kept_bytes * kept.tokens / kept.text_bytes)


def render_groups(scan: RuleScan, kind: str, funnel: Funnel, console: Console) -> None:
    """Print the documents by one kind of group or one column, and what dropped most of them. JSON and HTML have all."""
    table = Table(title=f"Documents by {kind}", title_justify="left")
    table.add_column(kind, overflow="fold")
    for column in ("documents", "text", "kept", "kept text", "tokens", "most dropped by"):
        table.add_column(column, justify="right", overflow="fold")
    for name, counts in largest_groups(scan.groups[kind]).items():
        tokens = tokens_of(counts, funnel)
        causes = {**counts.dropped, "duplicates": counts.duplicates}
        cause, most = max(causes.items(), key=lambda item: (item[1], item[0]))
        table.add_row(
            escape(printable(name)),
            f"{counts.documents:,}",
            byte_text(counts.text_bytes),
            f"{counts.kept:,}",
            byte_text(counts.kept_bytes),
            "" if tokens is None else f"~{tokens:,}",
            f"{cause} ({most:,})" if most else "",
        )
    console.print(table)


def render_rules(scan: RuleScan, console: Console) -> None:
    """Print what each rule drops first, would drop alone, and what only it drops."""
    table = Table(title=f"Rules on {scan.measured:,} measured documents", title_justify="left")
    table.add_column("rule", overflow="fold")
    for column in ("drops first", "would drop alone", "only this one drops", "text", "most shared with"):
        table.add_column(column, justify="right", overflow="fold")
    for counts in scan.rules:
        shared = max(counts.shared.items(), key=lambda item: (item[1], item[0]), default=("", 0))
        table.add_row(
            counts.rule,
            f"{counts.decided:,}",
            f"{counts.drops:,}",
            f"{counts.only:,}",
            byte_text(counts.only_bytes),
            f"{shared[0]} ({shared[1]:,})" if shared[1] else "",
        )
    console.print(table)


def render_dropped(found: Sequence[DroppedDocument], console: Console) -> None:
    """Print dropped documents, one after another."""
    for each in found:
        console.print(escape(printable(each.url)), style="bold", overflow="fold")
        console.print(
            f"  {escape(printable(each.why))}  ({each.language or 'unknown'}, {each.characters:,} characters)"
        )
        lines = each.excerpt.splitlines() or ["(no text)"]
        console.print("\n".join(f"  | {escape(printable(line))}" for line in lines), style="dim")
        if each.characters > len(each.excerpt):
            console.print("  | ...", style="dim")


def scan_dict(scan: RuleScan, funnel: Funnel) -> dict[str, Any]:
    """Return the JSON form of a scan."""
    return {
        "measured": scan.measured,
        "groups": {
            kind: {
                name: {**asdict(counts), "dropped": dict(counts.dropped), "tokens": tokens_of(counts, funnel)}
                for name, counts in sorted(groups.items(), key=lambda item: (-item[1].text_bytes, item[0]))
            }
            for kind, groups in scan.groups.items()
        },
        "rules": [{**asdict(counts), "shared": dict(counts.shared)} for counts in scan.rules],
        "histograms": [_histogram_dict(histogram) for histogram in scan.histograms],
    }


def _histogram_dict(histogram: Histogram) -> dict[str, Any]:
    threshold = histogram.threshold
    return {
        "rule": histogram.rule,
        "reason": threshold.reason,
        "measurement": threshold.measurement,
        "parameter": threshold.parameter,
        "drops": threshold.drops,
        "threshold": threshold.value,
        "beyond": histogram.beyond,
        "edges": histogram.edges.tolist(),
        "counts": histogram.counts.tolist(),
    }
