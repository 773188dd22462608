"""Projects over a site on loopback and a Redis of their own, for tests of what a crawl remembers."""

import asyncio
from itertools import count

from thresher.crawler.replay.outbox import OutboxRelay
from thresher.crawler.scheduling.scheduling_settings import SchedulingSettings
from thresher.crawler.worker import run_worker
from thresher.crawler.worker_config import WorkerConfig
from thresher.frontier import Frontier
from thresher.frontier.link.connect import connect
from thresher.pipeline import configuration
from thresher.pipeline.crawls.seed import SeedPlan, seed_file
from thresher.pipeline.fleet.crawl_call import CrawlLimits
from thresher.pipeline.fleet.crawl_command import crawl
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.terminal.progress import LineProgress

TOML = """
[project]
contact = "{contact}"
redis = "{redis}"
storage = "file:{storage}"
[crawler]
min_delay = {min_delay}
timeout = 5
allow_networks = ["127.0.0.0/8"]
{more}
"""
_serial = count()
CONTACT = "mailto:test@example.org"


def project_at(
    directory, redis, *, storage="data", contact=CONTACT, min_delay=0.0, more="", **crawler
) -> OpenProject:
    """A project; `crawler` are further keys, `more` is text behind them."""
    keys = "\n".join(f"{name} = {value}" for name, value in crawler.items())
    text = TOML.format(
        contact=contact, redis=redis, storage=storage, min_delay=min_delay, more=f"{keys}\n{more}"
    )
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "thresher.toml").write_text(text)
    return OpenProject(config=configuration.parse(text, directory))


def seed_urls(project, *urls, again=False, update=False, **plan):
    path = project.directory / "seeds.txt"
    path.write_text("\n".join(urls))
    return seed_file(project, str(path), SeedPlan(crawl="main", again=again, **plan), update=update)


def run_crawl(project, *, update=False, **limits):
    """`thresher crawl main`, until it is drained; the stats."""
    return crawl(project, "main", CrawlLimits(**limits), LineProgress(), update=update).stats


def crawl_in_process(project, *, max_pages=None, max_requests=None, max_time_s=None):
    """The same by one worker in this process, which begins at once; and what the frontier settled is in the log."""
    settings = project.config.crawler
    worker = f"w{next(_serial)}"
    with project.frontier_address() as address:
        ask(project, lambda frontier: frontier.crawl.update_settings(project.settings))
        run_worker(
            WorkerConfig(
                crawl="main",
                worker=worker,
                redis=address,
                store=project.store,
                wire=settings.wire,
                scheduling=SchedulingSettings(
                    max_pages=max_pages, max_requests=max_requests, max_time_s=max_time_s
                ),
            )
        )

    async def logged(frontier):
        await OutboxRelay(frontier, frontier.tail(project.store), project.store, "main").log_all()
        return await frontier.stats()

    return ask(project, logged)


def ask(project, question, crawl="main"):
    """The answer of an async function of the frontier."""

    async def asked():
        with project.frontier_address() as address:
            link = await connect(address)
            try:
                return await question(await Frontier(link, crawl).open())
            finally:
                await link.aclose()

    return asyncio.run(asked())
