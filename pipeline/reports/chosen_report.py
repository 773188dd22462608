"""The report as a user chose it, by the command or in Python: funnel, groups, rules, costs, and pictures of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thresher.pipeline.funnel import Funnel
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.reports import cost, report

if TYPE_CHECKING:
    from thresher.pipeline.duplicates.duplicate_report import DuplicateReport
    from thresher.pipeline.reports.rule_scan import RuleScan


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """What a report has besides the funnel and the cost."""

    plot: Path | None = None
    """Picture of the funnel, or the whole report as HTML."""
    by: tuple[str, ...] = ()
    rules: bool = False
    histograms: Path | None = None
    """Picture of the measurements."""
    verdict_set: str = ""
    by_domain: bool = False
    every_group: bool = True
    """Whether documents are also counted by the groups that a reader did not ask for, if they are read."""

    @property
    def page(self) -> Path | None:
        """Return the file of the report as HTML, if it is asked for."""
        return self.plot if self.plot is not None and self.plot.suffix.lower() in {".html", ".htm"} else None

    @property
    def is_scanned(self) -> bool:
        """Whether all measurements are read."""
        return bool(self.by) or self.rules or self.histograms is not None or self.page is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectReport:
    """A report of some sources."""

    funnel: Funnel
    scan: "RuleScan | None"
    """What all measurements say; None if they were not read."""
    costs: cost.ProjectCost
    domains: Mapping[str, Sequence[cost.DomainCost]] = field(default_factory=dict)
    """Costs of the largest domains by source, if they are asked for."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report for JSON."""
        from thresher.pipeline.reports.published_bands import flags  # noqa: PLC0415 - tables need none

        domains = {
            name: [each.to_dict(self.costs.prices) for each in found] for name, found in self.domains.items()
        }
        scanned: dict[str, Any] = {}
        if self.scan is not None:
            from thresher.pipeline.reports.rule_tables import scan_dict  # noqa: PLC0415 - it imports Arrow

            scanned["scan"] = scan_dict(self.scan, self.funnel)
        flagged = [str(flag) for flag in flags(self.funnel)]
        costs = {**self.costs.to_dict(), "domains": domains}
        return {**self.funnel.to_dict(), "flags": flagged, **scanned, "cost": costs}


def make_report(project: OpenProject, sources: tuple[str, ...], options: ReportOptions) -> ProjectReport:
    """Return the report of some sources, and draw the pictures that are asked for."""
    funnel = report.funnel_of(project, sources, options.verdict_set)
    scan = _scan(project, sources, funnel, options) if options.is_scanned else None
    if options.plot is not None and options.page is None:
        report.plot(funnel, options.plot)
    return ProjectReport(
        funnel=funnel,
        scan=scan,
        costs=cost.project_cost(project, sources, funnel.kept.tokens),
        domains={name: cost.domain_costs(project, name) for name in sources} if options.by_domain else {},
    )


def make_duplicate_report(
    project: OpenProject, sources: tuple[str, ...], plot: Path | None, verdict_set: str
) -> "DuplicateReport":
    """Return the duplicates of some sources, and draw which source repeats which, if `plot` is given."""
    from dataclasses import replace  # noqa: PLC0415

    from thresher.pipeline.duplicates import cut_summary  # noqa: PLC0415 - other reports need nothing of this
    from thresher.pipeline.duplicates.duplicate_output import draw_matrix  # noqa: PLC0415
    from thresher.pipeline.duplicates.duplicate_report import duplicate_report  # noqa: PLC0415
    from thresher.pipeline.steps import dedup  # noqa: PLC0415

    removed = dedup.require_run(project.store, sources, project.config.dedup, verdict_set)
    found = duplicate_report(project.store, sources, removed, verdict_set)
    cut = cut_summary.find(project.store, sources, project.config.dedup, removed, verdict_set)
    found = replace(found, cut=cut)
    if plot is not None:
        draw_matrix(found, plot)
    return found


def _scan(
    project: OpenProject, sources: tuple[str, ...], funnel: Funnel, options: ReportOptions
) -> "RuleScan":
    from thresher.pipeline.reports.published_bands import flags  # noqa: PLC0415 - it takes longer than a funnel
    from thresher.pipeline.reports.rule_plots import draw_histograms, write_page  # noqa: PLC0415
    from thresher.pipeline.reports.rule_scan import GROUP_KINDS, report_columns, scan_rules  # noqa: PLC0415

    store, verdict_set = project.store, options.verdict_set
    columns = report_columns(store, sources, [name for name in options.by if name not in GROUP_KINDS])
    removed = report.removed_ids(project, sources, verdict_set)
    every = options.every_group or options.page is not None
    kinds = [kind for kind in GROUP_KINDS if every or kind in options.by]
    scan = scan_rules(store, sources, removed, verdict_set, kinds=kinds, columns=columns)
    if options.histograms is not None:
        draw_histograms(scan, options.histograms)
    if options.page is not None:
        write_page(funnel, scan, list(flags(funnel)), options.page)
    return scan
