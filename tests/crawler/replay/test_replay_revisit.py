"""A worker dies between the commit of a revisit record and the settlement of its lease: nothing of the page is lost."""

import gzip
import tracemalloc

import pytest

from tests.crawler.crawls.test_crawl import archived, everybody
from tests.crawler.flat_settings import wire_client
from tests.crawler.server import page
from thresher.crawler.replay.replay import recover
from thresher.crawler.worker import run_worker
from thresher.frontier import Outcome
from thresher.storage.archive.archive_writer import ArchiveWriter, CaptureMetadata, Revisit
from thresher.storage.archive.record_ids import record_id
from thresher.storage.directory_store import DirectoryStore

SAME = page('<a href="x">x</a>' + "the same text on both pages " * 60)
"""A body that leads elsewhere from each page that has it."""
LONG = 8 << 20
"""Bytes of a body that is short as it is sent."""


def fetched(crawl, url):
    async def fetch(_):
        client = wire_client("t", max_body=100_000, timeout=2, allow_networks=("127.0.0.0/8",))
        try:
            return await client.get(url)
        finally:
            await client.close()

    return crawl.ask(fetch)


def leased(crawl, worker):
    async def lease(frontier):
        return (await frontier.lease(1, worker=worker, lease_ms=60_000))[0]

    return crawl.ask(lease)


def recovered(crawl):
    return crawl.ask(
        lambda frontier: recover(DirectoryStore(crawl.root), frontier, everybody, crawl=crawl.name)
    )


def dead(crawl, worker, *, compression="gzip", revisit=None, pages=2):
    """Archive what a lease yields as that worker would, and die before it is settled."""
    archive = ArchiveWriter(
        DirectoryStore(crawl.root), crawl.name, writer=worker, user_agent="t", compression=compression
    )
    refs = []
    for _ in range(pages):
        lease = leased(crawl, worker)
        capture = fetched(crawl, lease.url)
        refs.append(
            archive.append(
                capture,
                record_id(crawl.name, worker, lease.token),
                metadata=CaptureMetadata(),
                revisit=revisit,
            )
        )
        archive.commit()
    return archive, refs


@pytest.mark.parametrize("compression", ["gzip", pytest.param("zstd", marks=pytest.mark.slow)])
@pytest.mark.parametrize("sealed", [False, True])
def test_a_revisit_is_settled_with_the_links_of_the_record_that_it_refers_to(
    crawl, site, compression, sealed
):
    site.answers |= {"/one/": SAME, "/two/": SAME, "/one/x": page("1"), "/two/x": page("2")}
    site.answers["/robots.txt"] = page("", status="404 Not Found")
    crawl.seed(f"{site.url}/one/", f"{site.url}/two/")
    settle_robots(crawl)
    archive, _ = dead(crawl, "dead", compression=compression)
    archive.seal() if sealed else archive.abandon()
    assert recovered(crawl) == 2
    assert recovered(crawl) == 0
    stats = crawl.stats
    assert stats.outcomes[Outcome.FETCHED] == 2
    assert stats.waiting == 2
    run_worker(crawl.config("next"))
    assert {path: count for path, count in site.paths.items() if path != "/robots.txt"} == {
        "/one/": 1,
        "/two/": 1,
        "/one/x": 1,
        "/two/x": 1,
    }


def test_the_next_worker_does_not_repeat_payloads_that_a_dead_one_archived(crawl, site):
    site.answers |= {"/one/": SAME, "/two/": SAME}
    site.answers["/robots.txt"] = page("", status="404 Not Found")
    crawl.seed(f"{site.url}/one/", f"{site.url}/two/", max_depth=0)
    settle_robots(crawl)
    archive, _ = dead(crawl, "dead", pages=1)
    archive.abandon()
    assert recovered(crawl) == 1
    run_worker(crawl.config("next"))
    first, second = (
        record
        for record in records(crawl)
        if record.type in {"response", "revisit"} and "robots.txt" not in record.url
    )
    assert (first.type, second.type) == ("response", "revisit")
    assert second.revisit.refers_to == first.record_id
    assert site.paths["/one/"] == site.paths["/two/"] == 1


def settle_robots(crawl):
    lease = leased(crawl, "robots")
    archive = ArchiveWriter(DirectoryStore(crawl.root), crawl.name, writer="robots", user_agent="t")
    archive.append(fetched(crawl, lease.url), record_id(crawl.name, "robots", lease.token))
    archive.commit()
    archive.abandon()
    assert recovered(crawl) == 1


def test_a_page_whose_original_record_is_missing_is_fetched_again(crawl, site):
    site.answers |= {"/one/": SAME, "/two/": SAME}
    site.answers["/robots.txt"] = page("", status="404 Not Found")
    crawl.seed(f"{site.url}/one/", f"{site.url}/two/")
    settle_robots(crawl)
    nowhere = Revisit(
        profile="identical-payload-digest",
        refers_to="urn:uuid:99999999-2222-4333-8444-555555555555",
        uri=f"{site.url}/zero/",
        date_ms=1,
    )
    archive, _ = dead(crawl, "dead", revisit=nowhere)
    archive.abandon()
    assert recovered(crawl) == 0
    assert crawl.stats.leased == 0
    run_worker(crawl.config("next"))
    assert site.paths["/one/"] == site.paths["/two/"] == 2


def test_an_unchanged_page_needs_no_original(crawl, site):
    unchanged = b'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n'
    site.answers |= {"/one/": unchanged, "/two/": unchanged}
    site.answers["/robots.txt"] = page("", status="404 Not Found")
    crawl.seed(f"{site.url}/one/", f"{site.url}/two/")
    settle_robots(crawl)
    before = Revisit(
        profile="server-not-modified",
        refers_to="urn:uuid:99999999-2222-4333-8444-555555555555",
        uri=f"{site.url}/one/",
        date_ms=1,
    )
    archive, _ = dead(crawl, "dead", revisit=before)
    archive.abandon()
    assert recovered(crawl) == 2
    assert crawl.stats.leased == 0


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_a_crawl_writes_a_payload_once_after_it_is_durable(crawl, site, compression):
    same = 'the same text <a href="/%d">next</a>' + "words " * 300

    def answer(path):
        return page(same.replace("%d", "1")) if path.startswith("/same") else None

    site.fallback = answer
    site.answers["/"] = page("".join(f'<a href="/same{number}">x</a>' for number in range(40)))
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w", compression=compression, min_delay_s=0.02))
    kinds = [record.type for record in records(crawl) if "/same" in record.url and record.type != "request"]
    assert len([kind for kind in kinds if kind in {"response", "revisit"}]) == 40
    assert "revisit" in kinds
    originals = {record.record_id for record in records(crawl) if record.type == "response"}
    revisits = [record for record in records(crawl) if record.type == "revisit"]
    assert all(record.revisit.refers_to in originals for record in revisits)


def records(crawl):
    if list((crawl.root / "warc" / crawl.name).glob("*.warc.gz")):
        return list(archived(crawl))
    from tests.storage.reading import read

    return [
        record
        for path in sorted((crawl.root / "warc" / crawl.name).glob("*.warc.zst"))
        for record in read(path)
    ]


@pytest.mark.parametrize("revisits", [pytest.param(False, marks=pytest.mark.slow), True])
def test_payloads_are_in_memory_for_one_lease_at_a_time(crawl, site, revisits):
    paths = [f"/{number}" for number in range(6)]
    for number, path in enumerate(paths):
        body = b"<p>" + bytes([number // 2 if revisits else number]) * LONG
        site.answers[path] = page(gzip.compress(body), "Content-Encoding: gzip")
    site.answers["/robots.txt"] = page("", status="404 Not Found")
    crawl.seed(*(f"{site.url}{path}" for path in paths))
    settle_robots(crawl)
    archive, _ = dead(crawl, "dead", pages=len(paths))
    archive.seal()
    tracemalloc.start()
    try:
        assert recovered(crawl) == len(paths)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5 * LONG
    assert crawl.stats.outcomes[Outcome.FETCHED] == len(paths)
