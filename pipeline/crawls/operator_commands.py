"""The frontier commands, by which an operator steers a crawl while it runs or between two runs.

They are stored in the frontier. They hold for every worker from its next lease on, and for later runs.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from thresher.core import InputError
from thresher.frontier import CrawlSettings, Frontier, Rank
from thresher.frontier.crawl_settings import changes
from thresher.frontier.link.connect import connect
from thresher.pipeline.crawls.barred_scope import barred_scope, registered_name
from thresher.pipeline.open_crawl import find_crawl
from thresher.pipeline.open_project import OpenProject

T = TypeVar("T")

MAX_DELAY_S = 86_400
MAX_LIMIT = 1 << 40
MAX_DAYS = 36_500
"""Days of the longest duration: a calendar ends some time, and no order is meant to outlive its operator."""
SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def hold(project: OpenProject, crawl: str, host: str, duration: str) -> None:
    """Send a host no request for a time such as `90s`, `15m`, `1h`, `2d`. Raise `InputError` if the host is unknown."""
    wait_ms = parse_duration_ms(duration)
    if not query_frontier(project, crawl, lambda frontier: frontier.operator.hold(host, wait_ms)):
        raise _unknown_host_error(crawl, host)


def resume(project: OpenProject, crawl: str, host: str) -> None:
    """End every hold of a host. Raise `InputError` if the crawl does not know the host."""
    if not query_frontier(project, crawl, lambda frontier: frontier.operator.resume(host)):
        raise _unknown_host_error(crawl, host)


def drop(project: OpenProject, crawl: str, scope: str) -> int:
    """Bar a scope from a crawl, and return how many waiting pages are refused at once. Raise `InputError` if no URL can
    be in the scope.
    """
    barred = barred_scope(scope)
    return query_frontier(project, crawl, lambda frontier: frontier.operator.drop(barred))


def prefer(project: OpenProject, crawl: str, domains: list[str], rank: str) -> None:
    """Crawl the hosts of registered domains before or after others. `rank` is `first`, `rich`, `usual` or `last`. Raise
    `InputError` if a name is no registered domain.
    """
    ranks = dict.fromkeys((registered_name(name, name) for name in domains), Rank[rank.upper()])
    query_frontier(project, crawl, lambda frontier: frontier.operator.prefer(ranks))


def prefer_by_yield(project: OpenProject, crawl: str) -> dict[str, int]:
    """Rank every domain of a crawl by its yield (`pipeline.crawls.yields`). Return how many have each rank now."""
    from thresher.pipeline.crawls import yields  # noqa: PLC0415 - imports PyArrow, and no other command here needs it

    ranks = yields.domain_ranks(project, crawl)
    if not ranks:
        raise InputError(
            f"crawl {crawl!r}: no domain has {yields.MIN_DOCUMENTS} processed documents yet; "
            f"run `thresher process {crawl}`"
        )
    query_frontier(project, crawl, lambda frontier: frontier.operator.prefer(ranks))
    return {rank.name.lower(): count for rank, count in sorted(Counter(ranks.values()).items(), reverse=True)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsChange:
    """New values for settings of a crawl; None leaves a setting as it is."""

    min_delay_s: float | None = None
    min_ip_delay_s: float | None = None
    """None keeps a quarter of the host's delay if the crawl had a quarter, as in thresher.toml; else the old delay."""
    max_pages_per_host: int | None = None
    """0 for no limit, as in `max_pages_per_domain`."""
    max_pages_per_domain: int | None = None
    max_hosts_per_domain: int | None = None


def change_settings(project: OpenProject, crawl: str, change: SettingsChange) -> list[str]:
    """Replace some settings of a crawl, for all of its workers. Return a line for each that changed, with its name in
    thresher.toml: `crawler.min_delay was 1, is 2 now`.

    Raise `InputError` if a value is out of range or nothing changes. A project whose thresher.toml says otherwise is
    refused from then on, until it says the same or asks for an update.
    """
    _check_change(change)

    async def update(frontier: Frontier) -> list[str]:
        await frontier.open()
        before = frontier.crawl.settings
        after = apply_change(before, change)
        changed = changes(before, after)
        if not changed:
            raise InputError(f"crawl {crawl!r}: has these settings already")
        await frontier.crawl.update_settings(after)
        await frontier.crawl.sync()
        return changed

    return query_frontier(project, crawl, update)


def apply_change(settings: CrawlSettings, change: SettingsChange) -> CrawlSettings:
    """Return the settings with the new values."""
    delay_ms = settings.min_delay_ms if change.min_delay_s is None else round(change.min_delay_s * 1000)
    is_quarter = settings.min_ip_delay_ms == settings.min_delay_ms // 4
    ip_delay_ms = delay_ms // 4 if is_quarter else settings.min_ip_delay_ms
    if change.min_ip_delay_s is not None:
        ip_delay_ms = round(change.min_ip_delay_s * 1000)
    budget = settings.budget
    if change.max_pages_per_host is not None:
        budget = replace(budget, host=change.max_pages_per_host or None)
    if change.max_pages_per_domain is not None:
        budget = replace(budget, domain=change.max_pages_per_domain or None)
    if change.max_hosts_per_domain is not None:
        budget = replace(budget, hosts=change.max_hosts_per_domain)
    return replace(settings, min_delay_ms=delay_ms, min_ip_delay_ms=ip_delay_ms, budget=budget)


def _check_change(change: SettingsChange) -> None:
    for name in ("min_delay_s", "min_ip_delay_s"):
        seconds = getattr(change, name)
        if seconds is not None and not 0 <= seconds <= MAX_DELAY_S:
            raise InputError(f"crawler.{name[:-2]} is {seconds:g}: give seconds from 0 to {MAX_DELAY_S:,}")
    for name in ("max_pages_per_host", "max_pages_per_domain", "max_hosts_per_domain"):
        limit = getattr(change, name)
        least = int(name == "max_hosts_per_domain")
        if limit is not None and not least <= limit <= MAX_LIMIT:
            raise InputError(f"crawler.{name} is {limit}: give a number from {least} to {MAX_LIMIT:,}")


def parse_duration_ms(text: str) -> int:
    """Return a duration such as `90s`, `15m`, `1h` or `2d` in milliseconds. Raise `InputError` for anything else, and
    beyond `MAX_DAYS`.
    """
    match = re.fullmatch(r"([0-9]{1,9})([smhd])", text)
    if match is None:
        raise InputError(f"{text!r} is not a time; write it as 90s, 15m, 1h or 2d")
    seconds = int(match[1]) * SECONDS[match[2]]
    if seconds > MAX_DAYS * SECONDS["d"]:
        raise InputError(f"{text!r} is too long; give {MAX_DAYS}d at most")
    return seconds * 1000


def _unknown_host_error(crawl: str, host: str) -> InputError:
    return InputError(f"crawl {crawl!r}: knows no host {host!r}; give the name as in its URLs, without port")


def query_frontier(project: OpenProject, crawl: str, query: Callable[[Frontier], Awaitable[T]]) -> T:
    """Return the result of a query to a crawl's frontier. Raise `InputError` if nothing is seeded."""

    async def run_query(address: str) -> T:
        link = await connect(address)
        try:
            return await query(await find_crawl(project, link, crawl))
        finally:
            await link.aclose()

    with project.frontier_address() as address:
        return asyncio.run(run_query(address))
