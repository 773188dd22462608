"""Common Crawl is ingested from a server, and its pages are processed."""

from pathlib import Path

import pyarrow.parquet as pq

from tests.commoncrawl import CRAWL
from thresher.pipeline.configuration import FiltersConfig, parse
from thresher.pipeline.engine.run_step import run_step
from thresher.pipeline.inputs import commoncrawl_input
from thresher.pipeline.inputs.commoncrawl_selection import CommonCrawlSelection
from thresher.pipeline.steps import process
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.manifest import manifests
from thresher.storage.warc import records

ADDRESS = f"commoncrawl:{CRAWL}"
FILTERS = FiltersConfig(preset="none", languages=())


def config(base, directory=Path("/nowhere")):
    return parse(
        f'[project]\ncontact = "mailto:crawl@example.org"\n[ingest]\ncommoncrawl = "{base}"\n', directory
    )


def job(store, client, source="cc"):
    return commoncrawl_input.CommonCrawlJob(
        store=store, source=source, client=client, progress=LineProgress()
    )


def ingested(store, base, what=ADDRESS, source="cc", **wanted):
    """Whole files, or single records where any are selected."""
    asked = CommonCrawlSelection(**wanted)
    with commoncrawl_input.open_client(config(base)) as client:
        bring = commoncrawl_input.ingest_selections if asked.is_selective else commoncrawl_input.ingest_files
        return bring(job(store, client, source), [what], asked)


def archived(store, source="cc"):
    """Every record of a source's archive."""
    for manifest in manifests(store, "archive", source):
        with store.open(manifest.outputs[0].name) as file:
            yield from records.read_records(file, name=manifest.outputs[0].name)


def urls(store, source="cc"):
    return sorted(record.url for record in archived(store, source) if record.type == "response")


def processed(store, pool, source="cc"):
    """Documents by URL."""
    parts = process.parts(store, source, FILTERS)
    run_step(store, process.step(FILTERS), parts, process.work, pool=pool, progress=LineProgress())
    names = store.list(f"documents/{source}/")
    return {row["url"]: row for name in names for row in pq.read_table(store.path(name)).to_pylist()}
