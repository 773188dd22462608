"""The call that a crawl worker's process carries out, and the exit codes with which it ends."""

import json
import logging
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thresher.core import ThresherError
from thresher.crawler.machine.activity import SupervisorChannel
from thresher.crawler.render.chromium.program import find_browser
from thresher.crawler.scheduling.scheduling_settings import SchedulingSettings
from thresher.crawler.sessions.session_settings import host_logins
from thresher.crawler.spiders import SpiderSpec
from thresher.crawler.worker_config import WorkerConfig
from thresher.frontier import TakeoverError
from thresher.pipeline.configuration import Config
from thresher.pipeline.fleet import liveness
from thresher.pipeline.open_project import OpenProject

LOGGER = logging.getLogger(__name__)
EXIT_PRESUMED_DEAD = 75
"""Exit code of a worker that others may have taken for dead (EX_TEMPFAIL of sysexits.h)."""
EXIT_SPIDER_CLOSED = 3
"""Exit code of a worker whose spider has closed the crawl. The other workers end as well."""
WRITTEN = {
    "pace": ("min_delay",),
    "budgets": ("max_pages_per_host", "max_pages_per_domain"),
    "wire": ("max_body", "timeout", "verify_tls", "cookies"),
    "reading": ("sitemaps", "obey"),
    "rendering": ("render", "behaviours", "screenshot"),
    "archive": ("archive", "requisites", "revisits", "compression", "warc_bytes", "warc_age"),
}
"""The keys of `[crawler]` that the first record of an archive file has, by their owner. A setting is named here or it
is not written, so none that holds a password, a login or a host of the user's network gets into an archive.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlLimits:
    """When a crawl stops before its frontier drains."""

    workers: int = 1
    max_pages: int | None = None
    """Number of pages settled as `fetched`."""
    max_requests: int | None = None
    """Number of requests with any outcome, robots.txt included (`Stats.requests`)."""
    is_cumulative: bool = False
    """Whether the two numbers include earlier commands."""
    max_time_s: float | None = None


def worker_config(
    project: OpenProject,
    name: str,
    address: str,
    goals: CrawlLimits,
    spider: SpiderSpec | None,
) -> Callable[[str], WorkerConfig]:
    """Return the configuration of a worker, by its name. `goals` are counted from the start of the crawl. Raise
    `InputError` if this machine lacks what its workers need, or if a language is not known.
    """
    settings = project.config.crawler
    if settings.rendering.renders and project.config.project.cluster is None:
        find_browser(settings.rendering.browser)  # a missing browser must raise before workers start
    logins = host_logins(settings.sessions, name, project.directory)
    if settings.sessions.sessions and not logins:
        LOGGER.warning("%s is crawled without a login: no table of [crawler.sessions] names this crawl", name)
    if logins and project.config.project.cluster is None:
        # Reading profiles takes modules that no other crawl needs.
        from thresher.crawler.sessions.session_pool import require_profiles  # noqa: PLC0415

        require_profiles(logins)
    archive_filter = None
    if settings.archive.archive == "kept":
        # Its language model takes a fifth of a second to import, and no other crawl needs it.
        from thresher.filters.models.language_thresholds import require_languages  # noqa: PLC0415
        from thresher.pipeline.steps.page_filter import PageFilter  # noqa: PLC0415

        wanted = require_languages(project.config.filters.languages, "filters.languages")
        archive_filter = PageFilter(languages=wanted)

    warcinfo = warcinfo_fields(project.config)

    def config(worker: str) -> WorkerConfig:
        return WorkerConfig(
            crawl=name,
            worker=worker,
            redis=address,
            store=project.store,
            wire=settings.wire,
            logins=logins,
            scheduling=SchedulingSettings(
                max_pages=goals.max_pages, max_requests=goals.max_requests, max_time_s=goals.max_time_s
            ),
            reading=settings.reading,
            rendering=settings.rendering,
            archive=settings.archive,
            warcinfo=warcinfo,
            archive_filter=archive_filter,
            spider=spider,
            ttl_s=liveness.WORKER_TTL_S,
        )

    return config


def run_crawl_worker(config: WorkerConfig, state: Path | None, channel: SupervisorChannel) -> None:
    """Crawl in this process, and end it with the exit code of how that ended. `state` is the directory of the worker's
    lock, if it has one.
    """
    from thresher.crawler.worker import run_worker  # noqa: PLC0415 - the supervisor only starts workers

    with nullcontext() if state is None else liveness.hold_worker_lock(state, config.crawl, config.worker):
        try:
            has_closed = run_worker(config, channel.activity)
        except TakeoverError:
            sys.exit(EXIT_PRESUMED_DEAD)
        except ThresherError as error:
            channel.send_error(error)
        except OSError as error:
            channel.send_error(ThresherError(f"crawl {config.crawl}: {error}"))
        else:
            if has_closed:
                sys.exit(EXIT_SPIDER_CLOSED)


def warcinfo_fields(config: Config) -> dict[str, str]:
    """Return what the first record of an archive file says of its crawl, with the names of Heritrix. The settings stand
    in `thresher-configuration`, as JSON. Fields that are empty are left out.
    """
    written: dict[str, Any] = {}
    for owner, keys in WRITTEN.items():
        written |= {key: getattr(getattr(config.crawler, owner), key) for key in keys}
    fields = {
        "operator": config.crawler.archive.operator or config.project.contact,
        "description": config.crawler.archive.description,
        "thresher-configuration": json.dumps(written, sort_keys=True),
    }
    return {name: value for name, value in fields.items() if value}
