"""The seed command: add URLs with their scope to a crawl's frontier."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from thresher.core import InputError, Url
from thresher.frontier import Discovery, Scope
from thresher.frontier.link.connect import connect
from thresher.frontier.request_state import EMPTY_STATE, RequestState
from thresher.frontier.urls.revisit_interval import MAX_INTERVAL_S, MIN_INTERVAL_S
from thresher.frontier.urls.scope import ScopeKind
from thresher.pipeline.crawls import seed_files
from thresher.pipeline.crawls.operator_commands import parse_duration_ms
from thresher.pipeline.open_crawl import open_crawl
from thresher.pipeline.open_project import OpenProject

BATCH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedPlan:
    """The crawl that gets the seeds, and how far it may follow their links."""

    crawl: str
    scope: ScopeKind = "domain"
    max_depth: int | None = None
    priority: int = 0
    revisit_s: int = 0
    """Seconds between two visits of a seed and of the pages that it leads to; 0 to visit once."""
    again: bool = False
    """Whether known seeds wait once more, and hosts that were given up are tried once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedSummary:
    """What happened to the lines of a seed file, as counts."""

    added: int
    known: int
    refused: int
    reasons: dict[str, int]
    discarded: dict[str, int] = field(default_factory=dict)
    """Seeds that the crawl does not accept, by reason: a budget is spent, a host is dead, a scope is barred."""


def parse_revisit(text: str) -> int:
    """Return a revisit interval in seconds. Raise `InputError` if it is shorter or longer than the frontier allows."""
    seconds = parse_duration_ms(text) // 1000
    if not MIN_INTERVAL_S <= seconds <= MAX_INTERVAL_S:
        raise InputError(
            f"--revisit {text}: give a time between {MIN_INTERVAL_S // 3600}h and {MAX_INTERVAL_S // 86_400}d"
        )
    return seconds


def seed_file(
    project: OpenProject,
    source: str,
    plan: SeedPlan,
    on_refused: Callable[[seed_files.RefusedLine], None] = lambda _: None,
    *,
    links: bool = False,
    update: bool = False,
) -> SeedSummary:
    """Add every seed, and hand each refused line to `on_refused`. Known seeds change nothing.

    `update` replaces the crawl's settings with those of the project. Raise `InputError` if the source cannot be read or
    holds no URL. If the source ends too early, the seeds before that point are added first.
    """
    return add_seeds(
        project, seed_files.read_seeds(source, links=links), plan, source, on_refused, update=update
    )


def add_seeds(
    project: OpenProject,
    lines: Iterator[seed_files.Seed],
    plan: SeedPlan,
    source: str,
    on_refused: Callable[[seed_files.RefusedLine], None] = lambda _: None,
    *,
    update: bool = False,
) -> SeedSummary:
    """Do the same as `seed_file` with parsed seeds. Errors call their source `source`."""
    with project.frontier_address() as address:
        return asyncio.run(_seed(project, address, lines, plan, source, on_refused, update=update))


async def _seed(  # noqa: PLR0913 - the parameters of `add_seeds`, and an address
    project: OpenProject,
    address: str,
    lines: Iterator[seed_files.Seed],
    plan: SeedPlan,
    source: str,
    on_refused: Callable[[seed_files.RefusedLine], None],
    *,
    update: bool,
) -> SeedSummary:
    generation = time.time_ns() // 1_000_000 if plan.again else 0
    link = await connect(address)
    try:
        frontier = await open_crawl(project, link, plan.crawl, update=update)
        tail = frontier.tail(project.store)
        added = known = 0
        reasons, discarded = Counter[str](), Counter[str]()
        broken: InputError | None = None
        for batch, problem in _batches(lines):
            broken = problem
            for line in batch:
                if isinstance(line, seed_files.RefusedLine):
                    reasons[line.reason] += 1
                    on_refused(line)
            result = await frontier.add(
                [replace(discovery, generation=generation) for discovery in _discoveries(batch, plan)],
                revive=plan.again,
            )
            added, known = added + result.added, known + result.known
            discarded.update(result.discarded)
            await tail.spill()
        await frontier.crawl.sync()
    finally:
        await link.aclose()
    if broken is not None and (added or known or reasons or discarded):
        counts = f"{added:,} URLs were added, {known:,} known, {reasons.total():,} lines refused"
        raise InputError(f"{broken}; before that {counts}; get the whole file and seed it again")
    if broken is not None:
        raise broken
    if not added and not known and not discarded:
        first = next(iter(reasons), "nothing but comments")
        raise InputError(f"seeds {source}: no URL in it ({first}); give one http or https URL per line")
    return SeedSummary(
        added=added,
        known=known,
        refused=reasons.total(),
        reasons=dict(reasons),
        discarded=dict(discarded),
    )


def _batches(lines: Iterator[seed_files.Seed]) -> Iterator[tuple[list[seed_files.Seed], InputError | None]]:
    """Yield the seeds in batches. The last batch comes with the error if the source ends too early."""
    batch: list[seed_files.Seed] = []
    try:
        for line in lines:
            batch.append(line)
            if len(batch) == BATCH:
                yield batch, None
                batch = []
    except InputError as error:
        yield batch, error
    else:
        yield batch, None


def _discoveries(batch: Iterable[seed_files.Seed], plan: SeedPlan) -> Iterator[Discovery]:
    for line in batch:
        match line:
            case Url():
                yield _discovery(line, plan, EMPTY_STATE)
            case seed_files.SitemapSeed(url=url):
                yield _discovery(url, plan, RequestState(kind="seeds", level=1))
            case seed_files.RefusedLine():
                pass


def _discovery(url: Url, plan: SeedPlan, state: RequestState) -> Discovery:
    return Discovery(
        url=url,
        scope=Scope.of(plan.scope, url),
        max_depth=plan.max_depth,
        priority=plan.priority,
        interval_s=plan.revisit_s,
        listed=True,
        state=state,
    )
