"""The cost of a project as tables on a terminal."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from thresher.pipeline.reports.cost import DomainCost, ProjectCost, Usage, money
from thresher.pipeline.terminal.byte_text import byte_text

COLUMNS = ("CPU", "received", "read", "written", "stored", "cost", "a month")


def render(cost: ProjectCost, console: Console) -> None:
    """Print the cost by source and by step, the sum, and the cost of a million kept tokens."""
    title = f"Cost ({cost.prices.currency})" if cost.prices.is_set else "Usage (set [prices] to see the cost)"
    table = _table(title, "source or step")
    for group in (cost.sources, cost.steps):
        _add_rows(table, group, cost)
        table.add_section()
    table.add_row("all", *_cells(cost.total, cost), style="bold")
    console.print(table)
    if not cost.has_crawl_figures:
        console.print("the frontier does not answer: CPU and traffic of crawls are missing", style="dim")
    price = cost.per_million_tokens
    if price is not None:
        console.print(
            f"a million kept tokens cost {price:,.4f} {cost.prices.currency} so far, without storage",
            highlight=False,
        )


def render_domains(domains: Sequence[DomainCost], cost: ProjectCost, console: Console) -> None:
    """Print the domains from which most bytes were received."""
    table = _table("Domains by bytes received (CPU is shared by bytes)", "domain", "pages")
    for each in domains:
        table.add_row(each.domain, f"{each.pages:,}", *_cells(each.usage, cost))
    console.print(table)


def _table(title: str, *names: str) -> Table:
    table = Table(title=title, title_justify="left")
    first, *others = names
    table.add_column(first, overflow="fold")
    for column in (*others, *COLUMNS):
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _add_rows(table: Table, group: Mapping[str, Usage], cost: ProjectCost) -> None:
    for name, usage in group.items():
        table.add_row(name, *_cells(usage, cost))


def _cells(usage: Usage, cost: ProjectCost) -> tuple[str, ...]:
    priced = money(usage, cost.prices)
    sums = (f"{priced.once:,.2f}", f"{priced.monthly:,.2f}") if cost.prices.is_set else ("-", "-")
    sizes = (usage.bytes_received, usage.bytes_read, usage.bytes_written, usage.bytes_stored)
    return f"{usage.cpu_s:,.0f} s", *(byte_text(size) for size in sizes), *sums
