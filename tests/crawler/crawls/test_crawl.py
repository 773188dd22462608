"""A worker over a real frontier, a real archive and a real server."""

import asyncio
import gzip
import multiprocessing
import os
import signal
import time
from collections import Counter

import pytest

from tests.crawler.flat_settings import wire_client
from tests.crawler.server import Server, links, page, redirect, spelled
from tests.storage.reading import read
from thresher.core import CorruptData, Unavailable
from thresher.crawler.replay.replay import recover
from thresher.crawler.worker import run_worker
from thresher.frontier import Kind, Outcome
from thresher.storage.archive.archive_writer import ArchiveWriter
from thresher.storage.archive.record_ids import record_id
from thresher.storage.directory_store import DirectoryStore

SPAWN = multiprocessing.get_context("spawn")


async def everybody(workers):
    """Return all workers as dead."""
    return workers


def archived(crawl):
    """Return every record in sealed files."""
    for path in sorted((crawl.root / "warc" / crawl.name).glob("*.warc.gz")):
        yield from read(path)


def pages(crawl):
    """Return how often the response of each path is in the archive."""
    urls = (record.url for record in archived(crawl) if record.type == "response")
    return Counter("/" + url.split("/", 3)[3] for url in urls)


def web(size, fan=20):
    """Return pages /0 to /size-1 with text of their own, each reachable from the first."""
    return lambda path: (
        links(*{f"/{(int(path[1:]) * 7 + step) % size}" for step in range(fan)}, text=spelled(path[1:]))
        if path[1:].isdigit()
        else None
    )


def slowly(fallback, seconds):
    def answer(path):
        made = fallback(path)
        if made is None:
            return None

        async def later(_, writer):
            await asyncio.sleep(seconds)
            writer.write(made)

        return later

    return answer


def test_every_page_in_scope_is_archived_exactly_once(crawl, site):
    site.fallback = web(200)
    crawl.seed(f"{site.url}/0")
    run_worker(crawl.config("w"))
    stats = crawl.stats
    assert stats.is_drained
    assert stats.outcomes["fetched"] == 200
    assert site.paths == pages(crawl) == Counter({"/robots.txt": 1, **{f"/{n}": 1 for n in range(200)}})
    assert not list((crawl.root / "warc" / crawl.name / ".open").iterdir())


def test_the_archive_holds_the_bytes_of_the_wire(crawl, site):
    body = b"Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\nContent-Type: text/html\r\n\r\n"
    squeezed = gzip.compress(b'<a href="/b">b</a>')
    answer = b"HTTP/1.1 200 OK\r\n" + body + b"%x\r\n%b\r\n0\r\n\r\n" % (len(squeezed), squeezed)
    site.answers |= {"/a": answer, "/b": page("end")}
    crawl.seed(f"{site.url}/a")
    run_worker(crawl.config("w"))
    stored = next((crawl.root / "warc" / crawl.name).glob("*.warc.gz")).read_bytes()
    plain = gzip.decompress(stored)
    assert answer in plain
    assert all(request in plain for request in site.requests)
    assert crawl.stats.outcomes["fetched"] == 2
    assert [record.type for record in archived(crawl)].count("request") == 3


def test_robots_rules_are_obeyed_and_nothing_forbidden_is_requested(crawl, site):
    site.answers |= {
        "/robots.txt": page("User-agent: *\nDisallow: /private", kind="text/plain"),
        "/": links("/private/x", "/public"),
        "/public": page("x"),
    }
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w"))
    assert crawl.stats.reasons == {"refused:robots": 1}
    assert set(site.paths) == {"/robots.txt", "/", "/public"}


def test_loopback_is_blocked_by_default(crawl, site):
    crawl.seed(f"{site.url}/", f"{site.url}/x")
    run_worker(crawl.config("w", allow_networks=()))
    assert crawl.stats.reasons == {"refused:address_blocked": 2}
    assert site.connections == 0


def test_a_redirect_to_a_blocked_address_ends_there(crawl, site):
    with Server({"/": page("secret")}, address="127.9.9.9").in_thread() as inside:
        site.answers["/"] = redirect(f"{inside.url}/")
        crawl.seed(f"{site.url}/", scope="any")
        run_worker(crawl.config("w", allow_networks=("127.0.0.1/32",)))
    assert crawl.stats.outcomes["redirected"] == 1
    assert crawl.stats.reasons == {"refused:address_blocked": 1}
    assert inside.connections == 0


def test_redirects_are_pages_of_their_own_and_end(crawl, site):
    site.answers |= {
        "/": links("/loop-a", "/long-0"),
        "/loop-a": redirect("/loop-b"),
        "/loop-b": redirect("/loop-a"),
        **{f"/long-{hop}": redirect(f"/long-{hop + 1}", status="302 Found") for hop in range(20)},
    }
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w"))
    counts = {outcome: count for outcome, count in crawl.stats.outcomes.items() if count}
    assert counts == {"fetched": 1, "redirected": 13}
    assert crawl.stats.reasons == {"redirected:too_many_hops": 1, "redirected:loop": 1}
    assert max(site.paths.values()) == 1
    assert site.paths["/long-10"] == 1
    assert site.paths["/long-11"] == 0


def test_failures_of_every_kind_are_counted_and_received_bytes_are_archived(crawl, site):
    async def half(_, writer):
        writer.write(page("hello")[:-2])
        await writer.drain()
        writer.close()

    busy = page("later", "Retry-After: 0", status="503 Busy")
    site.answers |= {
        "/": links("/missing", "/busy", "/half", "/noise", "/big"),
        "/busy": busy,
        "/half": half,
        "/noise": b"SSH-2.0-OpenSSH\r\n\r\n",
        "/big": page("x" * 50_000),
    }
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w", max_body=10_000))
    assert crawl.stats.reasons == {
        "gone:status_404": 1,
        "failed:status_503": 1,
        "fetched:truncated_disconnect": 1,
        "fetched:truncated_length": 1,
        "failed:protocol": 1,
    }
    assert site.paths["/busy"] == pages(crawl)["/busy"] == 3
    assert site.paths["/half"] == pages(crawl)["/half"] == 2
    truncated = {record.truncated for record in archived(crawl) if record.type == "response"}
    assert truncated == {None, "disconnect", "length"}


def test_a_robots_txt_that_fails_is_retried_and_then_the_host_rests(crawl, site):
    site.answers["/robots.txt"] = page("", "Retry-After: 0", status="503 Busy")
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w"))
    assert crawl.stats.reasons == {"failed:robots_unreachable": 1}
    assert site.paths == pages(crawl) == {"/robots.txt": 3}


def test_the_page_limit_counts_the_whole_crawl(crawl, site):
    site.fallback = web(200)
    crawl.seed(f"{site.url}/0")
    for goal in (15, 40):
        run_worker(crawl.config(f"w{goal}", max_pages=goal))
        assert crawl.stats.outcomes["fetched"] == goal
        assert crawl.stats.leased == 0


def test_the_time_limit_ends_the_run_and_loses_nothing(crawl, site):
    site.fallback = slowly(web(400), 0.05)
    crawl.seed(f"{site.url}/0")
    run_worker(crawl.config("w1", max_time_s=0.7))
    stats = crawl.stats
    assert 0 < stats.outcomes["fetched"] < 400
    assert stats.leased == 0
    assert pages(crawl).total() == site.paths.total()


def test_a_host_is_not_requested_before_its_delay_is_over(crawl, site):
    times = []

    def note(_):
        times.append(time.monotonic())
        return page("x")

    site.fallback = note
    site.answers["/"] = links("/1", "/2")
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w", min_delay_s=0.3))
    assert len(times) == 2
    assert times[1] - times[0] >= 0.3


def test_a_failure_on_our_side_is_one_error_and_loses_nothing(crawl, site):
    site.fallback = web(50)
    crawl.seed(f"{site.url}/0")
    crawl.root.mkdir()
    crawl.root.joinpath("warc").write_text("in the way")
    with pytest.raises((Unavailable, OSError)):
        run_worker(crawl.config("w"))
    assert crawl.stats.outcomes["fetched"] == 0


def start(config):
    process = SPAWN.Process(target=run_worker, args=(config,))
    process.start()
    return process


def wait_for(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_drains(crawl, site, number):
    site.fallback = slowly(web(3_000), 0.05)
    crawl.seed(f"{site.url}/0")
    process = start(crawl.config("w"))
    wait_for(lambda: len(site.requests) > 30)
    os.kill(process.pid, number)
    process.join(20)
    assert process.exitcode == 0
    stats = crawl.stats
    assert (stats.leased, stats.robots) == (0, 0)
    assert stats.outcomes["fetched"] + 1 == site.paths.total()
    assert pages(crawl) == site.paths
    assert not list((crawl.root / "warc" / crawl.name / ".open").iterdir())


def test_a_second_signal_stops_at_once(crawl, site):
    site.fallback = slowly(web(300), 2)
    crawl.seed(f"{site.url}/0")
    process = start(crawl.config("w"))
    wait_for(lambda: site.paths["/0"])
    os.kill(process.pid, signal.SIGTERM)
    time.sleep(0.2)
    os.kill(process.pid, signal.SIGTERM)
    process.join(1)
    assert process.exitcode == 130


@pytest.mark.parametrize(
    "after", [pytest.param(5, marks=pytest.mark.slow), 60, pytest.param(150, marks=pytest.mark.slow)]
)
@pytest.mark.usefixtures("quickly_recovered")
def test_killed_and_run_again_every_page_is_archived_once(crawl, site, after):
    site.fallback = slowly(web(250), 0.02)
    crawl.seed(f"{site.url}/0")
    process = start(crawl.config("killed"))
    wait_for(lambda: len(site.requests) > after)
    process.kill()
    process.join()
    held = len(crawl.ask(lambda frontier: frontier.workers.leases("killed")))
    assert held <= 64
    before = site.paths
    crawl.ask(lambda frontier: recover(DirectoryStore(crawl.root), frontier, everybody, crawl=crawl.name))
    assert crawl.ask(lambda frontier: frontier.workers.leases("killed")) == []
    kept = pages(crawl)
    run_worker(crawl.config("next"))
    assert crawl.stats.is_drained
    every = pages(crawl)
    assert set(every) == {"/robots.txt", *(f"/{n}" for n in range(250))}
    assert set(every.values()) == {1}
    assert all(site.paths[path] == 1 for path in kept), "archived, and fetched again"
    assert sum(site.paths[path] - 1 for path in before) <= held


def test_pages_that_a_dead_worker_archived_are_settled_with_their_links(crawl, site):
    site.answers |= {"/": links("/a", "/b"), "/a": page("a"), "/b": page("b")}
    crawl.seed(f"{site.url}/")

    async def leased(frontier, worker):
        taken = await frontier.lease(1, worker=worker, lease_ms=60_000)
        return taken[0]

    async def fetch(url):
        client = wire_client("t", max_body=1_000, timeout=1, allow_networks=("127.0.0.0/8",))
        try:
            return await client.get(url)
        finally:
            await client.close()

    async def recovered(frontier):
        return await recover(DirectoryStore(crawl.root), frontier, everybody, crawl=crawl.name)

    for kind, sealed in ((Kind.ROBOTS, True), (Kind.PAGE, False)):
        worker = f"dead-{kind}"
        archive = ArchiveWriter(DirectoryStore(crawl.root), crawl.name, writer=worker, user_agent="t")
        lease = crawl.ask(lambda frontier, worker=worker: leased(frontier, worker))
        assert lease.kind is kind
        capture = crawl.ask(lambda _, lease=lease: fetch(lease.url))
        archive.append(capture, record_id(crawl.name, worker, lease.token))
        archive.commit()
        archive.seal() if sealed else archive.abandon()
        assert crawl.ask(recovered) == 1
        assert crawl.ask(recovered) == 0
    stats = crawl.stats
    assert stats.outcomes[Outcome.FETCHED] == 1
    assert stats.waiting == 2
    run_worker(crawl.config("next"))
    assert set(site.paths.values()) == set(pages(crawl).values()) == {1}


def test_a_page_that_cannot_be_recorded_fails_alone(crawl, site, monkeypatch, caplog):
    whole = ArchiveWriter.append

    def append(self, capture, record_id, **more):
        if capture.url.text.endswith("/odd"):
            raise CorruptData("breaks the rule 'head': no")
        return whole(self, capture, record_id, **more)

    monkeypatch.setattr(ArchiveWriter, "append", append)
    site.answers |= {"/": links("/odd", "/fine"), "/odd": page("odd"), "/fine": page("fine")}
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w"))
    assert (crawl.stats.outcomes["fetched"], crawl.stats.outcomes["failed"]) == (2, 1)
    assert crawl.stats.reasons == {"failed:no_record": 1}
    assert "/odd is not archived" in caplog.text


def test_the_configuration_of_a_worker_does_not_show_its_secrets(crawl):
    told = crawl.config(
        "w1", redis="rediss://u:S3CRET@h/0", proxy="http://u:S3CRET@p:1", auth={"x": {"password": "S3CRET"}}
    )
    assert "S3CRET" not in repr(told)
