"""`process --follow` over several crawls: each crawl has the figures of its own parts."""

import pytest

from tests.crawler.server import Server, page
from tests.pipeline.crawl_projects import ask, project_at
from thresher.frontier.link.embedded import embedded_server
from thresher.pipeline.crawls.seed import SeedPlan, seed_file
from thresher.pipeline.fleet.crawl_call import CrawlLimits
from thresher.pipeline.fleet.crawl_command import crawl
from thresher.pipeline.steps.follow import follow
from thresher.pipeline.terminal.progress import LineProgress


@pytest.fixture
def followed(tmp_path):
    """Two crawls of different size in one project, followed until both are processed."""
    with embedded_server(tmp_path / "redis") as address, Server().in_thread() as site:
        site.fallback = lambda path: page(f"<p>{path} {'word ' * 3_000}</p>")
        project = project_at(tmp_path / "project", address)
        seeds = tmp_path / "seeds.txt"
        for name, pages in (("small", 1), ("large", 4)):
            seeds.write_text("".join(f"{site.url}/{name}/{number}\n" for number in range(pages)))
            seed_file(project, str(seeds), SeedPlan(crawl=name))
            crawl(project, name, CrawlLimits(), LineProgress())
        with project.worker_pool(1) as pool:
            follow(project, ("small", "large"), pool, LineProgress())
        yield project


@pytest.mark.slow
def test_the_last_report_of_a_follower_has_the_figures_of_each_crawl_alone(followed):
    for name in ("small", "large"):
        found = ask(followed, lambda frontier: frontier.workers.figures(), crawl=name)
        archived = sum(file.bytes for file in followed.catalog.files(name))
        assert found.sums["processor"].bytes_read == archived, name
        assert found.workers == {}, "a follower that has ended reports nothing"
