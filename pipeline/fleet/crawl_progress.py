"""`CrawlProgress`: the display of a running crawl: pages per second, hosts, time left and, if wanted, each log line."""

import asyncio
import time

from thresher.frontier import Frontier, GateState, Stats
from thresher.pipeline.terminal.log_text import format_line
from thresher.pipeline.terminal.outage_line import outage_line
from thresher.pipeline.terminal.progress import Progress
from thresher.pipeline.terminal.rate import Rate, format_duration
from thresher.storage.crawllog.log_reader import LogFollower

MIN_ESTIMATE_S = 1.0
"""Seconds. A shorter estimate of the time left is not shown, because the last pages wait for their retry and not for
other pages.
"""
LOG_INTERVAL_S = 1.0
"""Seconds between two searches for new log lines. In a bucket each search costs a request or more."""


class CrawlProgress:
    """The progress of one crawl command."""

    def __init__(
        self,
        frontier: Frontier,
        progress: Progress,
        follower: LogFollower | None,
        *,
        max_pages: int | None = None,
        max_requests: int | None = None,
    ) -> None:
        """`follower` reads the log, if its lines are to be shown.

        `max_pages` and `max_requests` are counts of the frontier's statistics at which the command ends.
        """
        self._frontier, self._progress, self._follower = frontier, progress, follower
        self._max_pages, self._max_requests = max_pages, max_requests
        self.outage = ""
        """What keeps workers from the web, if no page has been settled since; else empty."""
        self._rate = Rate()
        self._before = self._settled = 0
        self._logged_s = float("-inf")

    async def start(self) -> None:
        """Start to count."""
        self._before = self._settled = sum((await self._frontier.stats()).outcomes.values())
        self._progress.start("crawl", total=None)

    async def update(self) -> None:
        """Show the current state of the crawl."""
        stats, gate_state = await self._frontier.stats(), await self._frontier.backlog.gate_state()
        settled = sum(stats.outcomes.values())
        self._rate.update(time.monotonic(), settled)
        by, self._settled = settled - self._settled, settled
        left = remaining(stats, max_pages=self._max_pages, max_requests=self._max_requests)
        outage = outage_line(await self._frontier.workers.outages())
        # The report of a worker disappears with the worker, so the last one is kept.
        self.outage = outage or ("" if by else self.outage)
        pause = "" if by else await self._pause()
        self._progress.advance(
            status_line(stats, gate_state, self._rate, left, pause or outage),
            by=by,
            total=settled - self._before + left,
        )
        if time.monotonic() - self._logged_s >= LOG_INTERVAL_S:
            await self.print_log()

    async def _pause(self) -> str:
        """Return that the crawl is paused, and how it goes on; empty if it is not."""
        fleet = await self._frontier.fleet.state()
        name = self._frontier.crawl.name
        return (
            f"paused (thresher fleet resume {name})" if fleet is not None and fleet.wanted.is_paused else ""
        )

    async def print_log(self) -> None:
        """Show new lines of the log."""
        if self._follower is not None:
            for line in await asyncio.to_thread(self._follower.poll):
                self._progress.print_line(format_line(line))
            self._logged_s = time.monotonic()

    def print_line(self, line: str) -> None:
        """Show a separate line."""
        self._progress.print_line(line)

    def stop(self) -> None:
        """End the display."""
        self._progress.stop()

    def __repr__(self) -> str:
        return f"<progress of a crawl: {self._settled - self._before} pages settled, {self._rate}>"


def remaining(stats: Stats, *, max_pages: int | None = None, max_requests: int | None = None) -> int:
    """Return how many known pages are not settled, but no more than the command may still fetch."""
    left = [stats.waiting + stats.leased + stats.later]
    if max_pages is not None:
        left.append(max(max_pages - stats.outcomes.get("fetched", 0), 0))
    if max_requests is not None:
        left.append(max(max_requests - stats.requests, 0))
    return min(left)


def status_line(
    stats: Stats, gate_state: GateState | None, rate: Rate, pages_left: int, outage: str = ""
) -> str:
    """Return the state as one line, the most important first, because a terminal may cut its end off.

    The estimate covers known pages. Pages that they lead to take longer.
    """
    held = stats.held - stats.dead  # a host that was given up is counted in both
    hosts = f"{stats.hosts:,} {'host' if stats.hosts == 1 else 'hosts'}"
    parts = [f"{rate.per_second:.1f} pages/s", hosts + (f" ({held:,} held)" if held > 0 else "")]
    if outage:
        return f"waits: {outage}; {', '.join(parts)}"
    remaining_s = rate.remaining_s(pages_left)
    if pages_left and remaining_s is not None and remaining_s >= MIN_ESTIMATE_S:
        parts.append(f"~{format_duration(remaining_s)} left")
    if gate_state is not None and gate_state.shut:
        parts.append(f"waits for {gate_state.follower} to process")
    return ", ".join(parts)
