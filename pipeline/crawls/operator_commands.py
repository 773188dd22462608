"""The frontier commands: what an operator orders while a crawl runs, or between two runs.

Orders are stored in the frontier. They hold for every worker from its next lease on, and for later runs.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TypeVar

from core import InputError
from frontier import Frontier, Rank, Scope
from frontier.link.connect import connect
from pipeline.open_crawl import find_crawl
from pipeline.open_project import OpenProject

T = TypeVar("T")

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
    """Bar a scope from a crawl, and return how many waiting pages are refused at once."""
    barred = Scope.parse(scope)
    return query_frontier(project, crawl, lambda frontier: frontier.operator.drop(barred))


def prefer(project: OpenProject, crawl: str, domains: list[str], rank: str) -> None:
    """Ask the hosts of registered domains before or after others. `rank` is `first`, `rich`, `usual` or `last`."""
    ranks = dict.fromkeys(domains, Rank[rank.upper()])
    query_frontier(project, crawl, lambda frontier: frontier.operator.prefer(ranks))


def prefer_by_yield(project: OpenProject, crawl: str) -> dict[str, int]:
    """Rank every domain of a crawl by its yield (`pipeline.crawls.yields`). Return how many have each rank now."""
    from pipeline.crawls import yields  # noqa: PLC0415 - imports PyArrow, and no other command here needs it

    ranks = yields.domain_ranks(project, crawl)
    if not ranks:
        raise InputError(
            f"crawl {crawl!r}: no domain has {yields.MIN_DOCUMENTS} processed documents yet; "
            f"run `thresher process {crawl}`"
        )
    query_frontier(project, crawl, lambda frontier: frontier.operator.prefer(ranks))
    return {rank.name.lower(): count for rank, count in sorted(Counter(ranks.values()).items(), reverse=True)}


def parse_duration_ms(text: str) -> int:
    """Return a duration such as `90s`, `15m`, `1h` or `2d` in milliseconds. Raise `InputError` for anything else."""
    match = re.fullmatch(r"(\d{1,9})([smhd])", text)
    if match is None:
        raise InputError(f"{text!r} is not a time; write it as 90s, 15m, 1h or 2d")
    return int(match[1]) * SECONDS[match[2]] * 1000


def _unknown_host_error(crawl: str, host: str) -> InputError:
    return InputError(f"crawl {crawl!r}: knows no host {host!r}; give the name as in its URLs, without port")


def query_frontier(project: OpenProject, crawl: str, question: Callable[[Frontier], Awaitable[T]]) -> T:
    """Return the response of a crawl's frontier to a question. Raise `InputError` if nothing is seeded."""

    async def answer(address: str) -> T:
        link = await connect(address)
        try:
            return await question(await find_crawl(project, link, crawl))
        finally:
            await link.aclose()

    with project.frontier_address() as address:
        return asyncio.run(answer(address))
