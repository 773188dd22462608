"""`verify` and `status` say how many settled pages cannot be read."""

import json
from dataclasses import replace
from uuid import UUID

import pytest
import typer
from redis import Redis
from rich.console import Console

from tests.crawler.server import Server, links, page
from tests.pipeline.crawl_projects import crawl_in_process, project_at, seed_urls
from tests.storage.captures import capture
from tests.storage.crawllog.test_log_line import LINE
from thresher.frontier.link.embedded import embedded_server
from thresher.pipeline.integrity import reconcile
from thresher.pipeline.integrity.verify import verify_storage
from thresher.pipeline.integrity.verify_result import VerifyOptions, run_verify
from thresher.pipeline.reports.status import project_status, render
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.archive.archive_writer import ArchiveWriter
from thresher.storage.crawllog import log_line
from thresher.storage.crawllog.log_writer import CrawlLogWriter
from thresher.storage.warc.compression import compression_of, stem

PAGES = 6  # of the site that answer, one of them with 404


@pytest.fixture
def redis(tmp_path):
    with embedded_server(tmp_path / "redis") as address:
        yield address


@pytest.fixture
def project(tmp_path, redis):
    pages = {f"/{name}": page(name) for name in "abcd"}
    with Server({"/": links("/a", "/b", "/c", "/d", "/gone"), **pages}).in_thread() as site:
        project = project_at(tmp_path / "one", redis)
        seed_urls(project, f"{site.url}/")
        crawl_in_process(project)
        yield project


def verified(project):
    return verify_storage(project.store, LineProgress(), settled=reconcile.settled_pages(project).answers)


def lose(store, name):
    """An archive file and all that tells of it."""
    for each in (name, f"{stem(name)}.cdxj.gz", f"manifests/archive/{stem(name).removeprefix('warc/')}.json"):
        store.delete(each)


def archives(store):
    return [name for name in store.list("warc/") if compression_of(name)]


def test_all_that_is_settled_is_archived(project):
    assert reconcile.settled_pages(project).answers == {"main": PAGES}
    assert verified(project).damage == ()
    (source,) = project_status(project)["sources"]
    assert source["unlogged"] == 0


def test_pages_whose_records_are_nowhere_are_counted_in_one_line(project):
    for name in archives(project.store):
        lose(project.store, name)
    (line,) = verified(project).damage
    assert line.startswith(
        f"crawl main: {PAGES} pages are settled with a response, but the records of only 0 can be read: {PAGES} are lost; "
    )
    assert "`thresher frontier rebuild main --anew`" in line


def test_pages_that_the_log_does_not_have_are_counted_by_both(project):
    store = project.store
    for name in [*log_line.files(store, "main"), *store.list("manifests/log/")]:
        store.delete(name)
    (line,) = verified(project).damage
    assert f"{PAGES} are lost" in line
    found = project_status(project)
    assert found["sources"][0]["unlogged"] == PAGES
    console = Console(record=True, width=200)
    render(found, console)
    assert f"main: {PAGES} settled pages are missing in the log of the crawl; run `thresher verify`" in (
        console.export_text()
    )


def test_records_and_lines_of_open_files_count_once(project):
    """A worker is at work: it has archived a page, and written its line twice."""
    store = project.store
    archive = ArchiveWriter(store, "main", writer="w", user_agent="agent")
    log = CrawlLogWriter(store, "main", writer="w")
    record = UUID(int=7, version=4)
    ref = archive.append(capture(), record)
    for _ in range(2):
        log.append(replace(LINE, record=record.urn, file=ref.file, offset=ref.offset))
    log.commit()
    archive.commit()
    assert verify_storage(store, LineProgress(), settled={"main": PAGES + 1}).damage == ()
    (line,) = verify_storage(store, LineProgress(), settled={"main": PAGES + 2}).damage
    assert ": 1 are lost;" in line
    archive.abandon()


def test_a_line_whose_record_never_came_is_no_page(project):
    log = CrawlLogWriter(project.store, "main", writer="killed")
    log.append(replace(LINE, record="urn:uuid:00000000-0000-4000-8000-000000000001"))
    log.commit()
    assert verified(project).damage == ()
    (line,) = verify_storage(project.store, LineProgress(), settled={"main": PAGES + 1}).damage
    assert ": 1 are lost;" in line


@pytest.mark.parametrize("damaged", ["archive", "log"])
def test_what_was_given_up_is_not_lost_again(project, damaged):
    store = project.store
    names = archives(store) if damaged == "archive" else list(log_line.files(store, "main"))
    for name in names:
        data = bytearray(store.read(name))
        data[len(data) // 2] ^= 4
        store.delete(name)
        store.put(name, bytes(data))
    assert not [line for line in verified(project).damage if not line.startswith(("manifests/", names[0]))]
    assert verified(project).damage
    options = VerifyOptions(datasets=(), repair=False, accept_loss=True, deep=False)
    with pytest.raises(typer.Exit):
        run_verify(project.directory, options, as_json=True)
    assert verified(project).damage == ()


def test_the_command_fails_and_names_the_loss(project, capsys):
    for name in archives(project.store):
        lose(project.store, name)
    options = VerifyOptions(datasets=(), repair=False, accept_loss=False, deep=False)
    with pytest.raises(typer.Exit) as ended:
        run_verify(project.directory, options, as_json=True)
    assert ended.value.exit_code == 1
    said = capsys.readouterr()
    assert len([line for line in said.err.splitlines() if f"{PAGES} are lost" in line]) == 1
    assert len(json.loads(said.out)["damage"]) == 1


def test_a_frontier_that_is_gone_is_not_held_against_it(project, redis):
    Redis.from_url(redis).flushall()
    assert reconcile.settled_pages(project).answers == {}
    assert verified(project).damage == ()
