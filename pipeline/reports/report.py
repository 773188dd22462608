"""The report: the sums of the Manifests, as a table, as JSON and as a picture."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thresher.core import InputError
from thresher.core.installation.extras import missing_extra
from thresher.filters.dedup.dedup_versions import CUT_KINDS
from thresher.pipeline.funnel import EARLY_RULE, REMOVAL_KINDS, Funnel, Stage, TokenCounts, make_funnel
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.reports.published_bands import flags
from thresher.pipeline.steps import dedup
from thresher.pipeline.steps.cuts import cut_results
from thresher.pipeline.steps.records.rule_set import rule_names
from thresher.pipeline.steps.verdicts.verdict_sets import judged_parts
from thresher.pipeline.terminal.byte_text import byte_text
from thresher.storage.manifest import Manifest, manifests
from thresher.storage.warc.records import page_records

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console


def funnel_of(project: OpenProject, names: Sequence[str], verdict_set: str = "") -> Funnel:
    """Return the funnel of some sources, with deduplication if that was made of the same sources, and with the tokens
    of the first recorded export of all kept documents. Mixes leave documents out and repeat others, so they do not
    count.
    """
    removals = dedup.find(project.store, names, project.config.dedup, verdict_set)
    return _funnel(project, names, verdict_set, removals, _tokens(project, removals))


def counted_funnel(
    project: OpenProject, names: Sequence[str], tokens: TokenCounts | None, verdict_set: str = ""
) -> Funnel:
    """Return the same with these tokens, or with none. It does not depend on other exports."""
    removals = dedup.find(project.store, names, project.config.dedup, verdict_set)
    return _funnel(project, names, verdict_set, removals, tokens)


def _funnel(
    project: OpenProject,
    names: Sequence[str],
    verdict_set: str,
    removals: Manifest | None,
    tokens: TokenCounts | None,
) -> Funnel:
    stage_counts: Counter[str] = Counter()
    archived = 0
    rule_order: list[str] = []
    for name in names:
        archived += sum(
            page_records(manifest.counts) for manifest in manifests(project.store, "archive", name)
        )
        for judged in judged_parts(project.store, name, verdict_set):
            stage_counts.update(judged.counts)
            rule_order.extend(rule for rule in rule_names(judged.recipe) if rule not in rule_order)
    removed = _removal_stages(removals) if removals is not None else []
    cut = cut_results.find(project.store, names, project.config.dedup, removals, verdict_set)
    removed += _cut_stages(cut) if cut is not None else []
    seen = sum(count for key, count in stage_counts.items() if key.endswith(".documents"))
    return make_funnel(names, stage_counts, rule_order, removed, tokens, archived - seen)


def render(funnel: Funnel, console: "Console") -> None:
    """Print the funnel as a table."""
    from rich.table import Table  # noqa: PLC0415 - exports use the funnel and print none

    counted = f"; tokens of {funnel.tokenizer}" if funnel.tokenizer else ""
    title = f"Funnel of {', '.join(funnel.sources)} (filters in this order{counted})"
    table = Table(title=title, title_justify="left")
    # On a narrow terminal the name is folded, and no number is cut off.
    table.add_column("stage", overflow="fold")
    for column in ("records", "share", "payload", "text", "tokens"):
        table.add_column(column, justify="right", no_wrap=True)
    total = funnel.records
    table.add_row("archived records", f"{total:,}", "100.0 %", byte_text(funnel.payload_bytes), "", "")
    for stage in funnel.stages[:-1]:
        table.add_row(f"- {stage.name}", *_cells(stage, total), style="dim")
    table.add_row(funnel.kept.name, *_cells(funnel.kept, total), style="bold")
    console.print(table)
    early = [stage for stage in funnel.stages if stage.name.startswith(f"{EARLY_RULE}/")]
    if early:
        records, payload = (
            sum(stage.documents for stage in early),
            sum(stage.payload_bytes for stage in early),
        )
        console.print(
            f"before anything was extracted: {records:,} of {total:,} records, {byte_text(payload)} of "
            f"{byte_text(funnel.payload_bytes)}",
            style="dim",
        )
    if funnel.normalised:
        console.print(
            f"{funnel.normalised:,} texts of inputs lost white space at an end, CR, NUL or a byte order mark; "
            "`thresher ingest --exact-text` keeps them as they are",
            style="dim",
        )
    for flag in flags(funnel):
        console.print(f"far from publications: {flag}", style="yellow")
    if any(stage.tokens is not None and stage.tokens_estimated for stage in funnel.stages):
        console.print(
            "~ tokens of text that was not exported: its bytes at the rate of the exported documents",
            style="dim",
        )


def plot(funnel: Funnel, path: Path) -> None:
    """Draw the funnel as a PNG, SVG or PDF file. Raise `InputError` if matplotlib or the format is missing."""
    save_figure(funnel_figure(funnel), path, "--plot")


def funnel_figure(funnel: Funnel) -> "Figure":
    """Return the picture of the funnel. Raise `InputError` if matplotlib is missing."""
    figure_of = require_plots()
    figure = figure_of(figsize=(9, 1.2 + 0.32 * (len(funnel.stages) + 1)), layout="constrained")
    axes = figure.subplots()
    left = total = funnel.records
    for row, stage in enumerate(funnel.stages):
        last = row == len(funnel.stages) - 1
        axes.barh(row, left, color="#d9e2ec")
        axes.barh(
            row,
            stage.documents,
            left=0 if last else left - stage.documents,
            color="#2f855a" if last else "#c05621",
        )
        share = stage.documents / total if total else 0.0
        axes.text(total * 1.01, row, f"{stage.documents:,} ({share:.1%})", va="center", fontsize=8)
        left -= 0 if last else stage.documents
    axes.set_yticks(range(len(funnel.stages)), [stage.name for stage in funnel.stages], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, max(total, 1) * 1.22)
    axes.set_xlabel("records")
    axes.set_title(f"{', '.join(funnel.sources)}: {total:,} archived records, {funnel.kept.documents:,} kept")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def require_plots() -> "type[Figure]":
    """Return the class of pictures. Raise `InputError` if matplotlib is missing."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an optional extra
    except ImportError:
        raise missing_extra("plot", "--plot needs matplotlib") from None
    return Figure


def save_figure(figure: "Figure", path: Path, option: str) -> None:
    """Write a picture. Raise `InputError`, which names the option, if the file or its format is impossible."""
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or error
        raise InputError(f"{option} {path}: cannot be written ({problem})") from None


def removed_ids(project: OpenProject, names: Sequence[str], verdict_set: str = "") -> frozenset[str]:
    """Return the ids of the documents that deduplication removed from these sources, those with too little text left
    included; none if it was not made.
    """
    removals = dedup.find(project.store, names, project.config.dedup, verdict_set)
    if removals is None:
        return frozenset()
    from thresher.storage import tables  # noqa: PLC0415 - the funnel reads no table

    schema = tables.columns(tables.REMOVALS, "id")
    removed = (
        str(id_)
        for output in removals.outputs
        for rows in tables.row_groups(project.store, output, schema)
        for id_ in rows["id"].to_pylist()
    )
    cut = cut_results.find(project.store, names, project.config.dedup, removals, verdict_set)
    return frozenset((*removed, *cut_results.short_ids(project.store, cut)))


def _removal_stages(manifest: Manifest) -> list[Stage]:
    return [
        Stage(
            name=f"dedup/{kind}",
            documents=manifest.counts[f"{kind}.documents"],
            payload_bytes=manifest.counts[f"{kind}.payload_bytes"],
            text_bytes=manifest.counts[f"{kind}.text_bytes"],
        )
        for kind in REMOVAL_KINDS
        if manifest.counts.get(f"{kind}.documents")
    ]


def _cut_stages(manifest: Manifest) -> list[Stage]:
    """Return what was cut, by kind, and the documents of which too little was left."""
    return [
        Stage(
            name=f"{cut_results.RULE}/{name}",
            documents=manifest.counts.get(f"{name}.documents", 0),
            payload_bytes=manifest.counts.get(f"{name}.payload_bytes", 0),
            text_bytes=manifest.counts[f"{name}.text_bytes"],
        )
        for name in (*CUT_KINDS, cut_results.TOO_SHORT)
        if manifest.counts.get(f"{name}.text_bytes")
    ]


def _tokens(project: OpenProject, removals: Manifest | None) -> TokenCounts | None:
    if removals is None:
        return None
    (table,) = removals.outputs
    for manifest in manifests(project.store, "export"):
        recipe: Mapping[str, Any] = manifest.recipe
        if (recipe["mix"], recipe["tokenizer"] is None) == (None, False) and any(
            span.sha256 == table.sha256 and span.name == table.name for span in manifest.inputs
        ):
            return TokenCounts(
                tokenizer=str(recipe["tokenizer"]["name"]),
                tokens=manifest.counts["tokens"],
                text_bytes=manifest.counts["text_bytes"],
            )
    return None


def _cells(stage: Stage, total: int) -> tuple[str, ...]:
    share = stage.documents / total if total else 0.0
    tokens = "" if stage.tokens is None else f"{'~' if stage.tokens_estimated else ''}{stage.tokens:,}"
    return (
        f"{stage.documents:,}",
        f"{share:.1%}".replace("%", " %"),
        byte_text(stage.payload_bytes),
        byte_text(stage.text_bytes),
        tokens,
    )
