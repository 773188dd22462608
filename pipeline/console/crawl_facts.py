"""`CrawlFacts`: what the frontier says of one crawl at one moment. Its size does not change what that costs."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from thresher.frontier import CrawlFigures, CrawlSettings, Frontier, GateState, Outage, Stats
from thresher.frontier.fleet_state import FleetState


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlFacts:
    """The facts that a page shows of a crawl."""

    stats: Stats
    gate: GateState | None
    archived_bytes: int
    stalls_ms: list[int]
    """For how long workers have waited for the storage."""
    outages: Mapping[str, Outage]
    """What keeps workers from the web, by worker."""
    lease_holders: tuple[str, ...]
    figures: CrawlFigures
    fleet: FleetState | None
    settings: CrawlSettings


async def crawl_facts(frontier: Frontier) -> CrawlFacts:
    """Return the facts of a crawl. It takes some ten calls."""
    stats, gate, archived, fleet = await asyncio.gather(
        frontier.stats(),
        frontier.backlog.gate_state(),
        frontier.backlog.archived_bytes(),
        frontier.fleet.state(),
    )
    stalls, outages, holders, figures = await asyncio.gather(
        frontier.workers.stalls(),
        frontier.workers.outages(),
        frontier.workers.holders(),
        frontier.workers.figures(),
    )
    return CrawlFacts(
        stats=stats,
        gate=gate,
        archived_bytes=archived,
        stalls_ms=stalls,
        outages=outages,
        lease_holders=tuple(sorted(holders)),
        figures=figures,
        fleet=fleet,
        settings=frontier.crawl.settings,
    )
