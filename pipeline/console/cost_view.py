"""`cost_view`: what a project cost, as the console shows it. Pure."""

from thresher.pipeline.console.models.storage_models import CostLine, CostView
from thresher.pipeline.reports.cost import ProjectCost, Usage, money


def cost_view(cost: ProjectCost) -> CostView:
    """Return the costs, those of sources and steps with the largest first."""

    def line(name: str, usage: Usage) -> CostLine:
        priced = money(usage, cost.prices)
        return CostLine(
            name=name,
            cpu_s=usage.cpu_s,
            bytes_received=usage.bytes_received,
            bytes_written=usage.bytes_written,
            bytes_stored=usage.bytes_stored,
            once=priced.once,
            monthly=priced.monthly,
        )

    return CostView(
        has_prices=cost.prices.is_set,
        currency=cost.prices.currency,
        total=line("all", cost.total),
        sources=sorted((line(*each) for each in cost.sources.items()), key=lambda each: -each.cpu_s),
        steps=sorted((line(*each) for each in cost.steps.items()), key=lambda each: -each.cpu_s),
        kept_tokens=cost.kept_tokens,
        per_million_tokens=cost.per_million_tokens,
        has_crawl_figures=cost.has_crawl_figures,
    )
