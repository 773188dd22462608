"""A crawl over a web, through the real command."""

import json
import time
from collections.abc import Sequence
from pathlib import Path

from tests.hostile.observed import CrawlRun
from tests.hostile.project import ClockMover, Project
from tests.hostile.web import Web

TOML = """
[project]
contact = "mailto:hostile@example.org"
[crawler]
min_delay = {min_delay}
min_ip_delay = {min_ip_delay}
timeout = {timeout}
max_body = "2MiB"
max_pages_per_host = {most}
allow_networks = ["127.1.0.0/16", "::1/128"]
"""


def run_crawl(
    web: Web,
    directory: Path,
    *,
    min_delay: float = 0.01,
    min_ip_delay: float = 0,
    timeout: float = 3.0,
    hurry: bool = True,
    limit_s: float = 900,
    spider: Sequence[str] = (),
) -> CrawlRun:
    """Crawl a web until its frontier is drained. With the command's options for a `spider`, that spider says what is
    fetched first. Raise if the crawl does not end by itself.
    """
    toml = TOML.format(min_delay=min_delay, min_ip_delay=min_ip_delay, timeout=timeout, most=400)
    toml += f"nameservers = {json.dumps(web.names.servers)}\n"
    project = Project(directory, web, toml=toml)
    begun = time.time()
    with project.frontier() as address:
        for scope in ("host", "any", "domain"):
            urls = [web.url(row) + path for row in web.rows if row.scope == scope for path in row.seeds]
            if urls and not spider:
                project.seed(urls, scope=scope)
        moving = ClockMover(address, web.there.stale, leap=hurry)
        with moving:
            project.run("crawl", *spider, limit_s=limit_s)
        stats = next(one for one in project.run("status")["sources"] if one["name"] == "main")["frontier"]
    return CrawlRun(
        web=web,
        project=project,
        records=project.records,
        settled=project.settled,
        leaps=moving.leaps,
        stats=stats,
        begun=begun,
        ended=time.time(),
    )
