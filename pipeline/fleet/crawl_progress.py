"""`CrawlProgress`: what a running crawl shows of itself: pages a second, hosts, how long what is known will take, and, on
request, each line of its log.
"""

import asyncio
import time

from frontier import Frontier, GateState, Stats
from pipeline.terminal.log_text import format_line
from pipeline.terminal.outage_line import outage_line
from pipeline.terminal.progress import Progress
from pipeline.terminal.rate import Rate, format_duration
from storage.crawllog.log_reader import LogFollower

LEAST_S = 1.0
"""A shorter time is no estimate: the last pages wait for their second attempt, not for the others."""
LOG_INTERVAL_S = 1.0
"""How often new lines of the log are looked for: a request or more each time where the storage is a bucket."""


class CrawlProgress:
    """One crawl command's."""

    def __init__(
        self,
        frontier: Frontier,
        progress: Progress,
        follower: LogFollower | None,
        *,
        max_pages: int | None = None,
        max_requests: int | None = None,
    ) -> None:
        """`follower` reads the log, where its lines are to be shown.

        The counts of fetched pages and of requests that end the command are those of the frontier's statistics.
        """
        self._frontier, self._progress, self._follower = frontier, progress, follower
        self._max_pages, self._max_requests = max_pages, max_requests
        self.outage = ""
        """What kept workers from the web, if no page has been settled since; else empty."""
        self._rate = Rate()
        self._before = self._settled = 0
        self._logged_s = float("-inf")

    async def start(self) -> None:
        """Count from here."""
        self._before = self._settled = sum((await self._frontier.stats()).outcomes.values())
        self._progress.start("crawl", total=None)

    async def update(self) -> None:
        """Say how the crawl stands."""
        stats, flow = await self._frontier.stats(), await self._frontier.backlog.gate_state()
        settled = sum(stats.outcomes.values())
        self._rate.update(time.monotonic(), settled)
        by, self._settled = settled - self._settled, settled
        left = remaining(stats, max_pages=self._max_pages, max_requests=self._max_requests)
        outage = outage_line(await self._frontier.workers.outages())
        # A worker that ends takes its report along.
        self.outage = outage or ("" if by else self.outage)
        self._progress.advance(
            status_line(stats, flow, self._rate, left, outage),
            by=by,
            total=settled - self._before + left,
        )
        if time.monotonic() - self._logged_s >= LOG_INTERVAL_S:
            await self.print_log()

    async def print_log(self) -> None:
        """Show what is new in the log."""
        if self._follower is not None:
            for line in await asyncio.to_thread(self._follower.poll):
                self._progress.print_line(format_line(line))
            self._logged_s = time.monotonic()

    def print_line(self, line: str) -> None:
        """Show a line of its own."""
        self._progress.print_line(line)

    def stop(self) -> None:
        """The crawl has ended."""
        self._progress.stop()

    def __repr__(self) -> str:
        return f"<progress of a crawl: {self._settled - self._before} pages settled, {self._rate}>"


def remaining(stats: Stats, *, max_pages: int | None = None, max_requests: int | None = None) -> int:
    """Pages that are known and not settled; of them so many as the command may still ask for."""
    left = [stats.waiting + stats.leased + stats.later]
    if max_pages is not None:
        left.append(max(max_pages - stats.outcomes.get("fetched", 0), 0))
    if max_requests is not None:
        left.append(max(max_requests - stats.requests, 0))
    return min(left)


def status_line(stats: Stats, flow: GateState | None, pace: Rate, pages_left: int, outage: str = "") -> str:
    """One line, what matters most first: a terminal may cut its end off.

    The estimate is of the pages that are known; what they lead to takes longer.
    """
    held = stats.held - stats.dead  # a host that was given up is counted in both
    hosts = f"{stats.hosts:,} {'host' if stats.hosts == 1 else 'hosts'}"
    said = [f"{pace.per_second:.1f} pages/s", hosts + (f" ({held:,} held)" if held > 0 else "")]
    if outage:
        return f"waits: {outage}; {', '.join(said)}"
    remaining_s = pace.remaining_s(pages_left)
    if pages_left and remaining_s is not None and remaining_s >= LEAST_S:
        said.append(f"~{format_duration(remaining_s)} left")
    if flow is not None and flow.shut:
        said.append(f"waits for {flow.follower} to process")
    return ", ".join(said)
