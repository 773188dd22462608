"""`error_examples`: some URLs for each reason for which pages of a crawl failed, from sealed files of its log.

The Manifest of a log file counts its pages by `outcome:reason`, and the catalog has these counts. So only files that
have an example are read, one for each reason at most, and only up to the example.
"""

from collections import defaultdict

from thresher.storage.catalog import Catalog, sums
from thresher.storage.crawllog.log_line import read
from thresher.storage.crawllog.log_writer import STEP_NAME
from thresher.storage.manifest import load_manifest
from thresher.storage.store import Store

EXAMPLES = 3
"""URLs of one reason."""
MAX_FILES = 12
"""Log files that are read; reasons beyond that have no example."""
NEWEST_FILES = 100
"""Log files whose counts are looked at."""
MAX_LINES = 200_000
"""Lines that are read of one file."""


def error_examples(store: Store, catalog: Catalog, crawl: str) -> dict[str, list[str]]:
    """Return some URLs by `outcome:reason`, as the counts of the frontier name reasons."""
    wanted: defaultdict[str, set[str]] = defaultdict(set)
    seen: set[str] = set()
    for part in catalog.query(sums.newest_parts, STEP_NAME, crawl, NEWEST_FILES):
        new = {key for key, count in part.counts.items() if count and ":" in key} - seen
        if new and len(wanted) < MAX_FILES:
            wanted[part.manifest] = new
            seen |= new
    found: defaultdict[str, list[str]] = defaultdict(list)
    for manifest, keys in wanted.items():
        for output in load_manifest(store, manifest).outputs:
            _read(store, output.name, keys, found)
    return dict(found)


def _read(store: Store, name: str, keys: set[str], found: dict[str, list[str]]) -> None:
    missing = set(keys)
    for number, line in enumerate(read(store, name)):
        key = f"{line.outcome}:{line.reason}"
        if key in missing:
            found.setdefault(key, []).append(line.url)
            if len(found[key]) >= EXAMPLES:
                missing.discard(key)
        if not missing or number >= MAX_LINES:
            return
