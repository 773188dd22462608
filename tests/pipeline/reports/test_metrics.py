"""The status as Prometheus reads it."""

from dataclasses import asdict

import pytest
from prometheus_client.parser import text_string_to_metric_families

from thresher.core import CorruptData, Unavailable
from thresher.frontier import CrawlFigures, FleetState, Member, Wanted, WorkerFigures, WorkerReport
from thresher.pipeline.configuration import load
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.prices import Prices
from thresher.pipeline.reports import status
from thresher.pipeline.reports.cost import ProjectCost, Usage
from thresher.pipeline.reports.metric_families import FAMILIES, series_names
from thresher.pipeline.reports.metrics import metrics, project_metrics, readable_status
from thresher.storage.cache.cache_counters import CacheStats

FIGURES = CrawlFigures(
    sums={
        "crawler": WorkerFigures(
            requests=20,
            bytes_received=1_000,
            bytes_stored=700,
            cpu_us=2_500_000,
            store_us=3_000_000,
            gate_wait_us=500_000,
            politeness_violations=1,
            store_calls=(5, 0, 2, 0, 0, 0, 1),
        ),
        "processor": WorkerFigures(parts=3, cpu_us=1_000_000, bytes_read=600, bytes_stored=300),
    },
    progress_ms={"crawler": 1_700_000_000_000},
    workers={
        "w": WorkerReport(kind="crawler", rss_bytes=100, figures=WorkerFigures()),
        "v": WorkerReport(kind="crawler", rss_bytes=50, figures=WorkerFigures()),
    },
)


def member(name, state, kind="crawler"):
    return Member(
        name=name,
        kind=kind,
        node="n",
        state=state,
        started_at_ms=0,
        seen_at_ms=0,
        restarts=0,
        cpu_seconds=0.0,
        rss_bytes=0,
        version="1",
    )


FLEET = FleetState(
    controller="c",
    controller_seen_at_ms=1,
    wanted=Wanted(crawlers=4, processors=2, exporters=0, is_paused=True, is_stopping=False, version="1"),
    members=(member("w", "running"), member("v", "lost")),
)
CRAWL = {
    "name": "docs",
    "archived": 10,
    "processed": 8,
    "kept": 2,
    "quarantined": 1,
    "unlogged": 0,
    "frontier": {
        "waiting": 5,
        "later": 0,
        "leased": 2,
        "tail": 4,
        "scheduled": 6,
        "hosts": 9,
        "held": 2,
        "dead": 1,
        "outcomes": {"fetched": 10, "failed": 1},
        "discarded": {"trap": 8},
    },
    "flow": {"estimate": 4096, "shut": True, "limit": 8192, "oldest_ms": 90_000},
    "outages": {"w": {"why": "no name server answers", "ms": 7_000}},
    "stalls": [5, 6],
    "figures": asdict(FIGURES),
    "fleet": asdict(FLEET),
}
INGEST = {
    "name": "cc",
    "archived": 1,
    "processed": 0,
    "kept": 0,
    "quarantined": 0,
    "unlogged": 0,
    "frontier": None,
    "flow": None,
    "outages": {},
    "stalls": [],
    "figures": None,
    "fleet": None,
}
STATUS = {
    "frontier_up": True,
    "damage": [],
    "lost": {"gone": "crawl gone: its frontier is gone"},
    "disks": [{"use": "storage", "free_bytes": 5, "size_bytes": 10}],
    "sources": [INGEST, CRAWL],
}
CACHE = CacheStats(
    hits=3, misses=1, bytes_hit=30, bytes_missed=10, evicted_blocks=0, bytes=10, blocks=1, errors=0
)
GIB = 1 << 30
COST = ProjectCost(
    sources={"docs": Usage(cpu_s=7_200.0, bytes_stored=2.0 * GIB)},
    steps={"crawl": Usage(), "process": Usage(cpu_s=60.0, bytes_read=600, bytes_written=300)},
    runs=(),
    total=Usage(cpu_s=7_200.0, bytes_stored=2.0 * GIB),
    prices=Prices(cpu_hour=0.5, gib_stored_month=0.02, currency="EUR"),
    kept_tokens=2_000_000,
    has_crawl_figures=True,
)


@pytest.mark.parametrize(
    "line",
    [
        'thresher_records{source="cc",state="kept"} 0.0',
        'thresher_records{source="docs",state="processed"} 8.0',
        'thresher_kept_ratio{source="docs"} 0.25',
        'thresher_urls{source="docs",state="tail"} 4.0',
        'thresher_hosts{source="docs",state="held"} 2.0',
        'thresher_discarded_urls_total{reason="trap",source="docs"} 8.0',
        'thresher_settled_urls_total{outcome="fetched",source="docs"} 10.0',
        'thresher_requests_total{source="docs"} 20.0',
        'thresher_politeness_violations_total{source="docs"} 1.0',
        'thresher_cpu_seconds_total{kind="crawler",source="docs"} 2.5',
        'thresher_cpu_seconds_total{kind="processor",source="docs"} 1.0',
        'thresher_parts_total{kind="processor",source="docs"} 3.0',
        'thresher_workers{kind="crawler",source="docs"} 2.0',
        'thresher_workers{kind="processor",source="docs"} 0.0',
        'thresher_resident_bytes{kind="crawler",source="docs"} 150.0',
        'thresher_store_call_seconds_bucket{le="0.005",source="docs"} 5.0',
        'thresher_store_call_seconds_bucket{le="0.1",source="docs"} 7.0',
        'thresher_store_call_seconds_bucket{le="10.0",source="docs"} 7.0',
        'thresher_store_call_seconds_bucket{le="+Inf",source="docs"} 8.0',
        'thresher_store_call_seconds_count{source="docs"} 8.0',
        'thresher_store_call_seconds_sum{source="docs"} 3.0',
        'thresher_last_progress_timestamp_seconds{kind="crawler",source="docs"} 1.7e+09',
        'thresher_backlog_bytes{source="docs"} 4096.0',
        'thresher_backlog_limit_bytes{source="docs"} 8192.0',
        'thresher_backlog_age_seconds{source="docs"} 90.0',
        'thresher_gate_shut{source="docs"} 1.0',
        'thresher_workers_without_web{source="docs"} 1.0',
        'thresher_workers_without_storage{source="docs"} 2.0',
        'thresher_fleet_wanted_members{kind="processor",source="docs"} 2.0',
        'thresher_fleet_members{kind="crawler",source="docs",state="running"} 1.0',
        'thresher_fleet_members{kind="crawler",source="docs",state="lost"} 1.0',
        'thresher_fleet_paused{source="docs"} 1.0',
        'thresher_crawl_lost{source="gone"} 1.0',
        'thresher_crawl_lost{source="docs"} 0.0',
        'thresher_disk_free_bytes{use="storage"} 5.0',
        "thresher_cache_hits_total 3.0",
        'thresher_run_cpu_seconds{step="process"} 60.0',
        'thresher_cost{currency="EUR",source="docs"} 1.0',
        'thresher_storage_cost_per_month{currency="EUR",source="docs"} 0.04',
        'thresher_cost_per_million_kept_tokens{currency="EUR"} 0.5',
        "thresher_exported_tokens 2e+06",
    ],
)
def test_every_figure_is_a_sample(line):
    assert line in metrics(STATUS, CACHE, COST).splitlines()


def test_everything_that_is_listed_is_exported_and_nothing_else():
    families = list(text_string_to_metric_families(metrics(STATUS, CACHE, COST)))
    assert {sample.name for family in families for sample in family.samples} == series_names()
    assert len(families) == len(FAMILIES)
    by_name = {
        (f"{family.name}_total" if family.type == "counter" else family.name): family for family in families
    }
    for family in FAMILIES:
        found = by_name[family.name]
        assert (found.type, found.documentation) == (family.type, family.help)
        for sample in found.samples:
            assert set(sample.labels) - {"le"} == set(family.labels)


def test_no_name_of_a_source_breaks_a_line():
    odd = {**INGEST, "name": 'a"b\nc\\'}
    text = metrics({**STATUS, "sources": [odd]}, None)
    (sample,) = [
        sample
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "thresher_records" and sample.labels["state"] == "kept"
    ]
    assert sample.labels["source"] == odd["name"]


def test_a_frontier_that_is_away_is_a_figure_and_no_error(tmp_path):
    (tmp_path / "thresher.toml").write_text(
        '[project]\ncontact = "mailto:a@example.org"\nredis = "unix:///nowhere/redis.sock"\n'
    )
    lines = project_metrics(OpenProject(config=load(tmp_path))).splitlines()
    assert "thresher_frontier_up 0.0" in lines
    assert any(line.startswith('thresher_disk_free_bytes{use="storage"}') for line in lines)


def test_a_damaged_manifest_is_a_figure_for_what_watches_and_an_error_for_others(tmp_path):
    _project(tmp_path)
    watching = OpenProject.at(tmp_path, shows_damage=True)
    assert "thresher_storage_damaged 0.0" in project_metrics(watching).splitlines()
    watching.store.put("manifests/process/main/1.json", b"{")
    watching.refresh_catalog()
    assert "thresher_storage_damaged 1.0" in project_metrics(watching).splitlines()
    assert "manifests/process/main/1.json is no Manifest" in watching.damage[0]
    with pytest.raises(CorruptData, match=r"main/1\.json"):
        project_metrics(OpenProject.at(tmp_path))
    watching.store.delete("manifests/process/main/1.json")
    watching.refresh_catalog()
    assert "thresher_storage_damaged 0.0" in project_metrics(watching).splitlines()


def test_other_errors_stay_errors(monkeypatch, tmp_path):
    def fail(_):
        raise ValueError("a defect")

    monkeypatch.setattr(status, "project_status", fail)
    with pytest.raises(ValueError, match="a defect"):
        readable_status(OpenProject(config=load(_project(tmp_path))))
    monkeypatch.setattr(status, "project_status", _away)
    assert readable_status(OpenProject(config=load(tmp_path)))["frontier_up"] is False


def _away(_):
    raise Unavailable("gone")


def _project(directory):
    (directory / "thresher.toml").write_text('[project]\ncontact = "mailto:a@example.org"\n')
    return directory
