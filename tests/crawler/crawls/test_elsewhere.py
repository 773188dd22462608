"""The machine of a worker burns, and its store cannot append: another machine finds everything that was settled."""

import pytest

from tests.crawler.crawls.test_crawl import SPAWN, everybody, slowly, start, wait_for, web
from tests.storage.captures import RECORD_ID, capture
from tests.storage.plain_store import PlainStore
from thresher.crawler.replay.replay import recover
from thresher.crawler.worker import run_worker
from thresher.storage.archive.archive_writer import ArchiveWriter, recover_archives
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import manifests
from thresher.storage.warc.records import read_records


def responses(store, crawl):
    """Return the URL path of every response in sealed files, repetitions included."""
    found = []
    for name in store.list(f"warc/{crawl.name}/"):
        if name.endswith(".warc.gz"):
            with store.open(name) as file:
                records = [record for record in read_records(file, name=name) if record.type == "response"]
            found += ["/" + record.url.split("/", 3)[3] for record in records]
    return sorted(found)


def take_up(crawl, store):
    """Recover the crawl as another machine does, in a process of its own."""
    crawl.ask(lambda frontier: recover(store, frontier, everybody, crawl=crawl.name))


def apart(target, *args):
    process = SPAWN.Process(target=target, args=args)
    process.start()
    process.join(60)
    assert process.exitcode == 0


@pytest.mark.parametrize("after", [pytest.param(30, marks=pytest.mark.slow), 120])
def test_everything_settled_is_in_the_sealed_archive_after_a_kill(crawl, site, after):
    store = PlainStore(DirectoryStore(crawl.root))
    site.fallback = slowly(web(200), 0.01)
    crawl.seed(f"{site.url}/0")
    process = start(crawl.config("burnt", store=store, concurrency=16))
    wait_for(lambda: crawl.stats.outcomes["fetched"] > after)
    process.kill()
    process.join()
    fetched = crawl.stats.outcomes["fetched"]
    assert list(store.list(f"warc/{crawl.name}/")) == []
    assert list(store.list(f"open/warc/{crawl.name}/"))
    apart(take_up, crawl, store)
    kept = responses(store, crawl)
    assert len(kept) == len(set(kept)) >= fetched + 1
    assert list(store.list(f"open/warc/{crawl.name}/")) == []
    assert crawl.stats.outcomes["fetched"] == len(kept) - 1
    apart(run_worker, crawl.config("next", store=store))
    assert crawl.stats.is_drained
    every = responses(store, crawl)
    assert every == sorted({"/robots.txt", *(f"/{n}" for n in range(200))})
    assert all(site.paths[path] == 1 for path in kept), "archived, and fetched again"
    sealed = {made.part for made in manifests(store, "archive", crawl.name)}
    assert len(sealed) == 2


@pytest.mark.slow
def test_two_simultaneous_recoveries_have_the_result_of_one(crawl, site):
    store = PlainStore(DirectoryStore(crawl.root))
    site.fallback = slowly(web(150), 0.01)
    crawl.seed(f"{site.url}/0")
    process = start(crawl.config("burnt", store=store, concurrency=16))
    wait_for(lambda: crawl.stats.outcomes["fetched"] > 60)
    process.kill()
    process.join()
    both = [SPAWN.Process(target=take_up, args=(crawl, store)) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join(60)
        assert one.exitcode == 0
    kept = responses(store, crawl)
    assert crawl.stats.outcomes["fetched"] == len(kept) - 1 == len(set(kept)) - 1
    assert list(store.list(f"open/warc/{crawl.name}/")) == []


def test_remains_of_a_sealed_file_are_removed_unread(tmp_path):
    store = PlainStore(DirectoryStore(tmp_path))
    archive = ArchiveWriter(store, "main", writer="w", user_agent="t")
    for number in range(3):
        archive.append(capture(b"x" * number), RECORD_ID)
        archive.commit()
    segments = {name: store.read(name) for name in store.list("open/")}
    archive.seal()
    before = {name: store.read(name) for name in store.list()}
    first, data = next(iter(segments.items()))
    store.put(first, data)
    assert recover_archives(store, "main", lambda _: True) == []
    assert {name: store.read(name) for name in store.list()} == before
