"""`LeaseHandler`: fetches the URL of a lease, reads the answer, and puts the result into the lease queue.

1. Whatever a server does or fails to do is data and raises nothing. An exception is a fault of ours: the first one is
   kept, and the worker leases no more. An exception while an answer is read (`core.failure`) costs only that answer:
   its page has failed with the reason `reading`, its record is archived, and the traceback is in the crawl's log.
2. A lease goes back if the client has no answer for it: it was not the turn of the address, or our own side failed
   (`crawler.connectivity.uplink`).
3. The host of an exchange is released as soon as the exchange is over. If the exchange failed or the host complained,
   the settlement releases it, because nobody may ask the host before the frontier knows of the failure.
4. If a page is rendered, or its requisites are fetched, its host is released after that, because these requests go
   to the same host.
5. Another process (`crawler.page_process`) reads a page that may take long, and a page or robots.txt that may have
   killed a worker before. Whole bodies are decoded only there; here only as much as shows that a body is long.
6. A page at a host with a login goes back if the login has ended (`crawler.sessions.session_pool`).
"""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

from thresher.core import Capture, failure_boundary
from thresher.core import Failure as ReadingFailure
from thresher.core.tracing import root_span
from thresher.crawler.archive_filter import ArchiveFilter
from thresher.crawler.connectivity.address_limiter import AddressLimiter
from thresher.crawler.connectivity.uplink import Uplink
from thresher.crawler.decode_budget import DecodeBudget
from thresher.crawler.lease_result import (
    LeaseResult,
    PageResult,
    decide_page,
    read_and_decide,
    settlement_for,
)
from thresher.crawler.machine.activity import Activity
from thresher.crawler.page_process import PageProcess
from thresher.crawler.reading.conditional import conditional_headers
from thresher.crawler.reading.outcome import (
    PARSER_CRASH,
    READING_FAILED,
    READING_STEP,
    Judgement,
    judge_capture,
    judge_failure,
)
from thresher.crawler.reading.page_options import DEFAULT_OPTIONS, PageOptions
from thresher.crawler.reading.page_parts import PageParts
from thresher.crawler.reading.page_reading import leased_response, read_page
from thresher.crawler.reading.page_response import HEAVY_PAGE_BYTES, with_dom
from thresher.crawler.reading.plausibility import plausible
from thresher.crawler.reading.rendered_page import RenderedPage
from thresher.crawler.robots.robots_txt import (
    DEADLY,
    UNREADABLE,
    HopReading,
    RobotsFetch,
    RobotsRuling,
    fetch_robots,
    read_hop,
)
from thresher.crawler.scheduling.lease_queue import LeaseQueue
from thresher.crawler.scheduling.scheduler import Scheduler
from thresher.crawler.subresources.requisites import RequisiteCollector, with_parts
from thresher.crawler.wire import FetchFailure, Postponement
from thresher.frontier import Frontier, Kind, Lease, Settlement
from thresher.storage.archive.record_ids import record_id
from thresher.storage.warc.payload import TOO_LONG, decode_content

if TYPE_CHECKING:
    from thresher.crawler.render.renderer import Renderer  # Playwright is there only where pages are rendered
    from thresher.crawler.sessions.session_pool import SessionPool  # only crawls with a login import it
    from thresher.crawler.wire.session import Session

LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResult:
    """The result of an exchange."""

    result: Capture | FetchFailure | RobotsFetch | Postponement | None
    """None if reading the answer raised an exception."""
    judgement: Judgement | None = None
    """What the response to a page means for its lease and its host; None if there is no response."""
    rendered: RenderedPage | None = None
    """The page as a browser rendered it; None if it was not rendered."""
    parts: PageParts | None = None
    """What was fetched for the page besides itself; that of a rendered page is in `rendered` as well."""
    reading_failure: ReadingFailure | None = None
    """The exception that reading or rendering the answer raised."""

    @property
    def parts_alone(self) -> PageParts | None:
        """The parts of a page that was not rendered; None for one whose rendering has them."""
        return self.parts if self.rendered is None else None


class LeaseHandler:
    """Handles the leases of one worker. The caller runs the settler, and calls `close` last."""

    def __init__(  # noqa: PLR0913 - the parts of a worker that a lease needs
        self,
        frontier: Frontier,
        *,
        crawl: str,
        worker: str,
        client: Uplink,
        address_limiter: AddressLimiter,
        scheduler: Scheduler,
        queue: LeaseQueue,
        archive_filter: ArchiveFilter | None,
        renderer: "Renderer | None",
        requisites: RequisiteCollector | None = None,
        activity: Activity,
        decode_budget: DecodeBudget,
        options: PageOptions = DEFAULT_OPTIONS,
        page_process: PageProcess | None = None,
        sessions: "SessionPool | None" = None,
    ) -> None:
        """`options` are the crawl's, without its policy, which an operator may change (`Frontier.crawl`). Without
        `requisites` a page's styles and pictures are not fetched.
        """
        self.crawl, self.worker = crawl, worker
        self.scheduler, self.queue, self.archive_filter = scheduler, queue, archive_filter
        self.error: BaseException | None = None
        """The first exception that was raised."""
        self.decode_budget = decode_budget
        """The budget of decoded bodies for a user's spider."""
        self._frontier = frontier
        self._client, self._address_limiter, self._renderer = client, address_limiter, renderer
        self._requisites, self._activity = requisites, activity
        self._options, self._page_process = options, page_process or PageProcess()
        self._sessions = sessions
        # In their order, not that of addresses in memory, so that a simulated run is always the same.
        self._open_fetches: dict[asyncio.Timeout, None] = {}

    @property
    def options(self) -> PageOptions:
        """The options for reading pages, with the policy that the crawl has now."""
        return replace(self._options, traps=self._frontier.crawl.settings.policy.traps)

    @property
    def can_render(self) -> bool:
        """Whether pages can be rendered."""
        return self._renderer is not None

    async def run(self) -> None:
        """Handle leases until there are no more. `error` holds the first failure."""
        exchanges: set[asyncio.Task[None]] = set()
        try:
            async for lease, refusal in self.scheduler.leases():
                if refusal is not None:
                    self.refuse(lease, refusal)
                    continue
                task = asyncio.create_task(self.exchange(lease))
                exchanges.add(task)
                task.add_done_callback(exchanges.discard)
        except Exception as error:  # noqa: BLE001 - the worker raises it when all exchanges have ended
            self.stop(error)
        await asyncio.gather(*exchanges)

    async def exchange(self, lease: Lease) -> None:
        """Fetch the URL of a lease, and put the result into the queue. Never raise."""
        try:
            with root_span("page", url=lease.url.text, kind=str(lease.kind)):
                result = await self.read(lease, await self.fetch(lease))
        except Exception as error:  # noqa: BLE001 - the same
            self.stop(error)
        else:
            if result is not None:
                self.queue.add_result(result)

    def refuse(self, lease: Lease, refusal: Judgement) -> None:
        """End a lease without a request for its page."""
        decision = replace(settlement_for(lease, refusal), has_sent_request=False)
        self.queue.add_result(LeaseResult(lease=lease, decision=decision))

    async def fetch(self, lease: Lease, extra_headers: Sequence[tuple[str, str]] = ()) -> FetchResult:
        """Fetch the URL of a lease and release its host. `extra_headers` are those of a user's spider. Raise the error
        that `abort` was called with, if the exchange is aborted.
        """
        try:
            async with asyncio.timeout(None) as limit:
                self._open_fetches[limit] = None
                return await self._fetch(lease, extra_headers)
        except TimeoutError:
            if self.error is None:
                raise
            raise self.error from None
        finally:
            self._open_fetches.pop(limit, None)

    async def _fetch(self, lease: Lease, extra_headers: Sequence[tuple[str, str]]) -> FetchResult:
        exchange: Capture | FetchFailure | RobotsFetch | Postponement | None = None
        judgement = rendered = parts = None
        failure: ReadingFailure | None = None
        sessions = self._sessions
        session = None if sessions is None else sessions.session(lease.url.host)
        try:
            with failure_boundary(READING_STEP):
                exchange = await self._request(lease, extra_headers, session)
                if sessions and session and isinstance(exchange, Capture):
                    exchange = await sessions.checked(session, exchange)
                if isinstance(exchange, Capture):
                    judgement = judge_capture(exchange, lease.attempt)
                    if self._renderer is not None:
                        rendered = await self._renderer.render_page(lease, exchange, session)
                    if sessions and session and rendered:
                        exchange = await sessions.checked_page(session, exchange, rendered)
                if self._requisites and isinstance(exchange, Capture):
                    parts = await self._requisites.collect(lease, exchange, rendered, session)
                    rendered = with_parts(rendered, parts)
        except ReadingFailure as raised:
            failure = raised
        match exchange:
            case Postponement():
                self.queue.postpone(lease, exchange.wait_ms, has_sent_request=exchange.has_sent_request)
            case Capture() if judgement is not None and judgement.fault is None:
                self.queue.release_host(lease, exchange.elapsed_ms)
            case RobotsFetch(decision=RobotsRuling()):
                # A robots.txt comes from a cache of the server: its time says nothing about pages.
                self.queue.release_host(lease)
        return FetchResult(
            result=exchange, judgement=judgement, rendered=rendered, parts=parts, reading_failure=failure
        )

    async def _request(
        self, lease: Lease, extra_headers: Sequence[tuple[str, str]], session: "Session | None"
    ) -> Capture | FetchFailure | RobotsFetch | Postponement:
        if lease.kind is Kind.ROBOTS:
            return await fetch_robots(self._client, lease, self._address_limiter, self._read_robots)
        if session is None and self._sessions is not None and self._sessions.has_session(lease.url.host):
            await self._sessions.pause(lease.url.host)
            return Postponement(wait_ms=0)
        if lease.state.cookies:
            self._client.add_cookies(lease.state.cookies)
        conditions = conditional_headers(lease.state) if lease.state.has_capture else ()
        headers = (*conditions, *extra_headers)  # the headers of a user's spider override the conditions
        return await self._client.get(
            lease.url, self._address_limiter.acquire_for(lease), headers=headers, session=session
        )

    def stop(self, error: BaseException) -> None:
        """Lease nothing more. The worker raises the first error when everything has ended."""
        self.error = self.error or error
        self.scheduler.stop()

    def abort(self, error: BaseException) -> None:
        """Lease nothing more, and abort every exchange: other workers may request its host from now on."""
        self.stop(error)
        now = asyncio.get_running_loop().time()
        for limit in self._open_fetches:
            limit.reschedule(now)

    def close(self) -> None:
        """Stop the process that reads pages."""
        self._page_process.close()

    @contextmanager
    def reading_page(self, lease: Lease) -> Iterator[None]:
        """Read the page of a lease in this context: an exception becomes a `Failure`, and the supervisor sees which
        page is read. The context must not await anything.
        """
        with failure_boundary(READING_STEP):
            idle, self._activity.page_token = self._activity.page_token, lease.token
            try:
                yield
            finally:
                self._activity.page_token = idle

    async def read(
        self, lease: Lease, fetched: FetchResult, page_record_id: UUID | None = None
    ) -> LeaseResult | None:
        """Return how a lease ends; None if it went back. `page_record_id` is the id of the page's record, if it is not
        the usual one.
        """
        exchange = fetched.result
        match exchange:
            case Postponement():
                return None
            case RobotsFetch(captures=captures, reading_failure=failure):
                records = tuple(
                    (capture, self._record_id(lease, hop)) for hop, capture in enumerate(captures)
                )
                result = LeaseResult(lease=lease, records=records, decision=exchange.decision)
                return result if failure is None else _failed_result(result, failure)
            case FetchFailure(reason=reason):
                return LeaseResult(lease=lease, decision=settlement_for(lease, judge_failure(reason)))
            case None:
                assert fetched.reading_failure is not None
                return _failed_result(
                    LeaseResult(lease=lease, decision=_failed_decision(lease)), fetched.reading_failure
                )
        page_record_id = page_record_id or self._record_id(lease)
        try:
            if fetched.reading_failure is not None:
                raise fetched.reading_failure
            with failure_boundary(READING_STEP):
                result = await self._read_page(lease, exchange, fetched, page_record_id)
        except ReadingFailure as failure:
            result = _failed_result(
                LeaseResult(
                    lease=lease,
                    records=((exchange, page_record_id),),
                    rendered=fetched.rendered,
                    parts=fetched.parts_alone,
                    decision=_failed_decision(lease),
                ),
                failure,
            )
        if self._requisites is not None and fetched.parts is not None:
            if result.dropped is None:
                self._requisites.remember(fetched.parts)
            else:
                self._requisites.forget(fetched.parts)
        return result

    async def _read_page(
        self, lease: Lease, capture: Capture, fetched: FetchResult, page_record_id: UUID
    ) -> LeaseResult:
        judgement, rendered, options = fetched.judgement, fetched.rendered, self.options
        assert judgement is not None
        records = ((capture, page_record_id),)
        if not lease.is_recovered:
            with self.reading_page(lease):
                with_digests = bool(lease.interval_s) or lease.state.has_capture
                response = leased_response(
                    lease, capture, page_record_id, with_digests=with_digests, max_bytes=HEAVY_PAGE_BYTES + 1
                )
                # Chromium wrote the DOM, and limited its size.
                has_dom = rendered is not None and rendered.html
                is_long = response.is_heavy and not has_dom
                # Whoever decides that a page is not archived reads its body, whatever its type.
                decides = self.archive_filter is not None or "noarchive" in options.obey
                if not is_long and not (decides and _decodes_to_heavy(capture)):
                    if rendered is not None:
                        response = with_dom(response, rendered.html, rendered.report)
                    page = decide_page(
                        lease,
                        capture,
                        read_page(lease, response, judgement, options),
                        archive_filter=self.archive_filter,
                        known_urls=self.queue.known_urls,
                        options=options,
                    )
                    return page.to_lease_result(
                        lease, records, self.queue.known_urls, rendered, fetched.parts_alone
                    )
                del response  # many pages may wait for the process
        in_process = await self._page_process.call(
            read_and_decide,
            lease,
            replace(capture, request=b""),  # it may hold a password for the site
            judgement,
            page_record_id,
            self.archive_filter,
            options,
            None if rendered is None else replace(rendered, subresources=(), screenshots=()),
            returns=PageResult,
            accepts=lambda page: plausible(lease, page.settlement),
        )
        if in_process is None:
            decision = settlement_for(lease, PARSER_CRASH)
            return LeaseResult(
                lease=lease,
                records=records,
                rendered=rendered,
                parts=fetched.parts_alone,
                decision=decision,
            )
        return in_process.to_lease_result(
            lease, records, self.queue.known_urls, rendered, fetched.parts_alone
        )

    async def _read_robots(self, lease: Lease, capture: Capture, base: str, follows: bool) -> HopReading:
        if not lease.is_recovered:
            with self.reading_page(lease):
                return read_hop(lease, capture, base, follows)
        answer = replace(capture, request=b"")  # it may hold a password for the site
        return await self._page_process.call(
            read_hop, lease, answer, base, follows, returns=HopReading
        ) or HopReading(ruling=DEADLY)

    def _record_id(self, lease: Lease, hop: int = 0) -> UUID:
        return record_id(self.crawl, self.worker, lease.token, hop)

    def __repr__(self) -> str:
        return f"<lease handler of {self.worker}: {self.scheduler}>"


def _decodes_to_heavy(capture: Capture) -> bool:
    """Return whether a body is long after decoding. The decoded bytes are discarded."""
    encodings = capture.content_encoding
    return bool(encodings) and decode_content(capture.payload, encodings, HEAVY_PAGE_BYTES + 1)[1] == TOO_LONG


def _failed_decision(lease: Lease) -> Settlement | RobotsRuling:
    """Return how a lease ends whose answer cannot be read."""
    return UNREADABLE if lease.kind is Kind.ROBOTS else settlement_for(lease, READING_FAILED)


def _failed_result(result: LeaseResult, failure: ReadingFailure) -> LeaseResult:
    """Return the result of a lease whose answer cannot be read, with the traceback of the exception."""
    LOGGER.warning("%s: %s", result.lease.url, failure)
    return replace(result, error=failure.traceback)
