"""The metrics that Thresher exports to Prometheus: name, type, labels and meaning.

`docs/reference/metrics.md` is generated from this list, and the dashboards and alert rules in `deploy/` may use these
names only. No label holds a URL or a host: the number of series depends on the number of crawls, kinds and reasons.
"""

from dataclasses import dataclass
from typing import Literal

from thresher.storage.cache.cache_counters import METRICS as CACHE_METRICS


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFamily:
    """One metric with all its labels."""

    name: str
    """As in the text format; a counter ends with `_total`."""
    type: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()


def _counter(name: str, help_text: str, *labels: str) -> MetricFamily:
    return MetricFamily(name=name, type="counter", help=help_text, labels=labels)


def _gauge(name: str, help_text: str, *labels: str) -> MetricFamily:
    return MetricFamily(name=name, type="gauge", help=help_text, labels=labels)


def _cache_family(name: str, kind: str, help_text: str) -> MetricFamily:
    full = f"thresher_cache_{name}"
    return _counter(full, help_text) if kind == "counter" else _gauge(full, help_text)


FAMILIES: tuple[MetricFamily, ...] = (
    _gauge("thresher_build_info", "1. The label has the version of Thresher that answers.", "version"),
    _gauge("thresher_frontier_up", "1 if the server of the frontier answers, otherwise 0."),
    _gauge("thresher_crawl_lost", "1 if the frontier of a crawl is lost and must be rebuilt.", "source"),
    _gauge(
        "thresher_storage_damaged",
        "1 if a Manifest is damaged, so that the figures of the storage are of everything else. 0 if none is.",
    ),
    # The crawl
    _gauge(
        "thresher_urls",
        "URLs of a crawl that wait (tail: those of them in storage), are leased, or are visited again at a time.",
        "source",
        "state",
    ),
    _gauge("thresher_hosts", "Hosts of a crawl: known, held after failures, given up.", "source", "state"),
    _counter("thresher_settled_urls_total", "Settled URLs of a crawl, by outcome.", "source", "outcome"),
    _counter(
        "thresher_discarded_urls_total",
        "URLs that a crawl found and did not let in, by reason.",
        "source",
        "reason",
    ),
    _counter(
        "thresher_requests_total", "Requests that the workers of a crawl sent, robots.txt included.", "source"
    ),
    _counter("thresher_received_bytes_total", "Bytes of responses from websites.", "source"),
    _counter(
        "thresher_politeness_violations_total",
        "Requests that began before the delay of their host was over. It must stay 0.",
        "source",
    ),
    _counter(
        "thresher_gate_wait_seconds_total",
        "Seconds for which the back-pressure gate kept workers from leasing, added up over the workers.",
        "source",
    ),
    # Workers of all kinds
    _gauge("thresher_workers", "Workers whose last report still counts.", "source", "kind"),
    _gauge("thresher_resident_bytes", "Resident memory of these workers, added up.", "source", "kind"),
    _gauge(
        "thresher_workers_without_web",
        "Workers that are kept from the web by a fault on their side.",
        "source",
    ),
    _gauge("thresher_workers_without_storage", "Workers whose storage does not answer.", "source"),
    _counter("thresher_cpu_seconds_total", "CPU of workers, user and system.", "source", "kind"),
    _counter("thresher_read_bytes_total", "Bytes of archives that parts were made from.", "source", "kind"),
    _counter("thresher_stored_bytes_total", "Bytes that workers wrote for storage.", "source", "kind"),
    _counter("thresher_parts_total", "Parts that were sealed.", "source", "kind"),
    _gauge(
        "thresher_last_progress_timestamp_seconds",
        "When a worker of the kind last stored something, in seconds since the epoch.",
        "source",
        "kind",
    ),
    MetricFamily(
        name="thresher_store_call_seconds",
        type="histogram",
        help="Calls of the storage by crawl workers, by duration.",
        labels=("source",),
    ),
    # Processing
    _gauge("thresher_records", "Archived records of a source, by how far they have come.", "source", "state"),
    _gauge("thresher_kept_ratio", "Share of the processed records that was kept.", "source"),
    _gauge("thresher_exported_tokens", "Tokens in the largest recorded export that is not a mix."),
    _gauge("thresher_quarantined_parts", "Parts that were given up.", "source"),
    _gauge("thresher_unlogged_urls", "Settled URLs that are missing in the log of the crawl.", "source"),
    _gauge("thresher_backlog_bytes", "Archived bytes that wait to be processed.", "source"),
    _gauge("thresher_backlog_limit_bytes", "Backlog above which the gate shuts.", "source"),
    _gauge(
        "thresher_backlog_age_seconds",
        "For how long the oldest file of the backlog has been sealed.",
        "source",
    ),
    _gauge("thresher_gate_shut", "1 while a crawl waits for processing.", "source"),
    # The fleet
    _gauge("thresher_fleet_controller_up", "1 if a controller holds the fleet.", "source"),
    _gauge("thresher_fleet_paused", "1 if the fleet is paused.", "source"),
    _gauge("thresher_fleet_wanted_members", "Members that the fleet should have.", "source", "kind"),
    _gauge("thresher_fleet_members", "Members of the fleet, by state.", "source", "kind", "state"),
    # Cost and disks
    _gauge(
        "thresher_run_cpu_seconds",
        "CPU of a step: of its recorded runs, and of processors that run now.",
        "step",
    ),
    _gauge("thresher_run_read_bytes", "Bytes of archives that these runs and processors read.", "step"),
    _gauge("thresher_run_written_bytes", "Bytes of outputs that these runs and processors wrote.", "step"),
    _gauge("thresher_storage_bytes", "Bytes of sealed archive files and of outputs of `process`.", "source"),
    _gauge("thresher_cost", "What a source cost so far at [prices], without storage.", "source", "currency"),
    _gauge("thresher_storage_cost_per_month", "What its storage costs a month.", "source", "currency"),
    _gauge("thresher_cost_per_million_kept_tokens", "Cost so far for each million kept tokens.", "currency"),
    _gauge("thresher_disk_free_bytes", "Room on a disk of the machine that answers.", "use"),
    _gauge("thresher_disk_size_bytes", "Size of that disk.", "use"),
    *(_cache_family(name, kind, help_text) for name, kind, help_text, _ in CACHE_METRICS),
)
BY_NAME = {family.name: family for family in FAMILIES}


def series_names() -> frozenset[str]:
    """Return the names of all series that a scrape may hold."""
    suffixes = {"histogram": ("_bucket", "_sum", "_count")}
    return frozenset(
        f"{family.name}{suffix}" for family in FAMILIES for suffix in suffixes.get(family.type, ("",))
    )
