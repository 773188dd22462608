"""A failure of our own side counts against nobody else: no host is given up for it, and no URL loses an attempt."""

import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from tests.crawler.clock_leaps import hurry
from tests.crawler.crawls.test_crawl import start, wait_for
from tests.crawler.nameserver import SERVFAIL, NameServer
from tests.crawler.server import ALLOW_ALL, Server, links, page, redirect, spelled
from tests.crawler.spiders.spider_project import FOLLOW, Project, paths_of
from thresher.crawler.worker import run_worker

OUTAGE_S = 2.5
"""Time enough for a host to be given up: the frontier's clock runs ahead while nothing is in progress (`hurry`)."""


def free_port(kind):
    with socket.socket(socket.AF_INET, kind) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def later(context):
    """Note in the frontier that the outage has lasted for its time."""
    with ExitStack() as stack:
        timer = threading.Timer(OUTAGE_S, lambda: stack.enter_context(context()))
        timer.start()
        try:
            yield
        finally:
            timer.join()


@contextmanager
def taken(port):
    """Serve a port that accepts every connection and sends nothing."""
    with socket.socket() as mute:
        mute.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        mute.bind(("127.0.0.1", port))
        mute.listen(100)
        yield


@contextmanager
def deaf(host, port):
    """Serve an address that drops packets, like a cut cable: its queue of connections is full."""
    with socket.socket() as full, ExitStack() as stack:
        full.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        full.bind((host, port))
        full.listen(0)
        for _ in range(2):
            one = stack.enter_context(closing(socket.socket()))
            one.setblocking(False)
            one.connect_ex((host, port))
        yield


def proxied(path):
    """Return a proxy's answers: its requests have whole URLs."""
    return ALLOW_ALL if path.endswith("/robots.txt") else page("here")


def clean(stats):
    """Return whether nothing has failed, rests or is to be retried."""
    return not (stats.reasons or stats.held or stats.dead or stats.later or stats.outcomes["failed"])


@pytest.mark.parametrize(("silent", "seeds"), [(False, 10), (True, 1)], ids=["nobody there", "silent"])
def test_an_outage_of_name_servers_costs_no_host_and_no_page(crawl, site, silent, seeds):
    site.fallback = lambda _: page("here")
    names = NameServer(free_port(socket.SOCK_DGRAM))
    hosts = [f"host{n}.test" for n in range(seeds)]
    names.update((host, ["127.0.0.1"]) for host in hosts)
    port = int(names.servers[0].rpartition(":")[2])
    if not silent:
        names._socket.close()

    def come():
        if not silent:
            NameServer.__init__(names, port)
            names.update((host, ["127.0.0.1"]) for host in hosts)
        return names.served()

    crawl.seed(*(f"http://{host}:{site.port}/" for host in hosts))
    with later(come), hurry(crawl.redis, crawl.name):
        run_worker(crawl.config("w", timeout_s=1.0, nameservers=(f"127.0.0.1:{port}",)))
    stats = crawl.stats
    assert stats.outcomes["fetched"] == seeds
    assert clean(stats)


@pytest.mark.parametrize("mute", [False, True], ids=["nobody there", "says nothing"])
def test_an_outage_of_the_proxy_costs_no_host_and_no_page(crawl, mute):
    proxy, port = Server(), free_port(socket.SOCK_STREAM)
    proxy.fallback = proxied
    del proxy.answers["/robots.txt"]
    hosts = [f"127.0.0.{n}" for n in range(1, 2 if mute else 11)]
    crawl.seed(*(f"http://{host}/" for host in hosts))
    with ExitStack() as before:
        if mute:
            before.enter_context(taken(port))

        def come():
            before.close()
            return proxy.in_thread(port)

        with later(come), hurry(crawl.redis, crawl.name):
            run_worker(crawl.config("w", timeout_s=0.3 if mute else 1.0, proxy=f"http://127.0.0.1:{port}"))
    stats = crawl.stats
    assert stats.outcomes["fetched"] == len(hosts)
    assert clean(stats)


def test_a_robots_txt_that_redirects_to_an_unreachable_host_is_fetched_again_later(
    crawl, site, names, tmp_path
):
    down = threading.Event()
    names[""] = lambda _: None if down.is_set() else []
    names["a.test"] = ["127.0.0.1"]
    names["b.test"] = lambda _: None if down.is_set() else ["127.0.0.1"]

    async def leads_on(_, writer):
        down.set()  # between the two requests
        writer.write(redirect(f"http://b.test:{site.port}/rules"))

    site.answers |= {
        "/robots.txt": leads_on,
        "/rules": page("User-agent: *\nDisallow: /no"),
        "/": links("/no"),
    }
    crawl.seed(f"http://a.test:{site.port}/")

    @contextmanager
    def come():
        down.clear()
        site.answers["/robots.txt"] = redirect(f"http://b.test:{site.port}/rules")
        yield

    with later(come), hurry(crawl.redis, crawl.name):
        run_worker(crawl.config("w", timeout_s=0.5))
    assert crawl.stats.reasons == {"refused:robots": 1}
    assert crawl.stats.outcomes["fetched"] == 1
    assert (crawl.stats.held, crawl.stats.dead, crawl.stats.later) == (0, 0, 0)


def test_pages_of_a_second_visit_wait_for_the_end_of_an_outage(crawl):
    proxy, port = Server(), free_port(socket.SOCK_STREAM)
    proxy.fallback = proxied
    del proxy.answers["/robots.txt"]
    urls = [f"http://127.0.0.{n}/" for n in range(1, 6)]
    by_proxy = {"timeout_s": 1.0, "proxy": f"http://127.0.0.1:{port}"}
    crawl.seed(*urls)
    with proxy.in_thread(port):
        run_worker(crawl.config("w", **by_proxy))
    asked = len(proxy.requests)
    crawl.seed(*urls, generation=1)
    with later(lambda: proxy.in_thread(port)), hurry(crawl.redis, crawl.name):
        run_worker(crawl.config("v", **by_proxy))
    assert len(proxy.requests) == asked + len(urls)  # their robots.txt are cached
    assert crawl.stats.outcomes["fetched"] == 2 * len(urls)
    assert clean(crawl.stats)


FOLLOW_OR_TELL = (
    FOLLOW.replace("response.follow(link)", "response.follow(link, errback=self.lost)")
    + """
    def lost(self, failure):
        yield {"url": f"lost {failure.request.url}"}
"""
)


@pytest.mark.slow
def test_an_outage_of_the_proxy_is_invisible_to_a_spider(crawl, tmp_path):
    proxy, port, project = Server(), free_port(socket.SOCK_STREAM), Project(tmp_path / "project")
    del proxy.answers["/robots.txt"]
    proxy.fallback = lambda url: (
        ALLOW_ALL if url.endswith("/robots.txt") else slow_pages(url[len("http://127.0.0.1") :])
    )
    crawl.seed("http://127.0.0.1/")
    config = crawl.config(
        "w",
        timeout_s=2.0,
        concurrency=4,
        proxy=f"http://127.0.0.1:{port}",
        spider=project.spider_spec(FOLLOW_OR_TELL),
    )
    with proxy.in_thread(port):
        process = start(config)
        wait_for(lambda: len(proxy.requests) > 5)
    wait_for(lambda: crawl.ask(lambda frontier: frontier.workers.outages()))
    with proxy.in_thread(port):
        process.join(60)
    assert process.exitcode == 0
    assert crawl.stats.outcomes["fetched"] == 13
    assert clean(crawl.stats)
    assert set(paths_of(project.items).values()) == {1}
    assert not [item for item in project.items if item["url"].startswith("lost")]


def test_a_worker_in_an_outage_reports_it_and_holds_no_lease(crawl):
    crawl.seed("http://host.test/")
    proxy = f"127.0.0.1:{free_port(socket.SOCK_STREAM)}"
    process = start(crawl.config("w", proxy=f"http://{proxy}"))
    wait_for(lambda: crawl.ask(lambda frontier: frontier.workers.outages()))
    (outage,) = crawl.ask(lambda frontier: frontier.workers.outages()).values()
    assert outage.why == f"the proxy {proxy}: Connection refused"
    wait_for(lambda: crawl.stats.leased + crawl.stats.robots == 0)
    assert crawl.stats.waiting == 1
    os.kill(process.pid, signal.SIGTERM)
    process.join(20)
    assert process.exitcode == 0
    assert crawl.ask(lambda frontier: frontier.workers.outages()) == {}
    assert clean(crawl.stats)


def test_a_limit_of_time_ends_an_outage(crawl):
    crawl.seed("http://host.test/")
    begun = time.monotonic()
    run_worker(crawl.config("w", nameservers=(f"127.0.0.1:{free_port(socket.SOCK_DGRAM)}",), max_time_s=2.0))
    assert 2.0 <= time.monotonic() - begun < 15.0
    assert crawl.stats.waiting == 1
    assert clean(crawl.stats)


@pytest.mark.slow
def test_a_worker_without_the_web_neither_stops_the_others_nor_gives_up_their_hosts(crawl, site, names):
    site.fallback = lambda path: links(*(f"/{n}" for n in range(5))) if path == "/" else page("here")
    hosts = [f"host{n}.test" for n in range(6)]
    names.update((host, ["127.0.0.1"]) for host in hosts)
    gone = (f"127.0.0.1:{free_port(socket.SOCK_DGRAM)}",)
    crawl.seed(*(f"http://{host}:{site.port}/" for host in hosts))
    blind = start(crawl.config("blind", nameservers=gone))
    wait_for(lambda: "blind" in crawl.ask(lambda frontier: frontier.workers.outages()))
    run_worker(crawl.config("w"))
    blind.join(30)
    assert blind.exitcode == 0  # the crawl is drained
    assert crawl.stats.outcomes["fetched"] == 6 * 6
    assert clean(crawl.stats)


@pytest.mark.parametrize("answer", [None, SERVFAIL], ids=["silence", "SERVFAIL"])
def test_a_name_that_working_name_servers_cannot_resolve_is_a_dead_host(crawl, names, answer):
    names |= {"lost.test": answer}
    crawl.seed("http://lost.test/")
    with hurry(crawl.redis, crawl.name):
        run_worker(crawl.config("w", timeout_s=0.5))
    (reason,) = crawl.stats.reasons
    assert reason in {"failed:dead_dns_timeout", "failed:dead_dns"}


def test_hosts_that_a_proxy_cannot_reach_fail_even_if_no_others_are_left(crawl):
    proxy = Server()
    proxy.fallback = lambda _: b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"
    crawl.seed(*(f"https://127.0.0.{n}/" for n in range(1, 4)))
    with proxy.in_thread(), hurry(crawl.redis, crawl.name):
        run_worker(crawl.config("w", timeout_s=1.0, proxy=proxy.url))
    assert crawl.stats.outcomes["failed"] == 3


@contextmanager
def web_on(hosts, port, answer):
    """Serve each address on one port; yield how many requests came."""
    servers = [Server(address=host) for host in hosts]
    with ExitStack() as stack:
        for server in servers:
            server.fallback = answer
            stack.enter_context(server.in_thread(port))
        yield lambda: sum(len(server.requests) for server in servers)


@contextmanager
def cut(hosts, port):
    """Drop what is sent to the addresses."""
    with ExitStack() as stack:
        for host in hosts:
            stack.enter_context(deaf(host, port))
        yield


def slow_pages(path):
    async def answer(_, writer):
        await asyncio.sleep(0.05)
        writer.write(links(*(f"/{n}" for n in range(12)), text=spelled(path[1:] or 0)))

    return answer


@pytest.mark.slow
def test_if_all_hosts_are_silent_at_once_none_is_dead(crawl):
    hosts, port = [f"127.0.0.{n}" for n in range(2, 8)], free_port(socket.SOCK_STREAM)
    crawl.seed(*(f"http://{host}:{port}/" for host in hosts))
    with web_on(hosts, port, slow_pages) as requests:
        process = start(crawl.config("w", timeout_s=1.0, concurrency=6))
        wait_for(lambda: requests() > 30)
    with cut(hosts, port):
        wait_for(lambda: crawl.ask(lambda frontier: frontier.workers.outages()))
        (outage,) = crawl.ask(lambda frontier: frontier.workers.outages()).values()
        assert re.fullmatch(
            r"nobody answers, neither 127[.0-9]+ nor [345] others that did before", outage.why
        )
        with hurry(crawl.redis, crawl.name):
            time.sleep(1.0)
        assert crawl.stats.dead == 0
    with web_on(hosts, port, slow_pages):
        process.join(60)
    assert process.exitcode == 0
    assert crawl.stats.outcomes["fetched"] == 6 * 13
    assert clean(crawl.stats)


def test_hosts_that_are_silent_while_others_answer_are_dead(crawl, site):
    site.fallback = slow_pages
    hosts, port = [f"127.0.0.{n}" for n in range(2, 8)], free_port(socket.SOCK_STREAM)
    crawl.seed(f"{site.url}/", *(f"http://{host}:{port}/" for host in hosts))
    with cut(hosts, port), hurry(crawl.redis, crawl.name):
        run_worker(crawl.config("w", timeout_s=0.3))
    stats = crawl.stats
    assert stats.outcomes["fetched"] == 13
    assert stats.reasons == {"failed:dead_timeout_connect": 6}


IN_A_NETWORK_OF_ITS_OWN = """
import fcntl, socket, struct, sys
from pathlib import Path
from tests.crawler.conftest import Crawl
from tests.crawler.server import Server, page
from tests.crawler.crawls.test_crawl import start, wait_for

if __name__ == "__main__":
    crawl = Crawl(sys.argv[1], "no-route", Path(sys.argv[2]))
    with Server({"/": page("here")}).in_thread() as site:
        crawl.seed(f"{site.url}/")
        process = start(crawl.config("w"))
        wait_for(lambda: crawl.ask(lambda frontier: frontier.workers.outages()))
        (outage,) = crawl.ask(lambda frontier: frontier.workers.outages()).values()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any:
            fcntl.ioctl(any, 0x8914, struct.pack("16sh14x", b"lo", 0x41))  # SIOCSIFFLAGS: IFF_UP, IFF_RUNNING
        process.join(30)
    stats = crawl.stats
    print(outage.why, stats.outcomes["fetched"], stats.reasons, stats.dead, stats.held)
"""


@pytest.mark.slow
def test_a_machine_without_a_route_waits_for_one(crawl, tmp_path):
    """Run in a network namespace whose only interface is down at first."""
    inside = ["unshare", "--user", "--map-root-user", "--net"]
    if (
        not shutil.which("unshare")
        or subprocess.run([*inside, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("no network namespace can be made here")
    script = tmp_path / "inside.py"
    script.write_text(IN_A_NETWORK_OF_ITS_OWN)
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    command = [*inside, sys.executable, str(script), crawl.redis, str(tmp_path / "data")]
    said = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert said.stdout == "this machine has no route to another network 1 {} 0 0\n", said.stderr
