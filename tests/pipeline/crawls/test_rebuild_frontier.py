"""A lost frontier is made from the archive: archived pages are not fetched again, and pages that were found wait."""

import shutil
import signal
import subprocess
import sys
import time

import pytest
from redis import Redis

from tests.crawler.server import Server, links, page, redirect
from tests.crawler.spiders.test_gates import gated
from tests.pipeline.crawl_projects import ask, crawl_in_process, project_at, run_crawl, seed_urls
from thresher.core import CorruptData, InputError
from thresher.crawler.replay import restore
from thresher.crawler.replay.restore import LinkScope
from thresher.frontier import Discovery, Scope, canonicalize
from thresher.frontier.link.embedded import embedded_server
from thresher.pipeline.crawls.rebuild_frontier import RebuildPlan, rebuild_frontier
from thresher.pipeline.crawls.retry import RetryPlan as Retry
from thresher.pipeline.crawls.retry import add_retries
from thresher.pipeline.integrity.verify import delete_damaged_logs, repair, verify_storage
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.crawllog.log_line import UNLOGGED
from thresher.storage.storage_id import ensure_storage_id

BROKEN = page("broken", status="500 Internal Server Error")
WEB = {
    "/": links("/a", "/b", "/moved", "/none", "/x/"),
    "/a": links("/a/1", "/a/2"),
    "/a/1": links("/a/1/deep"),
    "/b": links("/a", "/b/1"),
    "/moved": redirect("/moved/here"),
    "/moved/here": links("/moved/further"),
    "/x/": page('<html><head><meta name="robots" content="nofollow"></head><a href="/x/no">x</a>'),
}


@pytest.fixture
def redis(tmp_path):
    with embedded_server(tmp_path / "redis") as address:
        yield address


@pytest.fixture
def site():
    server = Server(WEB)
    server.fallback = lambda path: None if path == "/none" else page(f"<html>{path}")
    with server.in_thread():
        yield server


@pytest.fixture
def project(tmp_path, redis):
    return project_at(tmp_path, redis)


def lost(redis):
    Redis.from_url(redis).flushall()


def made(project, *, workers=1, **plan):
    return rebuild_frontier(project, RebuildPlan(crawl="main", **plan), workers, LineProgress())


def settled(stats):
    return {name: count for name, count in stats.outcomes.items() if count}


async def stats(frontier):
    return await frontier.stats()


def pages(site):
    return {path: times for path, times in site.paths.items() if path != "/robots.txt"}


def test_what_is_archived_is_not_fetched_again_and_what_it_led_to_waits(site: Server, redis, project):
    seed_urls(project, f"{site.url}/", max_depth=2)
    before = crawl_in_process(project, max_pages=4)
    lost(redis)
    after = made(project).stats
    assert (settled(after), after.reasons) == (settled(before), before.reasons)
    assert after.waiting == before.waiting > 0
    assert crawl_in_process(project).is_drained
    asked = pages(site)
    assert set(asked.values()) == {1}
    # Two links deep: what is three links away was found by nobody.
    deep = {"/a/1", "/a/2", "/b/1", "/moved/here", "/moved/further"}
    assert set(asked) == {"/", "/a", "/b", "/moved", "/none", "/x/"} | deep


def test_what_was_to_be_tried_again_waits_and_what_had_failed_can_be_retried(site: Server, redis, project):
    site.answers |= {"/a": BROKEN, "/b": BROKEN}
    seed_urls(project, f"{site.url}/a", scope="prefix")
    assert crawl_in_process(project).reasons == {"failed:status_500": 1}
    seed_urls(project, f"{site.url}/b", scope="prefix")
    before = crawl_in_process(project, max_time_s=0.5)
    assert before.later == 1
    lost(redis)
    after = made(project).stats
    assert (after.waiting, after.reasons) == (1, {"failed:status_500": 1})
    again = made(project).stats  # on a frontier that has everything it changes nothing
    assert (again.seen, again.waiting) == (after.seen, after.waiting)
    assert seed_urls(project, f"{site.url}/a").known == 1
    assert add_retries(project, Retry(crawl="main")).added == 1


@pytest.mark.slow
def test_a_page_that_sent_back_with_a_cookie_is_asked_once_more_and_no_more_than_that(
    site: Server, redis, tmp_path
):
    project = project_at(tmp_path, redis, cookies="true")
    site.fallback = lambda _: gated()
    site.answers = {"/robots.txt": page("", status="404 Not Found")}
    seed_urls(project, f"{site.url}/")
    assert settled(crawl_in_process(project, max_requests=2)) == {"redirected": 1}  # robots.txt, and the gate
    lost(redis)
    assert made(project).stats.waiting == 1
    assert settled(crawl_in_process(project)) == {"redirected": 1, "fetched": 3}
    lost(redis)
    assert made(project).stats.is_drained
    assert settled(crawl_in_process(project)) == {"redirected": 1, "fetched": 3}
    assert pages(site) == {"/": 2, "/one": 1, "/two": 1}


def test_what_a_log_without_its_manifest_says_is_settled_as_it_says(site: Server, redis, project):
    seed_urls(project, f"{site.url}/", max_depth=2)
    before = crawl_in_process(project, max_pages=4)
    for name in list(project.store.list("manifests/log/")):
        project.store.delete(name)
    lost(redis)
    after = made(project).stats
    assert (settled(after), after.reasons) == (settled(before), before.reasons)
    assert verify_storage(project.store, LineProgress()).damage == ()


def test_a_log_that_is_damaged_is_an_error_until_it_is_copied_back_or_given_up(site: Server, redis, project):
    seed_urls(project, f"{site.url}/", max_depth=2)
    before = crawl_in_process(project, max_pages=4)
    (name,) = project.store.list("log/")
    whole = project.store.read(name)
    project.store.delete(name)
    project.store.put(name, whole[:-9] + bytes((whole[-9] ^ 1,)) + whole[-8:])
    lost(redis)
    for command in (made, lambda _: add_retries(project, Retry(crawl="main"))):
        with pytest.raises((CorruptData, InputError)):
            command(project)
    with pytest.raises(CorruptData, match=f"{name} is no crawl log.*verify --accept-loss"):
        made(project)
    found = verify_storage(project.store, LineProgress())
    assert [line for line in found.damage if name in line] == list(found.damage) != []
    repair(project.store, found)
    assert project.store.exists(name)
    assert delete_damaged_logs(project.store, found) == [name]
    assert verify_storage(project.store, LineProgress()).damage == ()
    after = made(project)
    assert after.unlogged == sum(settled(before).values())
    assert after.stats.outcomes["fetched"] == before.outcomes["fetched"]


def test_an_id_of_the_storage_that_cannot_be_read_is_damage(site: Server, project):
    seed_urls(project, f"{site.url}/a")
    crawl_in_process(project)
    assert verify_storage(project.store, LineProgress()).damage == ()
    project.store.delete("storage.json")
    project.store.put("storage.json", b"{}")
    (line,) = verify_storage(project.store, LineProgress()).damage
    assert line.startswith("storage.json of the storage at file:")


def test_a_digit_of_the_storages_id_that_is_another_is_damage(project):
    name = ensure_storage_id(project.store)
    said = project.store.read("storage.json")
    other = f"{(int(name[0], 16) ^ 1):x}{name[1:]}"
    project.store.delete("storage.json")
    project.store.put("storage.json", said.replace(name.encode(), other.encode()))
    (line,) = verify_storage(project.store, LineProgress()).damage
    assert line.startswith("storage.json of the storage at file:")


def test_links_that_had_no_room_wait_once_there_is_some(site: Server, redis, tmp_path):
    project = project_at(tmp_path, redis, max_pages_per_host=3)
    seed_urls(project, f"{site.url}/", max_depth=1)
    crawl_in_process(project)
    assert len(pages(site)) == 3
    roomy = project_at(tmp_path, redis)
    assert (
        rebuild_frontier(roomy, RebuildPlan(crawl="main"), 1, LineProgress(), update=True).stats.waiting == 3
    )


def test_nothing_is_crawled_of_a_frontier_that_is_not_complete(site: Server, redis, project):
    seed_urls(project, f"{site.url}/")
    ask(project, lambda frontier: frontier.rebuild.start())  # somebody was killed
    for verb in (lambda: run_crawl(project), lambda: seed_urls(project, f"{site.url}/new")):
        with pytest.raises(
            InputError, match=r"a rebuild of its frontier from the archive is under way.*rebuild main"
        ):
            verb()


def test_without_its_log_an_archive_is_known_and_its_links_wait_where_it_is_said_how_far(
    site: Server, redis, project
):
    seed_urls(project, f"{site.url}/", max_depth=1)
    before = crawl_in_process(project)
    for name in [*project.store.list("log/"), *project.store.list("manifests/log/")]:
        project.store.delete(name)
    lost(redis)
    found = made(project)
    assert found.unlogged == sum(settled(before).values())
    assert set(found.stats.reasons) == {f"{name}:{UNLOGGED}" for name in settled(before)}
    assert found.stats.is_drained
    assert made(project, reach=LinkScope(scope="host", max_depth=1)).stats.waiting == 4
    assert crawl_in_process(project).is_drained
    assert set(pages(site).values()) == {1}


@pytest.mark.slow
def test_what_waits_in_a_storage_that_lost_it_is_found_anew(site: Server, redis, project):
    seed_urls(project, f"{site.url}/a", max_depth=1)
    crawl_in_process(project, max_pages=1)

    async def spilled(frontier):
        more = [canonicalize(f"{site.url}/more/{i}") for i in range(200)]
        await frontier.add([Discovery(url=url, scope=Scope.of("host", url)) for url in more])
        await frontier.tail(project.store, max_in_memory=0).spill()
        return await frontier.stats()

    assert ask(project, spilled).tail > 0
    for name in list(project.store.list("frontier/")):
        project.store.delete(name)
    with pytest.raises(CorruptData, match=r"of its URLs wait in frontier/main/.* --anew"):
        run_crawl(project)
    before = ask(project, stats)
    assert 0 < before.tail <= before.waiting
    assert not before.reasons, "what is lost is no settlement"
    after = made(project, anew=True).stats
    assert (settled(after), after.tail) == (settled(before), 0)
    assert crawl_in_process(project).is_drained
    assert set(pages(site).values()) == {1}


def test_what_is_another_projects_is_not_forgotten(site: Server, redis, project, tmp_path):
    seed_urls(project, f"{site.url}/a")
    other = project_at(tmp_path / "other", redis)
    for anew in (False, True):
        with pytest.raises(InputError, match=r"its archive is in the storage|has no archive of it"):
            made(other, anew=anew)
    assert ask(project, stats).waiting == 1


def test_a_crawl_whose_storage_was_emptied_on_purpose_can_begin_anew(site: Server, redis, project, tmp_path):
    seed_urls(project, f"{site.url}/b", max_depth=0)
    crawl_in_process(project)
    shutil.rmtree(tmp_path / "data")
    with pytest.raises(InputError, match="rebuild main --anew"):
        seed_urls(project, f"{site.url}/b")
    assert made(project, anew=True).stats.seen == 0
    assert seed_urls(project, f"{site.url}/b", max_depth=0).added == 1
    assert crawl_in_process(project).outcomes["fetched"] == 1


@pytest.mark.slow
def test_killed_between_two_files_it_goes_on_where_it_was(site: Server, redis, project, monkeypatch):
    seed_urls(project, f"{site.url}/", max_depth=2)
    for pages in (2, 2):
        crawl_in_process(project, max_pages=pages)  # each worker leaves a file of each kind
    before = crawl_in_process(project, max_pages=8)
    lost(redis)
    read, add = [], restore.add_links

    async def killed(store, frontier, name, *args):
        if len(read) == 1:
            raise KeyboardInterrupt
        read.append(name)
        await add(store, frontier, name, *args)

    monkeypatch.setattr(restore, "add_links", killed)
    with pytest.raises(KeyboardInterrupt):
        made(project)
    monkeypatch.setattr(restore, "add_links", add)
    known = []
    settle = restore.settle_logged

    async def counted(store, frontier, name):
        known.append(name)
        await settle(store, frontier, name)

    monkeypatch.setattr(restore, "settle_logged", counted)
    after = made(project).stats
    assert known == []
    assert (settled(after), after.waiting) == (settled(before), before.waiting)


def test_where_there_is_no_archive_there_is_nothing_to_make_a_frontier_from(project):
    with pytest.raises(InputError, match="has no archive of it"):
        made(project)


def test_pages_that_are_visited_again_are_visited_when_they_were_to_be(site: Server, redis, project):
    seed_urls(project, f"{site.url}/a/2", revisit_s=3600, scope="prefix")
    assert crawl_in_process(project).scheduled == 1
    lost(redis)
    after = made(project).stats
    assert (after.scheduled, settled(after), after.is_drained) == (1, {"fetched": 1}, True)


@pytest.mark.slow
def test_leftovers_of_a_killed_crawl_are_taken_up_first(tmp_path, redis):
    site = Server()
    site.fallback = lambda path: links(*(f"{path}{n}" for n in range(3)))
    with site.in_thread():
        project = project_at(tmp_path, redis)
        seed_urls(project, f"{site.url}/x")
        command = [sys.executable, "-m", "thresher", "crawl", "--project", str(tmp_path)]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
        while len(site.requests) < 60:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        while any(tmp_path.glob(".thresher/workers/main/*.lock")) and not _all_dead(tmp_path):
            time.sleep(0.05)
        lost(redis)
        after = made(project, workers=2).stats
        asked = site.paths
        assert after.outcomes["fetched"] >= 40
        crawl_in_process(project, max_pages=100)
    twice = sum(times - 1 for path, times in site.paths.items() if path != "/robots.txt" and times > 1)
    archived = after.outcomes["fetched"]
    assert twice <= sum(asked.values()) - archived  # what was on the wire at the kill, and nothing archived


def _all_dead(directory):
    import fcntl

    for lock in directory.glob(".thresher/workers/main/*.lock"):
        with lock.open("r+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
    return True
