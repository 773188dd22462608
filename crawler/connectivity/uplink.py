"""`Uplink`: a worker's way to the web: its client, and what happens when our own side fails.

1. Every failure is attributed (`crawler.connectivity.failure_attribution`) before it counts. A failure that is not the
   host's becomes a `Postponement`: the lease goes back, and counts neither as an attempt of its URL nor as a fault of
   its host.
2. From then on there is an outage: the worker leases nothing, reports why (log, heartbeat), and probes the broken part
   with increasing delays. The other workers of the crawl go on, because they may reach the web another way. If they do
   not, they find that out themselves.
3. When a probe succeeds the worker leases a few pages (`TENTATIVE_LEASES`), and as many as before once one of them has
   ended. The delays between probes start anew only when somebody answers: a part that fails, seems well and fails again
   is probed with increasing delays.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from math import inf
from typing import Protocol

from thresher.core import Capture, ThresherError, Url
from thresher.crawler.connectivity.failure_attribution import (
    MIN_SILENT_HOSTS,
    Cause,
    Check,
    Evidence,
    OtherHosts,
    attribute_failure,
    probe_delay_s,
    proves_connectivity,
)
from thresher.crawler.wire import Acquire, FailureReason, FetchFailure, Postponement, acquire_at_once
from thresher.crawler.wire.client import Client
from thresher.crawler.wire.http.request import HeaderList
from thresher.crawler.wire.session import Session
from thresher.frontier import Outage, canonicalize
from thresher.frontier.urls.scope import registered_domain

LOGGER = logging.getLogger(__name__)
POSTPONE_MS = 1_000
"""Milliseconds for which workers without an outage do not request the host of a lease that goes back."""
TENTATIVE_LEASES = 4
"""Simultaneous leases while it is unknown whether an outage is over."""
BROKEN_TTL_S = 10.0
"""Seconds for which a broken part, or silent other hosts, are not checked again."""
WORKING_TTL_S = 1.0
"""Seconds for which a working part is not checked again."""
CANDIDATE_ORIGINS = 32
"""Origins from which the other hosts are chosen."""
_SENT: frozenset[FailureReason] = frozenset({"timeout_first_byte", "timeout", "reset", "protocol"})
"""Failures after which the request may have reached its host nevertheless: the host's delay starts."""
_PROVEN_WRONG: frozenset[Cause] = frozenset({"silence", "route"})
"""Causes that a response from anybody on the web disproves."""


class Fetcher(Protocol):
    """Fetches pages: a client, or an uplink."""

    async def get(
        self,
        url: Url,
        acquire: Acquire = acquire_at_once,
        *,
        headers: HeaderList = (),
        max_body: int | None = None,
    ) -> Capture | FetchFailure | Postponement:
        """Request a URL, as `Client.get` does."""


class Uplink:
    """Sends requests through a client, and detects outages."""

    def __init__(
        self,
        client: Client,
        responsive: Callable[[int], Awaitable[list[str]]],
        report: Callable[[], Awaitable[None]],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start without an outage.

        `responsive` returns origins that answered before (`Origins.responsive`). `report` is called when an
        outage begins or ends, so that others can see `outage`. `clock` is the event loop's.
        """
        self._client, self._probes = client, client.probes
        self._responsive, self._report, self._clock = responsive, report, clock
        self._cause: Cause | None = None
        self._problem_text, self._address = "", ""
        self._since, self._over_at = -inf, -inf
        self._last_cause: Cause | None = None
        self._last_response_at = -inf
        self._refuted = asyncio.Event()
        self._had_route = not self._probes.route_problem()
        self._problems: dict[Check, tuple[float, str]] = {}
        self._other_hosts_cache: tuple[float, OtherHosts] | None = None
        self._attribution_lock = asyncio.Lock()
        self._probing: asyncio.Task[None] | None = None
        self._failed_probes = 0
        self._tentative = False

    @property
    def outage(self) -> Outage | None:
        """What keeps this worker from the web now; None if nothing does."""
        if self._cause is None:
            return None
        return Outage(why=self._problem_text, ms=round(1000 * self._lasted_s))

    @property
    def _lasted_s(self) -> float:
        return self._clock() - self._since

    def lease_limit(self, concurrency: int) -> int:
        """Return how many of `concurrency` leases the worker may hold now. Raise the error that ended the probes, if
        one did.
        """
        if self._probing is not None and self._probing.done():
            self._probing.result()
        if self._cause is not None:
            return 0
        return min(concurrency, TENTATIVE_LEASES) if self._tentative else concurrency

    async def get(
        self,
        url: Url,
        acquire: Acquire = acquire_at_once,
        *,
        headers: HeaderList = (),
        max_body: int | None = None,
        session: Session | None = None,
    ) -> Capture | FetchFailure | Postponement:
        """Request a URL, as `Client.get` does. Return a `Postponement` also if no response came and the host is not to
        blame.
        """
        started_at = self._clock()
        found = await self._client.get(url, acquire, headers=headers, max_body=max_body, session=session)
        if isinstance(found, Postponement):
            return found
        if isinstance(found, Capture) or found.symptom == "answered":
            self._record_response()
        if isinstance(found, FetchFailure):
            async with self._attribution_lock:  # the next failure uses what this one finds out
                if await self._is_our_fault(url, found, started_at):
                    return Postponement(wait_ms=POSTPONE_MS, has_sent_request=found.reason in _SENT)
        self._end_tentative()
        return found

    def add_cookies(self, cookies: Iterable[tuple[str, str]]) -> None:
        """Store cookies that another client received, as `Client.add_cookies` does."""
        self._client.add_cookies(cookies)

    async def close(self) -> None:
        """Stop probing."""
        if self._probing is not None:
            self._probing.cancel()
            await asyncio.wait([self._probing])

    async def _is_our_fault(self, url: Url, failure: FetchFailure, started_at: float) -> bool:
        problems: dict[Check, str] = {}
        others: OtherHosts | None = None
        while isinstance(
            found := attribute_failure(failure.symptom, self._evidence(started_at, problems, others)), Check
        ):
            if found is Check.OTHERS:
                others = await self._check_other_hosts(url)
            else:
                problems[found] = await self._problem(found, url)
        if found is not None and self._overlaps(started_at) is None:
            why = next((problem for problem in problems.values() if problem), failure.detail)
            if found == "silence" and others is not None:
                why = f"nobody answers, neither {url.host} nor {others.silent} others that did before"
            self._address = await self._probes.address(url) if found == "route" else ""
            self._begin_outage(found, why)
        return found is not None

    def _evidence(
        self, started_at: float, problems: Mapping[Check, str], others: OtherHosts | None
    ) -> Evidence:
        resolved_at, now = self._probes.resolved_at, self._clock()
        has_response = proves_connectivity(self._last_response_at, started_at=started_at, failed_at=now)
        fresh = {
            Check.PROXY: has_response,
            Check.NAME_SERVERS: proves_connectivity(resolved_at, started_at=started_at, failed_at=now),
        }
        had = {Check.NAME_SERVERS: resolved_at > -inf, Check.ROUTE: self._had_route}
        return Evidence(
            overlapping_outage=self._overlaps(started_at),
            has_response=has_response,
            recently_working=frozenset(part for part, true in fresh.items() if true),
            previously_working=frozenset(part for part, true in had.items() if true),
            check_results={part: not problem for part, problem in problems.items()},
            other_hosts=others,
        )

    def _overlaps(self, started_at: float) -> Cause | None:
        return self._cause or (self._last_cause if started_at <= self._over_at else None)

    async def _problem(self, part: Check, url: Url) -> str:
        """Return why a part of our side does not work; empty if it does."""
        at, problem = self._problems.get(part, (-inf, ""))
        if self._clock() - at <= (BROKEN_TTL_S if problem else WORKING_TTL_S):
            return problem
        match part:
            case Check.PROXY:
                problem = await self._probes.proxy_problem(must_answer=True)
            case Check.NAME_SERVERS:
                problem = await self._probes.name_server_problem()
            case _:
                problem = self._probes.route_problem(await self._probes.address(url))
                self._had_route |= not problem
        self._problems[part] = self._clock(), problem
        return problem

    async def _check_other_hosts(self, url: Url) -> OtherHosts:
        """Return how many hosts that answered before, of other domains and on other addresses, answer now, and how many
        are silent.
        """
        if self._other_hosts_cache is not None:
            at, found = self._other_hosts_cache
            if self._clock() - at <= (WORKING_TTL_S if found.responding else BROKEN_TTL_S):
                return found
        answered, silent = await self._probe_hosts(registered_domain(url.host))
        if silent and not answered:
            silent -= {await self._probes.address(url)}
        if answered:
            self._record_response()
        found = OtherHosts(responding=answered, silent=len(silent))
        self._other_hosts_cache = self._clock(), found
        return found

    async def _probe_hosts(self, domain: str = "") -> tuple[int, set[str]]:
        """Probe some hosts that answered before, none of them of `domain`. Return how many answer, and the addresses of
        those that do not.
        """
        origins = [canonicalize("/", origin) for origin in await self._responsive(CANDIDATE_ORIGINS)]
        by_domain = {registered_domain(origin.host): origin for origin in origins}
        by_domain.pop(domain, None)
        results = await asyncio.gather(
            *map(self._probes.probe_host, [*by_domain.values()][: 2 * MIN_SILENT_HOSTS])
        )
        probes = [probe for probe in results if probe is not None]
        return sum(probe.has_answered for probe in probes), {
            probe.address for probe in probes if not probe.has_answered
        }

    def _record_response(self) -> None:
        """Note that somebody on the web answered."""
        self._last_response_at = self._clock()
        if self._cause is None:
            self._failed_probes = 0
        elif self._cause in _PROVEN_WRONG:
            self._refuted.set()

    def _end_tentative(self) -> None:
        """Lease as many as before: a host has answered, or its silence is its own."""
        self._tentative = False

    def _begin_outage(self, cause: Cause, why: str) -> None:
        self._cause = self._last_cause = cause
        self._problem_text, self._since, self._tentative = why, self._clock(), False
        self._refuted.clear()
        LOGGER.warning(
            "%s: this worker requests nothing until that ends, and no host is given up for it", why
        )
        self._probing = asyncio.create_task(self._probe(cause))

    async def _probe(self, cause: Cause) -> None:
        over = False
        await self._report_outage()
        while not over:
            with suppress(TimeoutError):
                async with asyncio.timeout(probe_delay_s(self._failed_probes)):
                    await self._refuted.wait()
            self._failed_probes += 1
            with suppress(ThresherError):  # of the frontier's server; the worker meets it elsewhere
                over = await self._is_over(cause)
        LOGGER.warning(
            "%s: that ended after %.0f s, and the crawl goes on", self._problem_text, self._lasted_s
        )
        self._cause, self._over_at, self._tentative = None, self._clock(), True
        self._problems.clear()
        self._other_hosts_cache = None
        await self._report_outage()

    async def _report_outage(self) -> None:
        with suppress(ThresherError):
            await self._report()

    async def _is_over(self, cause: Cause) -> bool:
        if self._refuted.is_set():
            return True
        match cause:
            case "proxy":
                return not await self._probes.proxy_problem(must_answer=False)
            case "name_servers":
                return not await self._probes.name_server_problem()
            case "route":
                return not self._probes.route_problem(self._address)
            case "silence":
                answered, silent = await self._probe_hosts()
                return answered > 0 or not silent
        return True

    def __repr__(self) -> str:
        return f"<uplink: {self._problem_text if self._cause else 'up'}>"
