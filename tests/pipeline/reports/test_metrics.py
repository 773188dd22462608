"""The status as Prometheus reads it."""

from pipeline.reports.metrics import metrics
from storage.cache.cache_counters import CacheStats

CRAWL = {
    "name": "docs",
    "archived": 10,
    "processed": 7,
    "kept": 3,
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
    "flow": {"estimate": 4096, "shut": True},
    "outages": {"w": {"why": "no name server answers", "ms": 7_000}},
}
INGEST = {
    "name": "cc",
    "archived": 1,
    "processed": 1,
    "kept": 1,
    "frontier": None,
    "flow": None,
    "outages": {},
}


def test_every_figure_is_a_sample_of_its_family():
    lines = metrics({"sources": [INGEST, CRAWL]}, None).splitlines()
    assert 'thresher_records{source="cc",state="kept"} 1' in lines
    assert 'thresher_records{source="docs",state="processed"} 7' in lines
    assert 'thresher_urls{source="docs",state="waiting"} 5' in lines
    assert 'thresher_urls{source="docs",state="tail"} 4' in lines
    assert 'thresher_hosts{source="docs",state="held"} 2' in lines
    assert 'thresher_discarded_urls{source="docs",reason="trap"} 8' in lines
    assert 'thresher_settled_urls{source="docs",outcome="fetched"} 10' in lines
    assert 'thresher_backlog_bytes{source="docs"} 4096' in lines
    assert 'thresher_gate_shut{source="docs"} 1' in lines
    assert 'thresher_workers_without_web{source="docs"} 1' in lines
    families = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    samples = [line.partition("{")[0] for line in lines if not line.startswith("#")]
    assert set(samples) <= set(families)
    assert len(families) == len(set(families))


def test_the_cache_is_told_of_where_there_is_one():
    stats = CacheStats(
        hits=3, misses=1, bytes_hit=30, bytes_missed=10, evicted_blocks=0, bytes=10, blocks=1, errors=0
    )
    assert "thresher_cache_hits_total 3\n" in metrics({"sources": []}, stats)
