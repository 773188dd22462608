"""What keeps a crawl's frontier in order while workers run: its tail, its log, and the work of dead workers."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from uuid import uuid4

from thresher.core import ThresherError
from thresher.crawler.replay.outbox import OutboxRelay
from thresher.crawler.replay.replay import recover
from thresher.frontier import Frontier
from thresher.pipeline.fleet import liveness
from thresher.pipeline.open_project import OpenProject


@asynccontextmanager
async def maintain_frontier(project: OpenProject, frontier: Frontier, name: str) -> AsyncIterator[None]:
    """Keep the frontier's tail and the crawl's log up to date during the context. An error in either ends the context
    and is raised.
    """
    tail = frontier.tail(project.store)
    outbox = OutboxRelay(frontier, tail, project.store, name)
    try:
        async with asyncio.TaskGroup() as group:
            upkeep = group.create_task(tail.run(f"keeper-{uuid4()}", outbox.log_due))
            yield
            upkeep.cancel()
    except BaseExceptionGroup as failures:  # what `except*` raises is a group again on CPython 3.11.2
        errors, others = failures.split(ThresherError)
        if errors is None or others is not None:
            raise
        raise errors.exceptions[0] from None
    await outbox.log_all()


async def recover_dead_workers(
    project: OpenProject,
    frontier: Frontier,
    name: str,
    exits: Mapping[str, bool] = MappingProxyType({}),
) -> None:
    """Recover the work of dead workers: settle archived pages, give other leases back, and remove locks.

    `exits` has the workers whose processes were seen to end, and whether each crashed.
    """

    async def dead(workers: set[str]) -> set[str]:
        return await liveness.dead_workers(frontier, project.state_directory, name, workers, set(exits))

    await recover(
        project.store,
        frontier,
        dead,
        crawl=name,
        options=project.page_options,
        crashed_workers={worker for worker, has_crashed in exits.items() if has_crashed}
        | liveness.crashed_workers(project.state_directory, name),
    )
    liveness.remove_stale_locks(project.state_directory, name)
