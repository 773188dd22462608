"""The arithmetic of docs/guides/sizing.md: machines, memory and storage of a crawl, from measured figures.

usage: python bench/pipeline/sizing.py

Each figure is one of bench/RESULTS.md or of the tables of the guide; `tests/deploy/test_sizing.py` holds them together.
The script prints the table of the guide.
"""

from dataclasses import dataclass
from math import ceil

WARC_BYTES = 25_629
REST_BYTES = 115 + 41 + 2_225 + 109 + 426 + 9
"""Index, log, documents, verdicts, signatures, manifests."""
CRAWLED_A_CORE = 414
PROCESSED_A_CORE = 105
EXPORTED_A_CORE = 4_260
HOST_BYTES, SEEN_BYTES, HOT_BYTES, TAIL_BYTES = 456, 6.1, 130, 0.9
OVERHEAD = 1.3
HOT_A_HOST = 63
AOF_BYTES = 1_400
SETTLED_A_CORE = 5_360
"""URLs leased, released and settled by a core of the frontier's server with 10 million URLs."""
LINK_US = 10.1
LINKS_A_PAGE = 80
DEDUP_US = 37
INDEX_BYTES = 1_139

# What cannot be measured here. The guide says so.
SLOWER_WEB = 3
"""Crawlers beyond those of the measurement, which has neither TLS nor slow hosts."""
KEPT = 0.3
URLS_A_PAGE = 3
"""URLs that the frontier has seen for each page that is fetched."""
PAGES_A_HOST = 100
MASTER_GB = 48
"""Memory that a server of 64 GB gives its data."""
DAY_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawl:
    pages: int
    days: int

    @property
    def pages_a_second(self) -> float:
        return self.pages / (self.days * DAY_S)

    @property
    def crawl_cores(self) -> int:
        return ceil(SLOWER_WEB * self.pages_a_second / CRAWLED_A_CORE)

    @property
    def process_cores(self) -> int:
        return ceil(self.pages_a_second / PROCESSED_A_CORE)

    @property
    def frontier_gb(self) -> float:
        hosts, seen = self.pages / PAGES_A_HOST, self.pages * URLS_A_PAGE
        waiting = seen - self.pages
        hot = min(hosts * HOT_A_HOST, waiting)
        parts = (hosts * HOST_BYTES, seen * SEEN_BYTES, hot * HOT_BYTES, (waiting - hot) * TAIL_BYTES)
        return OVERHEAD * sum(parts) / 1e9

    @property
    def masters(self) -> int:
        return ceil(self.frontier_gb / MASTER_GB)

    @property
    def frontier_cores(self) -> float:
        """Busy cores of all masters together."""
        return self.pages_a_second * (1 / SETTLED_A_CORE + LINKS_A_PAGE * LINK_US / 1e6)

    @property
    def archive_tb(self) -> float:
        return self.pages * WARC_BYTES / 1e12

    @property
    def rest_tb(self) -> float:
        return self.pages * REST_BYTES / 1e12

    @property
    def megabytes_a_second(self) -> float:
        return self.pages_a_second * WARC_BYTES / 1e6

    @property
    def aof_tb(self) -> float:
        return self.pages * AOF_BYTES / 1e12

    @property
    def dedup_core_hours(self) -> float:
        return self.pages * KEPT * DEDUP_US / 1e6 / 3600

    @property
    def index_tb(self) -> float:
        return self.pages * KEPT * INDEX_BYTES / 1e12

    @property
    def export_core_hours(self) -> float:
        return self.pages * KEPT / EXPORTED_A_CORE / 3600


CRAWLS = {
    "10 million pages": Crawl(pages=10_000_000, days=7),
    "1 billion": Crawl(pages=1_000_000_000, days=30),
    "10 billion": Crawl(pages=10_000_000_000, days=90),
}
ROWS = {
    "days": lambda crawl: f"{crawl.days}",
    "pages a second": lambda crawl: f"{crawl.pages_a_second:,.0f}",
    "cores that crawl": lambda crawl: f"{crawl.crawl_cores:,}",
    "cores that process": lambda crawl: f"{crawl.process_cores:,}",
    "core hours of one export": lambda crawl: f"{crawl.export_core_hours:,.1f}",
    "memory of the frontier, GB": lambda crawl: f"{crawl.frontier_gb:,.1f}",
    "servers of 64 GB for it, without replicas": lambda crawl: f"{crawl.masters:,}",
    "their busy cores, all together": lambda crawl: f"{crawl.frontier_cores:,.2f}",
    "written to their append-only files, TB": lambda crawl: f"{crawl.aof_tb:,.2f}",
    "archive, TB": lambda crawl: f"{crawl.archive_tb:,.2f}",
    "everything else in the store, TB": lambda crawl: f"{crawl.rest_tb:,.2f}",
    "to the store, MB a second": lambda crawl: f"{crawl.megabytes_a_second:,.1f}",
    "core hours of one dedup over all of it": lambda crawl: f"{crawl.dedup_core_hours:,.1f}",
    "its index in the store, TB": lambda crawl: f"{crawl.index_tb:,.3f}",
}


def table() -> str:
    """Return the table of the guide."""
    lines = ["| | " + " | ".join(CRAWLS) + " |", "|---|" + "---:|" * len(CRAWLS)]
    lines += [
        f"| {name} | " + " | ".join(row(crawl) for crawl in CRAWLS.values()) + " |"
        for name, row in ROWS.items()
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
