"""The figures of `thresher status` in Prometheus' text format 0.0.4, for a textfile collector or a cron job."""

from collections.abc import Iterator, Mapping
from typing import Any

from storage.cache.cache_counters import CacheStats, exposition

RECORDS = ("archived", "processed", "kept")
URLS = ("waiting", "later", "leased", "tail", "scheduled")
HOSTS = {"known": "hosts", "held": "held", "dead": "dead"}


def metrics(found: Mapping[str, Any], cache: CacheStats | None) -> str:
    """Return the figures of `pipeline.reports.status.project_status`, and of this machine's cache if there is one."""
    text = "".join(f"{line}\n" for line in _lines(found["sources"]))
    return text + (exposition(cache) if cache is not None else "")


def _lines(sources: list[Mapping[str, Any]]) -> Iterator[str]:
    yield from _family("thresher_records", "Archived records of a source, by how far they have come.")
    for source in sources:
        for state in RECORDS:
            yield _sample("thresher_records", source["name"], source[state], state=state)
    crawls = [source for source in sources if source["frontier"] is not None]
    yield from _frontiers(crawls)
    yield from _family(
        "thresher_workers_without_web", "Workers that are kept from the web by a fault on their side."
    )
    for crawl in crawls:
        yield _sample("thresher_workers_without_web", crawl["name"], len(crawl["outages"]))
    followed = [crawl for crawl in crawls if crawl["flow"] is not None]
    yield from _family("thresher_backlog_bytes", "Archived bytes that wait to be processed.")
    for crawl in followed:
        yield _sample("thresher_backlog_bytes", crawl["name"], crawl["flow"]["estimate"])
    yield from _family("thresher_gate_shut", "1 while a crawl waits for processing.")
    for crawl in followed:
        yield _sample("thresher_gate_shut", crawl["name"], int(crawl["flow"]["shut"]))


def _frontiers(crawls: list[Mapping[str, Any]]) -> Iterator[str]:
    yield from _family(
        "thresher_urls",
        "URLs of a crawl that wait (tail: those of them in storage), are leased, or are visited again at a time.",
    )
    for crawl in crawls:
        for state in URLS:
            yield _sample("thresher_urls", crawl["name"], crawl["frontier"][state], state=state)
    yield from _family("thresher_settled_urls", "Settled URLs of a crawl, by outcome.")
    for crawl in crawls:
        for outcome, count in sorted(crawl["frontier"]["outcomes"].items()):
            yield _sample("thresher_settled_urls", crawl["name"], count, outcome=outcome)
    yield from _family("thresher_hosts", "Hosts of a crawl: known, held after failures, given up.")
    for crawl in crawls:
        for state, key in HOSTS.items():
            yield _sample("thresher_hosts", crawl["name"], crawl["frontier"][key], state=state)
    yield from _family("thresher_discarded_urls", "URLs that a crawl found and did not let in, by reason.")
    for crawl in crawls:
        for reason, count in sorted(crawl["frontier"]["discarded"].items()):
            yield _sample("thresher_discarded_urls", crawl["name"], count, reason=reason)


def _family(name: str, description: str) -> tuple[str, str]:
    return f"# HELP {name} {description}", f"# TYPE {name} gauge"


def _sample(name: str, source: str, value: int, **labels: str) -> str:
    # Names of sources and states hold no characters that need escapes.
    pairs = ",".join(f'{key}="{text}"' for key, text in {"source": source, **labels}.items())
    return f"{name}{{{pairs}}} {value}"
