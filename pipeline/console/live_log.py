"""`LiveLogs`: the newest lines of the logs of crawls, for everybody who looks at them.

1. A log is followed only while somebody looks, by one thread at a time, and read at most every `POLL_S` seconds.
2. Memory holds `KEPT_LINES` lines of each followed log, and `MAX_LOGS` logs.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field

from thresher.pipeline.console.models.crawl_models import LogLineView, LogView
from thresher.pipeline.terminal.reasons import describe
from thresher.storage.crawllog.log_line import LogLine, files, read
from thresher.storage.crawllog.log_reader import LogFollower
from thresher.storage.store import Store

POLL_S = 2.0
KEPT_LINES = 500
MAX_LOGS = 8
SEALED_FILES = 2
"""Sealed files that are read if no file is open."""
FORGET_AFTER_S = 60.0
"""Seconds after which a log is followed no longer if nobody asks."""


@dataclass(slots=True)
class _Followed:
    """One log that is followed."""

    follower: LogFollower | None = None
    lines: deque[LogLineView] = field(default_factory=lambda: deque(maxlen=KEPT_LINES))
    serial: int = 0
    polled_at: float = float("-inf")
    asked_at: float = 0.0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class LiveLogs:
    """The logs that somebody looks at."""

    def __init__(
        self, store: Store, executor: Executor, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store, self._executor, self._clock = store, executor, clock
        self._logs: dict[str, _Followed] = {}

    async def newest(self, crawl: str, *, after: int = 0, limit: int = 100) -> LogView:
        """Return the newest lines of a crawl's log behind the line with the serial `after`, at most `limit`."""
        log = self._followed(crawl)
        async with log.lock:
            if self._clock() - log.polled_at >= POLL_S:
                log.polled_at = self._clock()
                loop = asyncio.get_running_loop()
                for line in await loop.run_in_executor(self._executor, self._poll, crawl, log):
                    log.serial += 1
                    log.lines.append(line_view(line, log.serial))
        new = [line for line in log.lines if line.serial > after]
        shown = new[max(len(new) - limit, 0) :]
        is_complete = len(shown) == len(new) and (not new or new[0].serial <= after + 1)
        return LogView(lines=shown, is_complete=is_complete)

    def forget_unread(self) -> None:
        """Follow no longer what nobody has asked for."""
        now = self._clock()
        self._logs = {name: log for name, log in self._logs.items() if now - log.asked_at < FORGET_AFTER_S}

    def _followed(self, crawl: str) -> _Followed:
        log = self._logs.get(crawl)
        if log is None:
            while len(self._logs) >= MAX_LOGS:
                del self._logs[min(self._logs, key=lambda name: self._logs[name].asked_at)]
            log = self._logs[crawl] = _Followed()
        log.asked_at = self._clock()
        return log

    def _poll(self, crawl: str, log: _Followed) -> list[LogLine]:
        if log.follower is None:
            log.follower = LogFollower(self._store, crawl)
            return log.follower.last_lines(KEPT_LINES) or self._sealed_lines(crawl)
        return log.follower.poll()[-KEPT_LINES:]

    def _sealed_lines(self, crawl: str) -> list[LogLine]:
        """Return the last lines of the last sealed files, by name: no file is open, because no worker runs."""
        names = deque(files(self._store, crawl), maxlen=SEALED_FILES)
        found = [line for name in names for line in deque(read(self._store, name), maxlen=KEPT_LINES)]
        return sorted(found, key=lambda line: line.time_ms)[-KEPT_LINES:]


def line_view(line: LogLine, serial: int) -> LogLineView:
    """Return a line for people and programs."""
    return LogLineView(
        serial=serial,
        time=line.time_ms,
        url=line.url,
        kind=line.kind,
        outcome=line.outcome,
        reason=line.reason,
        description=describe(line.reason) if line.reason else "",
        status=line.status,
        bytes=line.bytes,
        ms=line.ms,
        referrer=line.referrer,
    )
