"""`LeaseHandler`: fetches the URL of a lease, reads the answer, and hands the result to the settler.

1. Whatever a server does or fails to do is data and raises nothing. An exception is a fault of ours: the first one is
   kept, and the worker leases no more. An exception while an answer is read (`core.failure`) costs only that answer:
   its page has failed with the reason `reading`, its record is archived, and the traceback is in the crawl's log.
2. A lease goes back if the client has no answer for it: it was not the turn of the address, or our own side failed
   (`crawler.connectivity.uplink`).
3. The host of an exchange is released as soon as the exchange is over. If the exchange failed or the host complained,
   the settlement releases it, because nobody may ask the host before the frontier knows of the failure.
4. If a page is rendered, its host is released after that, because the page's own requests go to the same host.
5. Another process (`crawler.page_process`) reads a page that may take long, and a page or robots.txt that may have
   killed a worker before. Whole bodies are decoded only there; here only as much as shows that a body is long.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

from core import Capture, failure_boundary
from core import Failure as ReadingFailure
from crawler.archive_filter import ArchiveFilter, PageResult, lease_result, page_result
from crawler.connectivity.address_limiter import AddressLimiter
from crawler.connectivity.uplink import Uplink
from crawler.decode_budget import DecodeBudget
from crawler.identifiers import record_id
from crawler.machine.activity import Activity
from crawler.page_process import HEAVY_PAGE_BYTES, PageProcess, crashed_settlement, is_heavy
from crawler.reading.conditional import conditional_headers
from crawler.reading.outcome import READING_FAILED, READING_STEP, Judgement, fault_of, judge_failure
from crawler.reading.page_options import DEFAULT_OPTIONS, PageOptions
from crawler.reading.page_reading import settlement_for
from crawler.reading.plausibility import plausible
from crawler.reading.rendered_page import RenderedPage
from crawler.reading.request_state import decode_state
from crawler.reading.seedlist import leased_response
from crawler.robots.robots_txt import (
    DEADLY,
    UNREADABLE,
    Meaning,
    RobotsFetch,
    RobotsRetry,
    RobotsRuling,
    fetch_robots,
    meaning,
)
from crawler.scheduling.scheduler import Scheduler
from crawler.settler import LeaseResult, Settler
from crawler.wire import FetchFailure, Postponement, header_value
from frontier import Kind, Lease, Settlement
from storage.warc.payload import TOO_LONG, decode_content

if TYPE_CHECKING:
    from crawler.render.renderer import Renderer  # Playwright is there only where pages are rendered

LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResult:
    """The result of an exchange."""

    result: Capture | FetchFailure | RobotsFetch | Postponement | None
    """None if reading the answer raised an exception."""
    rendered: RenderedPage | None = None
    """The page as a browser rendered it; None if it was not rendered."""
    reading_failure: ReadingFailure | None = None
    """The exception that reading or rendering the answer raised."""


class LeaseHandler:
    """Handles the leases of one worker. The caller runs `settler`, and calls `close` last."""

    def __init__(
        self,
        *,
        crawl: str,
        worker: str,
        client: Uplink,
        address_limiter: AddressLimiter,
        scheduler: Scheduler,
        settler: Settler,
        archive_filter: ArchiveFilter | None,
        renderer: "Renderer | None",
        activity: Activity,
        decode_budget: DecodeBudget,
        options: Callable[[], PageOptions] = lambda: DEFAULT_OPTIONS,
        page_process: PageProcess | None = None,
    ) -> None:
        self.crawl, self.worker = crawl, worker
        self.scheduler, self.settler, self.archive_filter = scheduler, settler, archive_filter
        self.error: BaseException | None = None
        """The first exception that was raised."""
        self.decode_budget = decode_budget
        """The budget of decoded bodies for a user's spider."""
        self._client, self._address_limiter, self._renderer = client, address_limiter, renderer
        self._activity = activity
        self._options, self._page_process = options, page_process or PageProcess()
        self._open_fetches: set[asyncio.Timeout] = set()

    @property
    def options(self) -> PageOptions:
        """The options for reading pages now: an operator may change the crawl's settings."""
        return self._options()

    @property
    def can_render(self) -> bool:
        """Whether pages can be rendered."""
        return self._renderer is not None

    async def run(self) -> None:
        """Handle leases until there are no more. `error` holds the first failure."""
        begun: set[asyncio.Task[None]] = set()
        try:
            async for lease, refusal in self.scheduler.leases(self.settler):
                if refusal is not None:
                    self.refuse(lease, refusal)
                    continue
                task = asyncio.create_task(self.exchange(lease))
                begun.add(task)
                task.add_done_callback(begun.discard)
        except Exception as error:  # noqa: BLE001 - the worker raises it when what is under way has ended
            self.stop(error)
        await asyncio.gather(*begun)

    async def exchange(self, lease: Lease) -> None:
        """Fetch the URL of a lease, and hand the result to the settler. Never raises."""
        try:
            finished = await self.read(lease, await self.fetch(lease))
        except Exception as error:  # noqa: BLE001 - the same
            self.stop(error)
        else:
            if finished is not None:
                self.settler.add(finished)

    def refuse(self, lease: Lease, refusal: Judgement) -> None:
        """End a lease without a request for its page."""
        self.settler.add(
            LeaseResult(lease=lease, decision=replace(settlement_for(lease, refusal), has_sent_request=False))
        )

    async def fetch(self, lease: Lease, extra_headers: Sequence[tuple[str, str]] = ()) -> FetchResult:
        """Fetch the URL of a lease and release its host. `extra_headers` are those of a user's spider. Raise the error
        that `abort` was called with, if the exchange is aborted.
        """
        try:
            async with asyncio.timeout(None) as limit:
                self._open_fetches.add(limit)
                return await self._fetch(lease, extra_headers)
        except TimeoutError:
            if self.error is None:
                raise
            raise self.error from None
        finally:
            self._open_fetches.discard(limit)

    async def _fetch(self, lease: Lease, asked: Sequence[tuple[str, str]]) -> FetchResult:
        found: Capture | FetchFailure | RobotsFetch | Postponement | None = None
        rendered = None
        failure: ReadingFailure | None = None
        try:
            with failure_boundary(READING_STEP):
                found = await self._request(lease, asked)
                if self._renderer is not None and isinstance(found, Capture):
                    rendered = await self._renderer.render_page(lease, found)
        except ReadingFailure as raised:
            failure = raised
        if isinstance(found, Postponement):
            self.scheduler.postpone(lease, found.wait_ms, has_sent_request=found.has_sent_request)
        elif not _is_failure(found):
            # A robots.txt lies in every cache: how long it took says nothing of pages.
            self.scheduler.release_host(lease, found.elapsed_ms if isinstance(found, Capture) else None)
        return FetchResult(result=found, rendered=rendered, reading_failure=failure)

    async def _request(
        self, lease: Lease, asked: Sequence[tuple[str, str]]
    ) -> Capture | FetchFailure | RobotsFetch | Postponement:
        if lease.kind is Kind.ROBOTS:
            return await fetch_robots(self._client, lease, self._address_limiter, self._read_robots)
        note = decode_state(lease.note)
        self._client.add_cookies(note.cookies)
        # What a user's spider asks for goes before.
        headers = (*conditional_headers(note), *asked)
        return await self._client.get(lease.url, self._address_limiter.acquire_for(lease), headers=headers)

    def stop(self, error: BaseException) -> None:
        """Lease no more; the worker raises the first error once all has come to an end."""
        self.error = self.error or error
        self.scheduler.stop()

    def abort(self, error: BaseException) -> None:
        """Lease no more, and break off every exchange that is under way: others may ask its host from now on."""
        self.stop(error)
        now = asyncio.get_running_loop().time()
        for limit in self._open_fetches:
            limit.reschedule(now)

    def close(self) -> None:
        """Stop the process that reads pages."""
        self._page_process.close()

    @contextmanager
    def reading_page(self, lease: Lease) -> Iterator[None]:
        """Read what a lease's page came to: what is raised is a `Failure`, and the supervisor sees which page it is.
        For what does not wait.
        """
        with failure_boundary(READING_STEP), self._activity.reading_page(lease.token):
            yield

    async def read(
        self, lease: Lease, fetched: FetchResult, page_record_id: UUID | None = None
    ) -> LeaseResult | None:
        """How a lease ends; None for one that the loop has given back. `name` is the id of a page's record, where it
        is not the usual one.
        """
        found = fetched.result
        match found:
            case Postponement():
                return None
            case RobotsFetch(captures=captures, reading_failure=failure):
                records = tuple(
                    (capture, self._record_id(lease, hop)) for hop, capture in enumerate(captures)
                )
                ended = LeaseResult(lease=lease, records=records, decision=found.decision)
                return ended if failure is None else _failed_result(ended, failure)
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
                return await self._read(lease, found, page_record_id, fetched.rendered)
        except ReadingFailure as failure:
            records = ((found, page_record_id),)
            ended = LeaseResult(
                lease=lease, records=records, rendered=fetched.rendered, decision=_failed_decision(lease)
            )
            return _failed_result(ended, failure)

    async def _read(
        self, lease: Lease, found: Capture, name: UUID, rendered: RenderedPage | None
    ) -> LeaseResult:
        if not lease.is_recovered:
            with self.reading_page(lease):
                digested = bool(lease.interval_s or decode_state(lease.note).date_ms)
                said = leased_response(
                    lease, found, name, with_digests=digested, max_bytes=HEAVY_PAGE_BYTES + 1
                )
                # A DOM is Chromium's own writing, and within its limit.
                has_dom = rendered is not None and rendered.html
                is_long = is_heavy(said.body) and not has_dom
                # Whoever decides that a page is not archived reads its body, whatever it is.
                decides = self.archive_filter is not None or "noarchive" in self.options.obey
                if not is_long and not (decides and _decodes_to_heavy(found)):
                    return lease_result(
                        lease,
                        found,
                        name,
                        archive_filter=self.archive_filter,
                        known_urls=self.settler.known_urls,
                        options=self.options,
                        response=said,
                        rendered=rendered,
                    )
                del said  # many may wait for their turn
        return await self._read_in_process(lease, found, name, rendered)

    async def _read_robots(self, lease: Lease, found: Capture, base: str, follows: bool) -> Meaning:
        if not lease.is_recovered:
            with self._activity.reading_page(lease.token):
                return meaning(lease, found, base, follows)
        answer = replace(found, request=b"")
        return await self._page_process.call(
            meaning, lease, answer, base, follows, returns=Meaning
        ) or Meaning(ruling=DEADLY)

    async def _read_in_process(
        self, lease: Lease, capture: Capture, name: UUID, rendered: RenderedPage | None
    ) -> LeaseResult:
        records = ((capture, name),)
        # Our request may hold a password for the site, and what the page asked for is not read.
        answer = replace(capture, request=b"")
        seen = None if rendered is None else replace(rendered, subresources=())
        ended = await self._page_process.call(
            page_result,
            lease,
            answer,
            name,
            self.archive_filter,
            self.options,
            seen,
            returns=PageResult,
            accepts=lambda said: plausible(lease, said.settlement),
        )
        if ended is None:
            return LeaseResult(
                lease=lease, records=records, rendered=rendered, decision=crashed_settlement(lease)
            )
        return ended.to_lease_result(lease, records, self.settler.known_urls, rendered)

    def _record_id(self, lease: Lease, hop: int = 0) -> UUID:
        return record_id(self.crawl, self.worker, lease.token, hop)

    def __repr__(self) -> str:
        return f"<lease handler of {self.worker}: {self.scheduler}>"


def _decodes_to_heavy(capture: Capture) -> bool:
    """Return whether a body is long after decoding; the decoded bytes are not kept."""
    encodings = header_value(capture.headers, "content-encoding")
    return bool(encodings) and decode_content(capture.payload, encodings, HEAVY_PAGE_BYTES + 1)[1] == TOO_LONG


def _failed_decision(lease: Lease) -> Settlement | RobotsRuling:
    """How a lease ends whose answer cannot be read."""
    return UNREADABLE if lease.kind is Kind.ROBOTS else settlement_for(lease, READING_FAILED)


def _failed_result(ended: LeaseResult, failure: ReadingFailure) -> LeaseResult:
    """The end of a lease whose answer cannot be read, with what its reading raised."""
    LOGGER.warning("%s: %s", ended.lease.url, failure)
    return replace(ended, error=failure.traceback)


def _is_failure(found: Capture | FetchFailure | RobotsFetch | None) -> bool:
    match found:
        case Capture(status=status):
            return fault_of(status) is not None
        case RobotsFetch(decision=answer):
            return isinstance(answer, RobotsRetry)
    return True
