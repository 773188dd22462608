"""Show duplicates: tables in a terminal, and the matrix of the sources as a picture."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from thresher.core import InputError
from thresher.core.installation.extras import missing_extra
from thresher.pipeline.duplicates.dedup_audit import DedupAudit
from thresher.pipeline.duplicates.duplicate_report import DuplicateReport

SHOWN_PAIRS = 20


def render_report(found: DuplicateReport, console: Console) -> None:
    """Print the clusters, the domains and the matrix."""
    total = sum(found.documents)
    share = found.removed / total if total else 0.0
    console.print(
        f"{found.removed:,} of {total:,} kept documents are duplicates ({share:.1%})", highlight=False
    )
    if found.cut is not None:
        console.print(found.cut.line, highlight=False)
    if not found.removed:
        return
    clusters = _table("Largest clusters", "documents", "source", "the URL that stays, and some of the others")
    for cluster in found.clusters:
        hidden = cluster.size - 1 - len(cluster.members)
        more = (f"and {hidden:,} more",) if hidden else ()
        urls = (cluster.url or "(no URL)", *(f"  {url or '(no URL)'}" for url in cluster.members), *more)
        clusters.add_row(f"{cluster.size:,}", cluster.source, "\n".join(urls))
    console.print(clusters)
    domains = _table("Domains by duplicates", "duplicates", "of kept", "domain")
    for each in found.domains:
        domains.add_row(f"{each.removed:,}", f"{each.removed / each.documents:.1%}", each.domain)
    console.print(domains)
    matrix = Table(
        title="Duplicates of a source (row) by the source whose document stays", title_justify="left"
    )
    matrix.add_column("source", overflow="fold")
    for name in found.sources:
        matrix.add_column(name, justify="right")
    for name, row in zip(found.sources, found.matrix, strict=True):
        matrix.add_row(name, *(f"{count:,}" for count in row))
    console.print(matrix)


def render_audit(found: DedupAudit, console: Console) -> None:
    """Print recall, precision, and pairs that differ."""
    lines = (
        f"audit of {found.sampled:,} of {found.documents:,} documents, Jaccard similarity >= {found.threshold}:",
        f"  recall {found.recall:.4f}: of {found.pairs:,} similar pairs, {len(found.missed):,} stay both",
        f"  {found.site_text_pairs:,} more pairs stay, because they share only the text of their site",
        f"  precision {found.precision:.4f}: of {found.removals:,} removals, {len(found.wrong):,} are wrong",
    )
    console.print("\n".join(lines), highlight=False)
    differ = sorted(
        (*found.missed, *found.wrong), key=lambda pair: (-abs(pair.jaccard - found.threshold), pair.id)
    )
    if not differ:
        return
    hidden = len(differ) - SHOWN_PAIRS
    more = f"; {hidden:,} more with --json" if hidden > 0 else ""
    table = _table(f"Pairs that differ{more}", "Jaccard", "estimate", "decision", "documents")
    for pair in differ[:SHOWN_PAIRS]:
        estimate = "" if pair.estimate is None else f"{pair.estimate:.3f}"
        table.add_row(
            f"{pair.jaccard:.3f}",
            estimate,
            pair.kind,
            f"{pair.url or pair.id}\n{pair.other_url or pair.other_id}",
        )
    console.print(table)


def check_plot(path: Path) -> None:
    """Raise `InputError` if matplotlib is missing."""
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an optional extra
    except ImportError:
        raise missing_extra("plot", "--plot needs matplotlib") from None
    assert mpl, path


def draw_matrix(found: DuplicateReport, path: Path) -> None:
    """Draw the matrix as a PNG, SVG or PDF file: shares of the kept documents of a row's source. Raise `InputError` if
    the file cannot be written.
    """
    check_plot(path)
    from matplotlib.figure import Figure  # noqa: PLC0415 - an optional extra

    count = len(found.sources)
    figure = Figure(figsize=(3.5 + 0.6 * count, 2.6 + 0.5 * count), layout="constrained")
    axes = figure.subplots()
    shares = [
        [removed / documents if documents else 0.0 for removed in row]
        for row, documents in zip(found.matrix, found.documents, strict=True)
    ]
    largest = max(*map(max, shares), 0.01)
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=largest, aspect="auto")
    for row, values in enumerate(shares):
        for column, share in enumerate(values):
            if found.matrix[row][column]:
                axes.text(
                    column,
                    row,
                    f"{share:.1%}",
                    ha="center",
                    va="center",
                    fontsize=8,
                    color="white" if share > largest / 2 else "black",
                )
    axes.set_xticks(range(count), found.sources, rotation=45, ha="right")
    axes.set_yticks(range(count), found.sources)
    axes.set_xlabel("source whose document stays")
    axes.set_ylabel("source of the duplicate")
    figure.colorbar(image, format=lambda share, _: f"{share:.0%}", label="of the kept documents")
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise InputError(f"--plot {path}: {error}") from None


def _table(title: str, *names: str) -> Table:
    table = Table(title=title, title_justify="left")
    *numbers, last = names
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(last, overflow="fold")
    return table
