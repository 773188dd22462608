import asyncio

import pytest

from tests.crawler.flat_settings import worker_config
from tests.crawler.nameserver import NameServer
from tests.crawler.server import Server
from tests.crawler.spiders.spider_project import Project
from thresher.frontier import Budget, CrawlSettings, Discovery, Frontier, Scope, canonicalize
from thresher.frontier.link.connect import connect
from thresher.frontier.link.embedded import embedded_server
from thresher.storage.directory_store import DirectoryStore

LOOPBACK = ("127.0.0.0/8",)
UNPACED = CrawlSettings(min_delay_ms=0, min_ip_delay_ms=0)


@pytest.fixture(scope="module")
def redis(tmp_path_factory):
    with embedded_server(tmp_path_factory.mktemp("redis")) as address:
        yield address


@pytest.fixture
def site():
    with Server().in_thread() as server:
        yield server


class Crawl:
    """One crawl in a real frontier and a real directory."""

    def __init__(self, redis, name, root):
        self.redis, self.name, self.root = redis, name, root
        self.nameservers = ()
        self.sandbox = True

    def config(self, worker, *, min_delay_s=0.0, min_ip_delay_s=0.0, timeout_s=3.0, budget=None, **changes):
        """Return the configuration of a worker. From now on the crawl has these delays and this budget."""
        self.update(
            CrawlSettings(
                contact="mailto:test@example.org",
                min_delay_ms=round(1000 * min_delay_s),
                min_ip_delay_ms=round(1000 * min_ip_delay_s),
                budget=budget or Budget(),
            )
        )
        settings = {
            "crawl": self.name,
            "worker": worker,
            "redis": self.redis,
            "store": DirectoryStore(self.root),
            "timeout": timeout_s,
            "allow_networks": LOOPBACK,
            "nameservers": self.nameservers,
            "browser_sandbox": self.sandbox,
        }
        return worker_config(**{**settings, **changes})

    def ask(self, question):
        """Return what an async function of the frontier returns."""

        async def run():
            client = await connect(self.redis)
            try:
                frontier = Frontier(client, self.name)
                await frontier.open(None if await frontier.crawl.exists() else UNPACED)
                return await question(frontier)
            finally:
                await client.aclose()

        return asyncio.run(run())

    def update(self, settings):
        self.ask(lambda frontier: frontier.crawl.update_settings(settings))

    def seed(self, *urls, scope="host", **fields):
        found = [canonicalize(url) for url in urls]
        self.ask(
            lambda frontier: frontier.add(
                [Discovery(url=url, scope=Scope.of(scope, url), **fields) for url in found]
            )
        )

    @property
    def stats(self):
        return self.ask(lambda frontier: frontier.stats())


@pytest.fixture
def crawl(redis, tmp_path, request):
    made = Crawl(redis, f"crawl-{abs(hash(request.node.nodeid))}", tmp_path / "data")
    if "names" in request.fixturenames:
        made.nameservers = request.getfixturevalue("names").servers
    return made


@pytest.fixture
def quickly_recovered(monkeypatch):
    """The worker of this process fetches the pages that a dead one held one after the other, with hardly a pause."""
    monkeypatch.setattr("thresher.crawler.scheduling.lease_queue.RECOVERED_WAIT_MS", 20)


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "project")


@pytest.fixture
def names():
    """A name server whose names the test fills in; `names.asked` has the names that were looked up."""
    with NameServer().served() as served:
        yield served
