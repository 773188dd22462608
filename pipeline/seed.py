"""The seed command: URLs into a crawl's frontier, with their scope."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from core import InputError, Url
from crawler.note import Note, encode
from frontier import Discovery, Scope
from frontier.connect import connect
from frontier.scope import ScopeKind
from pipeline import seeds
from pipeline.crawls import open_crawl
from pipeline.project import Project

BATCH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Into which crawl seeds go, and how far it may follow their links."""

    crawl: str
    scope: ScopeKind = "domain"
    max_depth: int | None = None
    priority: int = 0
    revisit_s: int = 0
    """How long after a visit the next is due, of seeds and of what they lead to; 0 for never."""
    again: bool = False
    """Whether seeds that are known wait once more, and hosts that were given up are asked once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeded:
    """What became of the lines."""

    added: int
    known: int
    refused: int
    reasons: dict[str, int]
    discarded: dict[str, int] = field(default_factory=dict)
    """Seeds that the crawl does not let in, by reason: a budget is spent, a host is dead, something was dropped."""


def seed(
    project: Project,
    source: str,
    plan: Plan,
    refused: Callable[[seeds.Refused], None] = lambda _: None,
    *,
    links: bool = False,
    update: bool = False,
) -> Seeded:
    """Add every seed; those that are known change nothing. Each refused line is handed to `refused`.

    `update` replaces the crawl's settings by the project's. Raises InputError where the source cannot be read, or holds no
    URL at all.
    """
    return add(project, seeds.read(source, links=links), plan, source, refused, update=update)


def add(
    project: Project,
    lines: Iterator[seeds.Seed],
    plan: Plan,
    source: str,
    refused: Callable[[seeds.Refused], None] = lambda _: None,
    *,
    update: bool = False,
) -> Seeded:
    """The same of seeds that are there; `source` is what errors call them."""
    with project.frontier_address() as address:
        return asyncio.run(_seed(project, address, lines, plan, source, refused, update=update))


async def _seed(
    project: Project,
    address: str,
    lines: Iterator[seeds.Seed],
    plan: Plan,
    source: str,
    refused: Callable[[seeds.Refused], None],
    *,
    update: bool,
) -> Seeded:
    generation = time.time_ns() // 1_000_000 if plan.again else 0
    link = await connect(address)
    try:
        frontier = await open_crawl(project, link, plan.crawl, update=update)
        tail = frontier.tail(project.store)
        added = known = 0
        reasons, discarded = Counter[str](), Counter[str]()
        while batch := list(islice(lines, BATCH)):
            for line in batch:
                if isinstance(line, seeds.Refused):
                    reasons[line.reason] += 1
                    refused(line)
            result = await frontier.add(
                [replace(found, generation=generation) for found in _discoveries(batch, plan)],
                revive=plan.again,
            )
            added, known = added + result.added, known + result.known
            discarded.update(result.discarded)
            await tail.spill()
    finally:
        await link.aclose()
    if not added and not known and not discarded:
        first = next(iter(reasons), "nothing but comments")
        raise InputError(f"seeds {source}: no URL in it ({first}); give one http or https URL a line")
    return Seeded(
        added=added,
        known=known,
        refused=reasons.total(),
        reasons=dict(reasons),
        discarded=dict(discarded),
    )


def _discoveries(batch: Iterable[seeds.Seed], plan: Plan) -> Iterator[Discovery]:
    for line in batch:
        match line:
            case Url():
                yield _discovery(line, plan, plan.max_depth, b"")
            case seeds.Sitemap(url=url):
                # Its pages are the seeds, and one link away from it.
                deepest = None if plan.max_depth is None else plan.max_depth + 1
                yield _discovery(url, plan, deepest, encode(Note(kind="sitemap", level=1)))
            case seeds.Refused():
                pass


def _discovery(url: Url, plan: Plan, max_depth: int | None, note: bytes) -> Discovery:
    return Discovery(
        url=url,
        scope=Scope.of(plan.scope, url),
        max_depth=max_depth,
        priority=plan.priority,
        interval_s=plan.revisit_s,
        note=note,
    )
