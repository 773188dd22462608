"""`Console`: everything that the pages and the API show of one project, and the loop that samples it."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TypeVar

from thresher.core import CorruptData, InputError, ThresherError, Url
from thresher.frontier import Frontier, HostState
from thresher.pipeline.console.actions.action_log import ActionLog
from thresher.pipeline.console.actions.action_requests import Action, ActionRequest
from thresher.pipeline.console.actions.action_runner import ActionRunner, Operator
from thresher.pipeline.console.cost_view import cost_view
from thresher.pipeline.console.crawl_facts import CrawlFacts, crawl_facts
from thresher.pipeline.console.crawl_reader import CrawlReader, UnknownCrawl
from thresher.pipeline.console.error_examples import error_examples
from thresher.pipeline.console.frontier_views import (
    crawl_view,
    fleet_view,
    host_view,
    lost_crawl_view,
    place_view,
    report_views,
    split_reason,
)
from thresher.pipeline.console.host_survey import HostSurvey
from thresher.pipeline.console.live_log import LiveLogs
from thresher.pipeline.console.models.crawl_models import (
    CrawlView,
    ErrorView,
    HostPageView,
    HostView,
    PolitenessView,
    WorkersView,
)
from thresher.pipeline.console.models.service_models import ActionResult, HealthView
from thresher.pipeline.console.models.storage_models import (
    CostView,
    ExportView,
    FunnelView,
    StorageView,
    YieldView,
)
from thresher.pipeline.console.models.url_models import PlaceView, UrlView
from thresher.pipeline.console.sampler import PERIOD_S, CrawlSamples, Sample
from thresher.pipeline.console.slow_reading import DUTY, FIRST_WAIT_S, Reading, SlowReading
from thresher.pipeline.console.stored_reader import StoredReader
from thresher.pipeline.console.url_search import UrlSearches
from thresher.pipeline.console.url_view import source_view
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.reports.history import parse_address, url_history
from thresher.pipeline.reports.metrics import project_costs, project_metrics, readable_status
from thresher.pipeline.terminal.reasons import describe

LOGGER = logging.getLogger(__name__)
T = TypeVar("T")
FACTS_S = 1.0
"""Seconds for which the facts of a crawl are not asked for again, however many clients look."""
SURVEY_S = 0.02
"""Seconds of a sampling period in which hosts are surveyed, for each crawl."""
MAX_ENTRIES = 3_000
"""Waiting URLs of a host that are searched for one URL."""
METRICS_DUTY = 0.01
"""Share of one CPU that metrics take at most: Prometheus asks every few seconds, and needs new figures."""
MAX_READINGS = 400
SHOWN_HOSTS = 20
MAX_ERRORS = 200


class Console:
    """One project as it is now. Call `run` in the background; close the console at the end."""

    def __init__(self, project: OpenProject, address: str) -> None:
        """`address` is that of the frontier's server, which runs as long as the console."""
        self.project = project
        self.crawls = CrawlReader(project.store, address)
        self.stored = StoredReader(project)
        self.actions = ActionRunner(project, ActionLog(project.state_directory))
        self._executor = ThreadPoolExecutor(2, thread_name_prefix="reading")
        self.logs = LiveLogs(project.store, self._executor)
        self._searches = UrlSearches(partial(url_history, project, sources=()))
        self._samples: dict[str, CrawlSamples] = {}
        self._surveys: dict[str, HostSurvey] = {}
        self._readings: dict[tuple[str, str], SlowReading[object]] = {}
        self._facts: dict[str, tuple[float, CrawlFacts]] = {}
        self._storage_check: asyncio.Task[bool] | None = None

    # Crawls

    async def all_crawls(self) -> list[CrawlView]:
        """Return every crawl. Raise `Unavailable` if the frontier does not respond."""
        found = []
        for name in await self.crawls.names():
            try:
                found.append(await self.crawl(name))
            except UnknownCrawl:  # of another storage
                continue
        return found

    async def crawl(self, name: str) -> CrawlView:
        """Return one crawl."""
        try:
            facts = await self._crawl_facts(name)
        except CorruptData as error:
            return lost_crawl_view(name, str(error))
        return crawl_view(name, facts, self.samples(name).rates)

    def samples(self, crawl: str) -> CrawlSamples:
        """Return the last hour of a crawl."""
        return self._samples.get(crawl, CrawlSamples())

    async def workers(self, crawl: str) -> WorkersView:
        """Return the workers of a crawl."""
        facts = await self._crawl_facts(crawl)
        return WorkersView(
            lease_holders=list(facts.lease_holders),
            outages={worker: outage.why for worker, outage in facts.outages.items()},
            storage_stalls_ms=facts.stalls_ms,
            reports=report_views(facts.figures),
            politeness_violations=sum(each.politeness_violations for each in facts.figures.sums.values()),
            fleet=fleet_view(facts.fleet),
        )

    async def politeness(self, crawl: str, shown: int = SHOWN_HOSTS) -> PolitenessView:
        """Return which hosts a crawl waits for. The hosts come from the survey; how they stand is asked for now."""
        survey = self._surveys.get(crawl)
        if survey is None:
            survey = self._surveys[crawl] = HostSurvey()
            await self._survey(crawl, survey)
        found = survey.result
        lists = (found.slowest[:shown], found.held[:shown], found.given_up[:shown])

        async def now(frontier: Frontier) -> dict[str, HostState]:
            names = list({host.host for hosts in lists for host in hosts})
            states = await asyncio.gather(*(frontier.inspection.host(name) for name in names))
            return {state.host: state for state in states if state is not None}

        states = await self.crawls.ask(crawl, now)
        slowest, held, given_up = (
            [states[host.host] for host in hosts if host.host in states] for hosts in lists
        )
        return PolitenessView(
            slowest=[host_view(host) for host in slowest if host.waiting and not host.dead_reason],
            held=[host_view(host) for host in held if host.rest],
            given_up=[host_view(host) for host in given_up if host.dead_reason],
            held_by_reason=dict(found.blocked_by_reason),
            blocked_pages=found.blocked_pages,
            surveyed_hosts=found.hosts,
            is_whole=found.is_whole,
        )

    async def hosts(self, crawl: str, cursor: str, *, is_held: bool) -> HostPageView:
        """Return some hosts. Raise `InputError` if the cursor is not one of the crawl."""
        page = await self.crawls.ask(
            crawl, lambda frontier: frontier.inspection.host_page(cursor, is_held=is_held)
        )
        return HostPageView(hosts=[host_view(host) for host in page.hosts], cursor=page.cursor)

    async def host(self, crawl: str, name: str) -> HostView | None:
        """Return one host; None if the crawl does not know it."""
        found = await self.crawls.ask(crawl, lambda frontier: frontier.inspection.host(name))
        return None if found is None else host_view(found)

    async def errors(self, crawl: str) -> list[ErrorView]:
        """Return how many pages ended with each reason, the most first, with examples from the crawl's log."""
        facts = await self._crawl_facts(crawl)
        examples = await self._reading("examples", crawl, self._read_examples).get()
        found = examples.value or {}
        rows = [split_reason(key, facts.stats.reasons) for key in facts.stats.reasons]
        return [
            ErrorView(
                outcome=outcome,
                reason=reason,
                description=describe(reason),
                pages=count,
                examples=found.get(f"{outcome}:{reason}", []),
            )
            for outcome, reason, count in sorted(rows, key=lambda row: -row[2])[:MAX_ERRORS]
        ]

    # Storage

    async def storage(self, wait_s: float = FIRST_WAIT_S) -> Reading[StorageView]:
        """Return what is stored."""
        return await self._reading("storage", "", lambda _: self.stored.storage()).get(wait_s)

    async def funnel(self, source: str, wait_s: float = FIRST_WAIT_S) -> Reading[FunnelView]:
        """Return the funnel of one source."""
        return await self._reading("funnel", source, self.stored.funnel).get(wait_s)

    async def yields(self, source: str, wait_s: float = FIRST_WAIT_S) -> Reading[YieldView]:
        """Return the yield by domain of one source."""
        return await self._reading("yields", source, self.stored.yields).get(wait_s)

    async def exports(self, wait_s: float = FIRST_WAIT_S) -> Reading[list[ExportView]]:
        """Return the exports that the project knows."""
        return await self._reading("exports", "", lambda _: self.stored.exports()).get(wait_s)

    async def cost(self, wait_s: float = FIRST_WAIT_S) -> Reading[CostView]:
        """Return what the project cost so far."""
        return await self._reading("cost", "", self._read_cost).get(wait_s)

    async def metrics(self) -> Reading[str]:
        """Return the figures of `thresher status --metrics`, some seconds old at most."""
        return await self._reading("metrics", "", self._read_metrics, duty=METRICS_DUTY).get(wait_s=10.0)

    async def health(self) -> HealthView:
        """Return whether the frontier and the storage respond."""
        frontier = await self._problem(self.crawls.names())
        storage = await self._problem(self._check_storage())
        is_ok = frontier == storage == "ok"
        return HealthView(status="ok" if is_ok else "degraded", frontier=frontier, storage=storage)

    # One URL

    async def url(self, text: str) -> UrlView:
        """Return what is known about a URL so far. Raise `InputError` if the text is no URL."""
        url = parse_address(text)
        places = await self._places(url) if isinstance(url, Url) else {}
        search = await self._searches.search(url)
        is_searching = not search.is_done  # as of what is read next: more may be found while we wait below
        known = [history for history in search.found if not history.is_empty]
        sources = await asyncio.to_thread(lambda: [source_view(each, self.stored) for each in known])
        return UrlView(
            url=url.text,
            places=places,
            is_searching=is_searching,
            error=search.error,
            sources=sources,
        )

    async def _places(self, url: Url) -> dict[str, PlaceView]:
        places = {}
        for crawl in await self.crawls.names():
            try:
                place = await self.crawls.ask(
                    crawl, lambda frontier: frontier.inspection.find(url, max_entries=MAX_ENTRIES)
                )
            except (UnknownCrawl, CorruptData):
                continue
            if place.state != "unknown":
                places[crawl] = place_view(place)
        return places

    # Actions

    async def act(
        self, action: Action, request: ActionRequest, crawl: str, operator: Operator
    ) -> ActionResult:
        """Do an action. Raise `UnknownCrawl` or `InputError` if it is refused."""
        await self.crawls.ask(crawl, _exists)
        try:
            return await self.actions.run(action, request, crawl, operator)
        finally:
            self.crawls.reopen(crawl)
            self._facts.pop(crawl, None)

    # The loop

    async def run(self) -> None:
        """Sample every crawl each `PERIOD_S` seconds until cancelled. What fails is tried again next time."""
        with suppress(ThresherError, OSError):  # the first page need not wait for it
            await asyncio.to_thread(self.stored.refresh)
            await asyncio.gather(self.storage(), self.cost(), self.exports())
        while True:
            started = time.monotonic()
            try:
                await self.sample()
            except ThresherError as error:
                LOGGER.warning("no sample: %s", error)
            except Exception:  # a console outlives what nobody expected
                LOGGER.exception("no sample")
            self.logs.forget_unread()
            await asyncio.sleep(max(PERIOD_S - (time.monotonic() - started), 1.0))

    async def sample(self) -> None:
        """Take one sample of each crawl, and survey some of its hosts."""
        names = await self.crawls.names()
        for gone in set(self._samples) - set(names):
            self._samples.pop(gone)
            self._surveys.pop(gone, None)
        for name in names:
            try:
                facts = await self._crawl_facts(name, max_age_s=0.0)
            except (UnknownCrawl, CorruptData):
                self._samples.pop(name, None)
                continue
            self._samples.setdefault(name, CrawlSamples()).add(_sample(facts))
            await self._survey(name, self._surveys.setdefault(name, HostSurvey()))

    def close(self) -> None:
        """Stop what runs in threads."""
        self._searches.close()
        self.actions.close()
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def _crawl_facts(self, name: str, max_age_s: float = FACTS_S) -> CrawlFacts:
        asked_at, facts = self._facts.get(name, (float("-inf"), None))
        if facts is None or time.monotonic() - asked_at > max_age_s:
            facts = await self.crawls.ask(name, crawl_facts)
            self._facts[name] = time.monotonic(), facts
        return facts

    async def _survey(self, crawl: str, survey: HostSurvey) -> None:
        started = time.monotonic()
        try:
            while True:
                survey.add(
                    await self.crawls.ask(
                        crawl, lambda frontier: frontier.inspection.host_page(survey.cursor)
                    )
                )
                if not survey.cursor or time.monotonic() - started > SURVEY_S:
                    return
        except (InputError, CorruptData):  # the crawl was made anew, with other partitions
            survey.restart()

    def _reading(
        self, kind: str, key: str, read: Callable[[str], T], *, duty: float = DUTY
    ) -> SlowReading[T]:
        found = self._readings.get((kind, key))
        if found is None:
            while len(self._readings) >= MAX_READINGS:
                del self._readings[next(iter(self._readings))]
            found = self._readings[kind, key] = SlowReading(partial(read, key), self._executor, duty=duty)
        return found  # type: ignore[return-value]

    def _read_examples(self, crawl: str) -> dict[str, list[str]]:
        self.stored.refresh()
        return error_examples(self.project.store, self.project.catalog, crawl)

    def _read_cost(self, _: str) -> CostView:
        self.stored.refresh()
        return cost_view(project_costs(self.project, readable_status(self.project)))

    def _read_metrics(self, _: str) -> str:
        self.stored.refresh()
        return project_metrics(self.project)

    async def _check_storage(self) -> None:
        """Return when the storage has answered. All clients wait for one thread, however long it hangs."""
        if self._storage_check is None or self._storage_check.done():
            self._storage_check = asyncio.create_task(
                asyncio.to_thread(self.project.store.exists, "storage.json")
            )
            self._storage_check.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.shield(self._storage_check)

    async def _problem(self, answer: Awaitable[object]) -> str:
        try:
            async with asyncio.timeout(3.0):
                await answer
        except (ThresherError, OSError, TimeoutError) as error:
            return str(error) or "no response within 3 s"
        return "ok"


async def _exists(_: Frontier) -> bool:
    return True


def _sample(facts: CrawlFacts) -> Sample:
    stats = facts.stats
    return Sample(
        at_s=time.monotonic(),
        pages=sum(stats.outcomes.values()),
        requests=stats.requests,
        archived_bytes=facts.archived_bytes,
        waiting=stats.waiting + stats.later,
        errors=stats.outcomes.get("failed", 0),
    )
