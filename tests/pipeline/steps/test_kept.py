"""`archive = "kept"` from the seeds to the report: less is stored, and the funnel says where everything went."""

import asyncio
import multiprocessing
import os
import time
from collections import Counter
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.crawler.server import Server, page, redirect, spelled
from tests.pipeline.steps.test_page_filter import ENGLISH, GERMAN
from thresher.core import InputError
from thresher.frontier import Discovery, Frontier, Scope, canonicalize
from thresher.frontier.link.connect import connect
from thresher.pipeline import configuration
from thresher.pipeline.fleet.crawl_call import CrawlLimits
from thresher.pipeline.fleet.crawl_command import crawl
from thresher.pipeline.integrity.verify import verify_storage
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.recipe import process_sources
from thresher.pipeline.reports.report import funnel_of
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.manifest import manifests

TOML = """
[project]
contact = "mailto:test@example.org"
[crawler]
min_delay = 0.0
allow_networks = ["127.0.0.0/8"]
archive = "{archive}"
[filters]
preset = "none"
languages = ["en"]
"""
SIZE = 300
SPAWN = multiprocessing.get_context("spawn")


def answer(path):
    """Pages that link on: a third in English, a third in German, and what else there is."""
    if not path[1:].isdigit():
        return None
    number = int(path[1:])
    links = "".join(f'<a href="/{(number * 7 + step) % SIZE}">x</a>' for step in range(9))
    text = "".join(
        f"<p>{spelled(number)}: {(ENGLISH if number % 3 == 0 else GERMAN) * 3}</p>" for _ in range(4)
    )
    body = f"<html><body><article>{text}</article>{links}</body></html>"
    match number % 12:
        case 1 | 4:
            return page(body, status="404 Not Found")
        case 7:
            return page(b"\x89PNG" * 500 + b"%d" % number, kind="image/png")
        case 10:
            return redirect(f"/{number + 1}")
        case 11:
            return page(" ")
    return page(body)


def slowly(path):
    made = answer(path)

    async def later(_, writer):
        await asyncio.sleep(0.05)
        writer.write(made or page("", status="404 Not Found"))

    return later


@pytest.fixture(scope="module")
def site():
    with Server().in_thread() as server:
        server.fallback = slowly
        yield server


async def seed(address, url):
    redis = await connect(address)
    try:
        frontier = Frontier(redis, "main")
        await frontier.open()
        await frontier.add([Discovery(url=url, scope=Scope.of("host", url))])
    finally:
        await redis.aclose()


def seeded(directory, site, archive):
    directory.mkdir()
    (directory / "thresher.toml").write_text(TOML.format(archive=archive))
    project = OpenProject.at(directory)
    with project.frontier_address() as address:
        asyncio.run(seed(address, canonicalize(f"{site.url}/0")))
    return project


def finish(project):
    with project.frontier_address():
        crawled = crawl(project, "main", CrawlLimits(workers=1), LineProgress())
    assert crawled.stats.is_drained
    with project.worker_pool(1) as pool:
        process_sources(project, ("main",), pool, LineProgress())


def stages(project):
    return {stage.name: stage for stage in funnel_of(project, ("main",)).stages}


def warcs(project):
    return [made.outputs[0] for made in manifests(project.store, "archive", "main")]


def crawl_apart(directory):
    os.setsid()
    crawl(OpenProject.at(Path(directory)), "main", CrawlLimits(workers=1), LineProgress())


def crawl_and_kill(project, site):
    """SIGKILL of the command, its worker and its frontier's server, somewhere in the middle."""
    begun = len(site.requests)
    command = SPAWN.Process(target=crawl_apart, args=(project.directory,))
    command.start()
    deadline = time.monotonic() + 60
    while len(site.requests) - begun < SIZE // 3:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    family = [psutil.Process(command.pid), *psutil.Process(command.pid).children(recursive=True)]
    for process in family:
        process.kill()
    command.join()
    psutil.wait_procs(family, timeout=10)


def notes_and_responses(project):
    """How often each page is archived, or noted, by warcio's reading; and the notes' reasons."""
    found, reasons = Counter(), Counter()
    for output in warcs(project):
        with project.store.open(output.name) as file:
            for record in ArchiveIterator(file):
                line = record.content_stream().readline().decode("latin-1").strip()
                noted = record.rec_type == "metadata" and line.startswith("reason: ")
                if noted or record.rec_type in {"response", "revisit"}:
                    found[record.rec_headers.get_header("WARC-Target-URI")] += 1
                if noted:
                    reasons[line.removeprefix("reason: ")] += 1
    return found, reasons


@pytest.mark.slow
def test_less_is_archived_and_as_much_kept_and_every_page_counted_also_after_a_kill(tmp_path, site):
    every = seeded(tmp_path / "all", site, "all")
    finish(every)
    kept = seeded(tmp_path / "kept", site, "kept")
    crawl_and_kill(kept, site)
    finish(kept)

    found, reasons = notes_and_responses(kept)
    assert set(found) == {f"{site.url}/robots.txt", *(f"{site.url}/{n}" for n in range(SIZE))}
    assert set(found.values()) == {1}
    before, after = stages(every), stages(kept)
    noted = {name.partition("/")[2]: stage for name, stage in after.items() if name.startswith("archive/")}
    assert {reason: stage.documents for reason, stage in noted.items()} == reasons
    assert reasons == {"status": 50, "not_text": 25, "empty_body": 25, "other_language": 75}
    assert next(iter(after)).startswith("archive/")
    assert "not processed" not in after
    assert after["kept"] == before["kept"]
    totals = [funnel_of(project, ("main",)) for project in (every, kept)]
    assert totals[0].records == totals[1].records == SIZE + 1
    assert totals[0].payload_bytes == totals[1].payload_bytes
    assert sum(one.bytes for one in warcs(kept)) < sum(one.bytes for one in warcs(every))
    assert verify_storage(kept.store, LineProgress()).damage == ()

    rows = [
        row
        for path in (kept.directory / "data" / "verdicts" / "main").glob("*.parquet")
        for row in pq.read_table(path, columns=["keep", "rule", "reason"]).to_pylist()
    ]
    assert len(rows) == SIZE + 1
    assert Counter(row["reason"] for row in rows if row["rule"] == "archive" and not row["keep"]) == reasons


def test_there_is_no_third_kind_of_archive(tmp_path):
    with pytest.raises(InputError, match=r"crawler\.archive must be 'all' or 'kept', not 'some'"):
        configuration.parse('[crawler]\narchive = "some"\n', tmp_path)
