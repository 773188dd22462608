"""What a project cost: CPU, bytes moved and bytes stored, by crawl, step, run and domain, and what that is in money.

1. A crawl's own usage (requests, bytes received, CPU of its workers) is the sums of its workers' reports
   (`frontier.worker_figures`). A lost frontier takes them with it.
2. A step's usage is the sum over its recorded runs (`storage.run`), failed ones included, because they were paid for.
   A run over several sources is shared among them by their archived bytes. A processor that follows a crawl may run
   for weeks before its run is recorded, so the reports of live processors count until then.
3. Stored bytes are those of sealed archive files and of the outputs of `process`. Logs, Manifests and open files are
   not counted. Shards of an export lie in a directory of their own and are in its `manifest.json`.
4. CPU is not measured by domain. The CPU of a crawl and of its `process` runs is shared among the domains by the bytes
   that were received from each: reading a page takes time about in proportion to its size.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields

from thresher.core import InputError, Unavailable
from thresher.frontier import CrawlFigures, Frontier, WorkerFigures
from thresher.pipeline.domains import domain_of
from thresher.pipeline.open_crawl import ask_project
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.prices import Prices
from thresher.storage.crawllog.log_reader import read_in_order
from thresher.storage.storage_id import read_storage_id

GIB = 1 << 30
MILLION = 1_000_000
HOUR_S = 3_600
MAX_DOMAINS = 1_000_000
"""Domains that are counted at most; pages of further ones are counted under `(others)`."""
OTHERS = "(others)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What something took."""

    cpu_s: float = 0.0
    """CPU seconds."""
    bytes_received: float = 0.0
    """Bytes from websites."""
    bytes_read: float = 0.0
    """Bytes of archives that steps read."""
    bytes_written: float = 0.0
    """Bytes of outputs, with those that were made again."""
    bytes_stored: float = 0.0
    """Bytes that lie in storage now."""
    store_calls: float = 0.0
    """Calls of the storage by crawl workers. Those of steps are not counted."""

    def plus(self, other: "Usage") -> "Usage":
        """Return the sum."""
        return Usage(
            **{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)}
        )

    def times(self, share: float) -> "Usage":
        """Return a share of everything."""
        return Usage(**{each.name: getattr(self, each.name) * share for each in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """What a usage costs, in the currency of the prices."""

    once: float
    """For CPU, traffic and calls."""
    monthly: float
    """For storage, each month."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCost:
    """One recorded run of a step."""

    id: str
    step: str
    started_ms: int
    sources: tuple[str, ...]
    outcome: str
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainCost:
    """One registered domain of a crawl."""

    domain: str
    pages: int
    usage: Usage

    def to_dict(self, prices: Prices) -> dict[str, object]:
        """Return the JSON form."""
        priced = asdict(money(self.usage, prices))
        return {"domain": self.domain, "pages": self.pages, **asdict(self.usage), **priced}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectCost:
    """What some sources of a project cost so far."""

    sources: Mapping[str, Usage]
    """By crawl or ingest, its steps included."""
    steps: Mapping[str, Usage]
    """By step; `crawl` for the workers of crawls."""
    runs: tuple[RunCost, ...]
    """The recorded runs, the newest first."""
    total: Usage
    prices: Prices
    kept_tokens: int | None
    """Tokens of the documents that are kept; None if no export has counted any."""
    has_crawl_figures: bool
    """False if the frontier does not answer; then the usage of crawls is missing."""

    @property
    def per_million_tokens(self) -> float | None:
        """What a million kept tokens cost so far, storage not included; None without prices or tokens."""
        if not self.kept_tokens or not self.prices.is_set:
            return None
        return money(self.total, self.prices).once / self.kept_tokens * MILLION

    def to_dict(self) -> dict[str, object]:
        """Return the JSON form."""
        return {
            "currency": self.prices.currency,
            "has_prices": self.prices.is_set,
            "has_crawl_figures": self.has_crawl_figures,
            "sources": {name: self._row(usage) for name, usage in self.sources.items()},
            "steps": {name: self._row(usage) for name, usage in self.steps.items()},
            "runs": [
                {
                    "id": run.id,
                    "step": run.step,
                    "started_ms": run.started_ms,
                    "sources": list(run.sources),
                    "outcome": run.outcome,
                    **self._row(run.usage),
                }
                for run in self.runs
            ],
            "total": self._row(self.total),
            "kept_tokens": self.kept_tokens,
            "per_million_tokens": self.per_million_tokens,
        }

    def _row(self, usage: Usage) -> dict[str, float]:
        return {**asdict(usage), **asdict(money(usage, self.prices))}


def money(usage: Usage, prices: Prices) -> Money:
    """Return what a usage costs."""
    return Money(
        once=usage.cpu_s / HOUR_S * prices.cpu_hour
        + usage.bytes_received / GIB * prices.gib_ingress
        + usage.bytes_read / GIB * prices.gib_egress
        + usage.store_calls / MILLION * prices.request_million,
        monthly=usage.bytes_stored / GIB * prices.gib_stored_month,
    )


def project_cost(project: OpenProject, names: Sequence[str], kept_tokens: int | None) -> ProjectCost:
    """Return what these sources cost so far. Read the catalog, and the frontier if it answers."""
    try:
        figures = crawl_figures(project)
    except (Unavailable, InputError):
        figures = None
    return cost_of(project, names, kept_tokens, figures)


def cost_of(
    project: OpenProject,
    names: Sequence[str],
    kept_tokens: int | None,
    figures: Mapping[str, CrawlFigures] | None,
) -> ProjectCost:
    """Return what these sources cost so far, given the figures of the crawls; None if they are not known."""
    sources = {name: Usage() for name in names}
    steps: dict[str, Usage] = {}
    archived = {name: sum(file.bytes for file in project.catalog.files(name)) for name in names}
    for name in names:
        crawled = (figures or {}).get(name, CrawlFigures())
        usage = _crawl_usage(crawled.sums.get("crawler", WorkerFigures()), archived[name])
        stored = sum(part.bytes for part in project.catalog.parts("process", name))
        processed = _unrecorded_usage(crawled).plus(Usage(bytes_stored=stored))
        sources[name] = usage.plus(processed)
        steps["crawl"] = steps.get("crawl", Usage()).plus(usage)
        steps["process"] = steps.get("process", Usage()).plus(processed)
    runs = []
    for run, cost in project.catalog.runs():
        wanted = [name for name in run.sources if name in sources]
        if not wanted:
            continue
        shares = _shares(run.sources, archived)
        whole = Usage(cpu_s=cost.cpu_s, bytes_read=cost.bytes_read, bytes_written=cost.bytes_written)
        for name in wanted:
            sources[name] = sources[name].plus(whole.times(shares[name]))
        ours = whole.times(sum(shares[name] for name in wanted))
        steps[run.step] = steps.get(run.step, Usage()).plus(ours)
        runs.append(
            RunCost(
                id=run.id,
                step=run.step,
                started_ms=run.started_ms,
                sources=tuple(run.sources),
                outcome=run.outcome,
                usage=ours,
            )
        )
    total = Usage()
    for usage in sources.values():
        total = total.plus(usage)
    return ProjectCost(
        sources=sources,
        steps=steps,
        runs=tuple(reversed(runs)),
        total=total,
        prices=project.config.prices,
        kept_tokens=kept_tokens,
        has_crawl_figures=figures is not None,
    )


def domain_costs(project: OpenProject, crawl: str, most: int = 20) -> list[DomainCost]:
    """Return the registered domains of a crawl from which most bytes were received, and what each took. Read the whole
    log of the crawl.
    """
    pages, received = Counter[str](), Counter[str]()
    for line in read_in_order(project.store, crawl):
        domain = domain_of(line.url)
        if domain not in pages and len(pages) >= MAX_DOMAINS:
            domain = OTHERS
        pages[domain] += line.kind == "page"
        received[domain] += line.bytes or 0
    total = sum(received.values())
    whole = project_cost(project, [crawl], None).sources[crawl]
    return [
        DomainCost(domain=domain, pages=pages[domain], usage=whole.times(size / total if total else 0.0))
        for domain, size in received.most_common(most)
    ]


def crawl_figures(project: OpenProject) -> dict[str, CrawlFigures]:
    """Return the figures of the crawls of the project's frontier. Raise `Unavailable` if it does not answer."""
    storage_id = read_storage_id(project.store)

    async def figures(_: str, frontier: Frontier) -> CrawlFigures:
        storage = frontier.crawl.storage
        is_elsewhere = storage is not None and storage.id != storage_id
        return CrawlFigures() if is_elsewhere else await frontier.workers.figures()

    return ask_project(project, figures).answers


def _crawl_usage(sums: WorkerFigures, archived: int) -> Usage:
    return Usage(
        cpu_s=sums.cpu_us / MILLION,
        bytes_received=sums.bytes_received,
        bytes_written=sums.bytes_stored,
        bytes_stored=archived,
        store_calls=sum(sums.store_calls),
    )


def _unrecorded_usage(figures: CrawlFigures) -> Usage:
    """Return what the live processors of a crawl have reported. A processor withdraws its report before its run is
    recorded, so nothing counts twice.
    """
    usage = Usage()
    for report in figures.workers.values():
        if report.kind == "processor":
            made = report.figures
            usage = usage.plus(
                Usage(
                    cpu_s=made.cpu_us / MILLION, bytes_read=made.bytes_read, bytes_written=made.bytes_stored
                )
            )
    return usage


def _shares(sources: Iterable[str], archived: Mapping[str, int]) -> dict[str, float]:
    """Return the share of each source in a run. A source that is not asked for counts with the mean of the others."""
    names = list(sources)
    known = [archived[name] for name in names if name in archived]
    mean = sum(known) / len(known) if known else 0.0
    weights = {name: float(archived.get(name, mean)) for name in names}
    total = sum(weights.values())
    return {name: weight / total if total else 1 / len(names) for name, weight in weights.items()}
