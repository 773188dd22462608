"""A crawl belongs to one storage and has one contact, delay and budget; a caller with others is refused by name."""

import asyncio
import shutil
import threading
import time
from functools import partial
from itertools import pairwise

import pytest
from redis import Redis

from tests.crawler.server import Server, links, page
from tests.pipeline.crawl_projects import ask, project_at, run_crawl, seed_urls
from thresher.core import CorruptData, InputError
from thresher.frontier import CrawlSettings, Frontier
from thresher.frontier.link.embedded import embedded_server
from thresher.pipeline.commands.app import app
from thresher.pipeline.crawls import operator_commands
from thresher.pipeline.integrity.verify import verify_storage
from thresher.pipeline.reports.status import project_status
from thresher.pipeline.terminal.output import run_command
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.storage_id import ensure_storage_id, read_storage_id


@pytest.fixture
def redis(tmp_path):
    with embedded_server(tmp_path / "redis") as address:
        yield address


@pytest.fixture
def site():
    with Server({"/": links("/a", "/b"), "/a": page("a"), "/b": page("b")}).in_thread() as server:
        yield server


# One storage


def test_a_second_project_is_refused_by_name_and_changes_nothing(tmp_path, redis, site):
    one, other = project_at(tmp_path / "one", redis), project_at(tmp_path / "two", redis)
    seed_urls(one, f"{site.url}/")
    with pytest.raises(InputError) as refused:
        seed_urls(other, f"{site.url}/other")
    said = str(refused.value)
    assert said.startswith("crawl 'main': its archive is in the storage ")
    assert one.store.uri in said
    assert other.store.uri in said
    assert not list(other.store.list())
    with pytest.raises(InputError, match="its archive is in the storage"):
        run_crawl(other)
    assert ask(one, lambda frontier: frontier.stats()).seen == 1


def test_another_name_is_another_crawl(tmp_path, redis, site):
    from thresher.pipeline.crawls.seed import SeedPlan, add_seeds

    one, other = project_at(tmp_path / "one", redis), project_at(tmp_path / "two", redis)
    seed_urls(one, f"{site.url}/")
    from thresher.frontier import canonicalize

    assert (
        add_seeds(other, iter([canonicalize(f"{site.url}/")]), SeedPlan(crawl="theirs"), "a test").added == 1
    )


@pytest.mark.slow
def test_a_storage_that_was_moved_is_the_same(tmp_path, redis, site):
    project = project_at(tmp_path / "one", redis)
    seed_urls(project, f"{site.url}/")
    assert run_crawl(project).outcomes["fetched"] == 3
    (tmp_path / "one" / "data").rename(tmp_path / "one" / "moved")
    moved = project_at(tmp_path / "one", redis, storage="moved")
    assert run_crawl(moved).is_drained
    assert read_storage_id(moved.store) == ensure_storage_id(moved.store)


@pytest.mark.parametrize("what", ["emptied", pytest.param("another", marks=pytest.mark.slow)])
def test_an_empty_directory_in_the_place_of_the_storage_is_an_error_and_not_drained(
    tmp_path, redis, site, what
):
    project = project_at(tmp_path / "one", redis)
    seed_urls(project, f"{site.url}/")
    run_crawl(project)
    if what == "emptied":
        shutil.rmtree(tmp_path / "one" / "data")
        said = (
            f"was in the storage {project.store.uri}, and that is not the same storage any more.*rebuild main"
        )
    else:
        project, before = project_at(tmp_path / "one", redis, storage="empty"), project
        said = f"is in the storage {before.store.uri}, and project.storage here is {project.store.uri}"
    for verb in (
        lambda: run_crawl(project),
        lambda: seed_urls(project, f"{site.url}/x"),
        lambda: operator_commands.hold(project, "main", "127.0.0.1", "1h"),
    ):
        with pytest.raises(InputError, match=said):
            verb()
    assert not list(project.store.list())
    with pytest.raises(InputError, match=f"nothing is sealed in the storage {project.store.uri}"):
        verify_storage(project.store, LineProgress())
    assert project_status(project)["sources"] == []
    assert project_status(project)["elsewhere"].keys() == {"main"}


def test_a_frontier_that_knows_nothing_of_what_is_archived_is_an_error(tmp_path, redis, site):
    project = project_at(tmp_path / "one", redis)
    seed_urls(project, f"{site.url}/")
    run_crawl(project)
    Redis.from_url(redis).flushall()
    for verb in (lambda: seed_urls(project, f"{site.url}/"), lambda: run_crawl(project)):
        with pytest.raises(
            InputError, match=r"has its archive, but the frontier does not know it.*rebuild main"
        ):
            verb()


def test_a_running_crawl_whose_frontier_is_lost_ends_with_an_error_and_is_not_drained(tmp_path, redis):
    def endless(path):
        time.sleep(0.01)
        return links(f"{path}1", f"{path}2")

    site = Server()
    site.fallback = endless
    with site.in_thread():
        project = project_at(tmp_path / "one", redis)
        seed_urls(project, f"{site.url}/x", scope="host")

        def flush():
            while len(site.requests) < 20:
                time.sleep(0.02)
            Redis.from_url(redis).flushall()

        threading.Thread(target=flush).start()
        with pytest.raises(CorruptData, match=r"crawl main: its frontier is gone.*frontier rebuild main"):
            run_crawl(project)


@pytest.mark.slow
def test_a_crawl_that_is_partly_lost_is_one_line_and_the_others_are_told_of(
    tmp_path, redis, site, capsys, caplog
):
    project = project_at(tmp_path, redis)
    seed_urls(project, f"{site.url}/")
    run_crawl(project)
    server = Redis.from_url(redis)
    server.sadd("thresher:crawls", "gone", "torn")
    ask(project, Frontier.stats, "torn")
    server.delete(*server.keys("thresher:{torn:*"))
    url = f"{site.url}/"
    for words, told in (
        (["status"], "main"),
        (["status", "--json"], '"waits"'),
        (["status", "--metrics"], 'source="main"'),
        (["verify"], "2 damaged"),
        (["show", url], "main: settled"),
    ):
        with pytest.raises(SystemExit) as ended:
            run_command(partial(app, [*words, "--project", str(tmp_path)]))
        said = capsys.readouterr()
        assert ended.value.code == (0 if words[0] == "show" else 1)
        assert told in said.out
        for crawl in ("gone", "torn"):
            assert (said.out + said.err + caplog.text).count(f"crawl {crawl}: its frontier is gone") == 1


# One contact, delay and budget


def test_settings_that_differ_are_refused_by_the_names_of_their_fields(tmp_path, redis, site):
    project = project_at(tmp_path, redis, min_delay=0.5)
    seed_urls(project, f"{site.url}/")
    other = project_at(tmp_path, redis, min_delay=0, contact="mailto:b@example.org", max_pages_per_host=7)
    for verb in (lambda: run_crawl(other), lambda: seed_urls(other, f"{site.url}/b")):
        with pytest.raises(InputError) as refused:
            verb()
        said = " ".join(str(refused.value).split())
        assert 'project.contact is "mailto:test@example.org", here "mailto:b@example.org"' in said
        assert "crawler.min_delay is 0.5, here 0" in said
        assert "crawler.min_ip_delay is 0.125, here 0" in said
        assert "crawler.max_pages_per_host is not set, here 7" in said
        assert "--update" in said
    assert not site.requests


def test_an_update_changes_them_for_all(tmp_path, redis, site):
    project = project_at(tmp_path, redis, min_delay=0.5)
    seed_urls(project, f"{site.url}/")
    other = project_at(tmp_path, redis, min_delay=0, contact="mailto:b@example.org")
    run_crawl(other, update=True)
    assert b"User-Agent: thresher/0.1.0 (+mailto:b@example.org)" in site.requests[-1]
    with pytest.raises(InputError, match=r"crawler\.min_delay is 0, here 0\.5"):
        run_crawl(project)


def test_a_contact_may_be_said_after_the_seeds(tmp_path, redis, site):
    seed_urls(project_at(tmp_path, redis, contact=""), f"{site.url}/")
    run_crawl(project_at(tmp_path, redis))
    assert ask(project_at(tmp_path, redis), settings).contact == "mailto:test@example.org"
    seed_urls(project_at(tmp_path, redis, contact=""), f"{site.url}/c")


async def settings(frontier):
    return frontier.crawl.settings


def test_what_an_operator_says_needs_no_settings(tmp_path, redis, site):
    project = project_at(tmp_path, redis)
    seed_urls(project, f"{site.url}/")
    operator_commands.hold(project_at(tmp_path, redis, min_delay=3), "main", "127.0.0.1", "1s")


def test_a_worker_that_runs_takes_up_an_update(tmp_path, redis):
    """Asked as fast as it answers; what it is asked after the update keeps the new delay."""
    asked, updated = [], threading.Event()

    async def answer(_, writer):
        asked.append(time.monotonic())
        while len(asked) > 20 and not updated.is_set():  # noqa: ASYNC110 - another thread sets it
            await asyncio.sleep(0.005)
        writer.write(links(*(f"/{len(asked)}-{i}" for i in range(3))))

    site = Server()
    site.fallback = lambda _: answer
    with site.in_thread():
        project = project_at(tmp_path, redis)
        seed_urls(project, f"{site.url}/x", scope="host")
        moments = []

        def update():
            # Sixteen are open at once with a host that has no delay: all that were leased under it have been sent.
            while len(asked) < 20 + 16:
                time.sleep(0.005)
            now = CrawlSettings(contact="mailto:test@example.org", min_delay_ms=200, min_ip_delay_ms=0)
            ask(project, lambda frontier: frontier.crawl.update_settings(now))
            moments.append(time.monotonic())
            updated.set()

        threading.Thread(target=update).start()
        run_crawl(project, max_pages=40)
    after = [at for at in asked if at > moments[0]]
    assert len(after) >= 3
    assert min(late - early for early, late in pairwise(after)) >= 0.2
