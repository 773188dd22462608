"""The figures of a project in Prometheus' text format, for `thresher status --metrics` and the console's `/metrics`.

`metric_families` has the names and meanings. A scrape reads the frontier and the catalog; it changes nothing. If the
frontier does not answer, the figures of the storage remain, and `thresher_frontier_up` is 0.
"""

from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from thresher.core import Unavailable
from thresher.core.call_times import BUCKETS_S
from thresher.frontier import CrawlFigures, WorkerFigures, WorkerReport
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.reports import status
from thresher.pipeline.reports.cost import ProjectCost, cost_of, money
from thresher.pipeline.reports.metric_families import BY_NAME, FAMILIES
from thresher.storage.cache.cache_counters import METRICS as CACHE_METRICS
from thresher.storage.cache.cache_counters import CacheStats

RECORDS = ("archived", "processed", "kept")
URLS = ("waiting", "later", "leased", "tail", "scheduled")
HOSTS = {"known": "hosts", "held": "held", "dead": "dead"}
MEMBER_STATES = ("starting", "running", "paused", "draining", "lost")
MICRO = 1_000_000

Sample = tuple[str, tuple[str, ...], Any]
"""Name of the family, values of its labels, and the number: for a histogram, its microseconds and its calls."""


def project_metrics(project: OpenProject, found: Mapping[str, Any] | None = None) -> str:
    """Return the metrics of a project. `found` is its `readable_status`, if the caller has it."""
    found = readable_status(project) if found is None else found
    return metrics(found, project.cache_stats, project_costs(project, found))


def readable_status(project: OpenProject) -> dict[str, Any]:
    """Return the status of a project; without the frontier's part if the frontier does not answer."""
    try:
        return status.project_status(project)
    except Unavailable:
        return status.storage_status(project)


def project_costs(project: OpenProject, found: Mapping[str, Any]) -> ProjectCost:
    """Return what the sources of a status cost. Tokens are those of the largest recorded export: later exports repeat
    the documents of earlier ones. Mixes do not count.
    """
    names = [source["name"] for source in found["sources"]]
    figures = {
        source["name"]: CrawlFigures(
            sums={kind: WorkerFigures(**sums) for kind, sums in source["figures"]["sums"].items()},
            workers={
                name: WorkerReport(
                    kind=report["kind"],
                    rss_bytes=report["rss_bytes"],
                    figures=WorkerFigures(**report["figures"]),
                )
                for name, report in source["figures"]["workers"].items()
            },
        )
        for source in found["sources"]
        if source["figures"]
    }
    wholes = [
        part.counts["tokens"]
        for part in project.catalog.parts("export")
        if {"tokens", "text_bytes"} <= part.counts.keys()
    ]
    tokens = max(wholes, default=None)
    return cost_of(project, names, tokens, figures if found["frontier_up"] else None)


def metrics(found: Mapping[str, Any], cache: CacheStats | None, cost: ProjectCost | None = None) -> str:
    """Return the metrics of a status (`pipeline.reports.status.project_status`), of this machine's cache if there is
    one, and of a cost.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Samples([*_samples(found), *_cache_samples(cache), *_cost_samples(cost)]))
    return generate_latest(registry).decode()


class _Samples:
    """Required by prometheus-client: something that collects metrics."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._samples = samples

    def collect(self) -> Iterator[Metric]:
        """Yield each family that has a sample, in the order of `FAMILIES`."""
        made: dict[str, Any] = {}
        for name, labels, value in self._samples:
            family = BY_NAME[name]
            if name not in made:
                made[name] = _METRICS[family.type](name, family.help, labels=family.labels)
            if family.type == "histogram":
                us, calls = value
                counts = zip((*map(str, BUCKETS_S), "+Inf"), accumulate(calls), strict=True)
                made[name].add_metric(labels, buckets=list(counts), sum_value=us / MICRO)
            else:
                made[name].add_metric(labels, value)
        return (made[family.name] for family in FAMILIES if family.name in made)


_METRICS = {
    "counter": CounterMetricFamily,
    "gauge": GaugeMetricFamily,
    "histogram": HistogramMetricFamily,
}


def _samples(found: Mapping[str, Any]) -> Iterator[Sample]:
    yield "thresher_build_info", (version("thresher"),), 1
    yield "thresher_frontier_up", (), int(found["frontier_up"])
    yield "thresher_storage_damaged", (), int(bool(found["damage"]))
    for name in found["lost"]:
        yield "thresher_crawl_lost", (name,), 1
    for disk in found["disks"]:
        yield "thresher_disk_free_bytes", (disk["use"],), disk["free_bytes"]
        yield "thresher_disk_size_bytes", (disk["use"],), disk["size_bytes"]
    for source in found["sources"]:
        name = source["name"]
        for state in RECORDS:
            yield "thresher_records", (name, state), source[state]
        if source["processed"]:
            yield "thresher_kept_ratio", (name,), source["kept"] / source["processed"]
        yield "thresher_quarantined_parts", (name,), source["quarantined"]
        if source["frontier"] is not None:
            yield from _crawl_samples(name, source)
            yield from _figure_samples(name, source["figures"])
        if source["flow"] is not None:
            flow = source["flow"]
            yield "thresher_backlog_bytes", (name,), flow["estimate"]
            yield "thresher_backlog_limit_bytes", (name,), flow["limit"]
            yield "thresher_backlog_age_seconds", (name,), flow["oldest_ms"] / 1000
            yield "thresher_gate_shut", (name,), int(flow["shut"])
        if source["fleet"] is not None:
            yield from _fleet_samples(name, source["fleet"])


def _crawl_samples(name: str, source: Mapping[str, Any]) -> Iterator[Sample]:
    frontier = source["frontier"]
    yield "thresher_crawl_lost", (name,), 0
    for state in URLS:
        yield "thresher_urls", (name, state), frontier[state]
    for state, key in HOSTS.items():
        yield "thresher_hosts", (name, state), frontier[key]
    for outcome, count in sorted(frontier["outcomes"].items()):
        yield "thresher_settled_urls_total", (name, outcome), count
    for reason, count in sorted(frontier["discarded"].items()):
        yield "thresher_discarded_urls_total", (name, reason), count
    yield "thresher_workers_without_web", (name,), len(source["outages"])
    yield "thresher_workers_without_storage", (name,), len(source["stalls"])
    yield "thresher_unlogged_urls", (name,), source["unlogged"]


def _figure_samples(name: str, figures: Mapping[str, Any]) -> Iterator[Sample]:
    none: Mapping[str, Any] = {}
    crawled = figures["sums"].get("crawler", none)
    # Zeros before the first report: a counter that first appears with its first event has no increase.
    yield "thresher_requests_total", (name,), crawled.get("requests", 0)
    yield "thresher_received_bytes_total", (name,), crawled.get("bytes_received", 0)
    yield "thresher_politeness_violations_total", (name,), crawled.get("politeness_violations", 0)
    yield "thresher_gate_wait_seconds_total", (name,), crawled.get("gate_wait_us", 0) / MICRO
    calls = crawled.get("store_calls", (0,) * (len(BUCKETS_S) + 1))
    yield "thresher_store_call_seconds", (name,), (crawled.get("store_us", 0), calls)
    for kind, sums in sorted(figures["sums"].items()):
        reports = [report for report in figures["workers"].values() if report["kind"] == kind]
        yield "thresher_workers", (name, kind), len(reports)
        yield "thresher_resident_bytes", (name, kind), sum(report["rss_bytes"] for report in reports)
        yield "thresher_cpu_seconds_total", (name, kind), sums["cpu_us"] / MICRO
        yield "thresher_read_bytes_total", (name, kind), sums["bytes_read"]
        yield "thresher_stored_bytes_total", (name, kind), sums["bytes_stored"]
        yield "thresher_parts_total", (name, kind), sums["parts"]
    for kind, at_ms in sorted(figures["progress_ms"].items()):
        yield "thresher_last_progress_timestamp_seconds", (name, kind), at_ms / 1000


def _fleet_samples(name: str, fleet: Mapping[str, Any]) -> Iterator[Sample]:
    wanted, members = fleet["wanted"], fleet["members"]
    yield "thresher_fleet_controller_up", (name,), int(fleet["controller"] is not None)
    yield "thresher_fleet_paused", (name,), int(wanted["is_paused"])
    for kind in ("crawler", "processor", "exporter"):
        yield (
            "thresher_fleet_wanted_members",
            (name, kind),
            0 if wanted["is_stopping"] else wanted[f"{kind}s"],
        )
        for state in MEMBER_STATES:
            number = sum(member["kind"] == kind and member["state"] == state for member in members)
            yield "thresher_fleet_members", (name, kind, state), number


def _cache_samples(cache: CacheStats | None) -> Iterator[Sample]:
    if cache is not None:
        for name, _, _, field in CACHE_METRICS:
            yield f"thresher_cache_{name}", (), getattr(cache, field)


def _cost_samples(cost: ProjectCost | None) -> Iterator[Sample]:
    if cost is None:
        return
    for step, usage in sorted(cost.steps.items()):
        if step != "crawl":  # no run; its workers report it
            yield "thresher_run_cpu_seconds", (step,), usage.cpu_s
            yield "thresher_run_read_bytes", (step,), usage.bytes_read
            yield "thresher_run_written_bytes", (step,), usage.bytes_written
    if cost.kept_tokens is not None:
        yield "thresher_exported_tokens", (), cost.kept_tokens
    for name, usage in cost.sources.items():
        yield "thresher_storage_bytes", (name,), usage.bytes_stored
        if cost.prices.is_set:
            priced, currency = money(usage, cost.prices), cost.prices.currency
            yield "thresher_cost", (name, currency), priced.once
            yield "thresher_storage_cost_per_month", (name, currency), priced.monthly
    if cost.per_million_tokens is not None:
        yield "thresher_cost_per_million_kept_tokens", (cost.prices.currency,), cost.per_million_tokens
