"""`Steward`: what a worker does with a lease: fetch what it is for, find out what came, hand that to the settler.

1. Whatever a server does is an answer, and so is that it does not: nothing of it is raised. What is raised is a fault of
   ours; the first is kept, and no more is leased. But an exception while an answer is read (`core.failure`) costs that answer
   alone: its page has failed, `reading`. Its record is archived, and the traceback is in the crawl's log.
2. What the client gives no answer for goes back: it was not the turn of an address, or our own side failed (`crawler.uplink`).
3. The host of an exchange is free again as soon as that is over. But where it went wrong, or the host complained, its
   settlement ends it: nobody is to ask before the frontier knows of the trouble.
4. Where a page is rendered its host is held until then: what the page wants is asked of it too.
5. A page that may take long to read, and a page or a robots.txt that may have killed who read it, is read in a process of its own (`aside`). Whole bodies
   are decoded only there: here as much as shows that a body is long.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

from core import Capture, reading
from core import Failure as ReadingFailure
from crawler.activity import Activity
from crawler.aside import HEAVY, Aside, crashed, is_heavy
from crawler.conditional import conditions
from crawler.decoded import DecodedBytes
from crawler.entrance import Entrance
from crawler.identity import record_id
from crawler.loop import Loop
from crawler.note import EMPTY, decode
from crawler.options import USUAL, PageOptions
from crawler.outcome import READING, UNREAD, Judgement, fault_of, of_failure
from crawler.page import settled
from crawler.plausible import plausible
from crawler.rendered import Rendered
from crawler.robots import DEADLY, UNREADABLE, AskAgain, Event, Meaning, Ruling, ask, meaning
from crawler.screen import End, Screen, end, finished
from crawler.seedlist import answer_of
from crawler.settle import Finished, Settler
from crawler.uplink import Uplink
from crawler.wire import Failure, Wait, field
from frontier import Kind, Lease, Settlement
from storage.payload import TOO_LONG, content_decoded

if TYPE_CHECKING:
    from crawler.render.renderer import Renderer  # Playwright is there only where pages are rendered

LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What an exchange came to."""

    found: Capture | Failure | Event | Wait | None
    """None where taking the answer in raised an exception."""
    rendered: Rendered | None = None
    """What a browser made of it, where one did."""
    failure: ReadingFailure | None = None
    """What taking the answer in, or rendering it, raised."""


class Steward:
    """Everything that a worker fetches and settles leases with; `settler` is run by who made it, and `close` comes last."""

    def __init__(
        self,
        *,
        crawl: str,
        worker: str,
        client: Uplink,
        entrance: Entrance,
        loop: Loop,
        settler: Settler,
        screen: Screen | None,
        renderer: "Renderer | None",
        activity: Activity,
        decoded: DecodedBytes,
        options: Callable[[], PageOptions] = lambda: USUAL,
        aside: Aside | None = None,
    ) -> None:
        self.crawl, self.worker = crawl, worker
        self.loop, self.settler, self.screen = loop, settler, screen
        self.error: BaseException | None = None
        """The first that was raised."""
        self.decoded = decoded
        """What a user's spider takes its bodies from."""
        self._client, self._entrance, self._renderer = client, entrance, renderer
        self._activity = activity
        self._options, self._aside = options, aside or Aside()
        self._under_way: set[asyncio.Timeout] = set()

    @property
    def options(self) -> PageOptions:
        """How answers are read now: the crawl's settings may change."""
        return self._options()

    @property
    def renders(self) -> bool:
        """Whether there is a browser for pages that need one."""
        return self._renderer is not None

    async def run(self) -> None:
        """Work on what is leased until there is no more to be had; what went wrong is in `error`."""
        begun: set[asyncio.Task[None]] = set()
        try:
            async for lease, refusal in self.loop.leases(self.settler):
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
        """Fetch what a lease is for, and hand what came to the settler. Never raises."""
        try:
            finished = await self.read(lease, await self.fetch(lease))
        except Exception as error:  # noqa: BLE001 - the same
            self.stop(error)
        else:
            if finished is not None:
                self.settler.add(finished)

    def refuse(self, lease: Lease, refusal: Judgement) -> None:
        """End a lease without asking for its page."""
        self.settler.add(Finished(lease=lease, answer=replace(settled(lease, refusal), asked=False)))

    async def fetch(self, lease: Lease, asked: Sequence[tuple[str, str]] = ()) -> Fetched:
        """Fetch what a lease is for, and let its host go; `asked` are the headers that a user's spider wants sent. Raises what the
        worker was given up by (`give_up`).
        """
        try:
            async with asyncio.timeout(None) as limit:
                self._under_way.add(limit)
                return await self._fetch(lease, asked)
        except TimeoutError:
            if self.error is None:
                raise
            raise self.error from None
        finally:
            self._under_way.discard(limit)

    async def _fetch(self, lease: Lease, asked: Sequence[tuple[str, str]]) -> Fetched:
        found: Capture | Failure | Event | Wait | None = None
        rendered = None
        failure: ReadingFailure | None = None
        try:
            with reading(READING):
                found = await self._ask(lease, asked)
                if self._renderer is not None and isinstance(found, Capture):
                    rendered = await self._renderer.rendered(lease, found)
        except ReadingFailure as raised:
            failure = raised
        if isinstance(found, Wait):
            self.loop.postponed(lease, found.ms, asked=found.asked)
        elif not _is_trouble(found):
            # A robots.txt lies in every cache: how long it took says nothing of pages.
            self.loop.ended(lease, found.elapsed_ms if isinstance(found, Capture) else None)
        return Fetched(found=found, rendered=rendered, failure=failure)

    async def _ask(self, lease: Lease, asked: Sequence[tuple[str, str]]) -> Capture | Failure | Event | Wait:
        if lease.kind is Kind.ROBOTS:
            return await ask(self._client, lease, self._entrance, self._read_robots)
        note = decode(lease.note) if lease.note else EMPTY
        self._client.learn(note.cookies)
        # What a user's spider asks for goes before.
        headers = (*conditions(note), *asked)
        return await self._client.get(lease.url, self._entrance.of(lease), headers=headers)

    def stop(self, error: BaseException) -> None:
        """Lease no more; the worker raises the first error once all has come to an end."""
        self.error = self.error or error
        self.loop.stop()

    def give_up(self, error: BaseException) -> None:
        """Lease no more, and break off every exchange that is under way: others may ask its host from now on."""
        self.stop(error)
        now = asyncio.get_running_loop().time()
        for limit in self._under_way:
            limit.reschedule(now)

    def close(self) -> None:
        """End the process that pages are read in."""
        self._aside.close()

    @contextmanager
    def reading(self, lease: Lease) -> Iterator[None]:
        """Read what a lease's page came to: what is raised is a `Failure`, and the supervisor sees which page it is. For what does
        not wait.
        """
        with reading(READING), self._activity.reading(lease.token):
            yield

    async def read(self, lease: Lease, fetched: Fetched, name: UUID | None = None) -> Finished | None:
        """How a lease ends; None for one that the loop has given back. `name` is the id of a page's record, where it is not
        the usual one.
        """
        found = fetched.found
        match found:
            case Wait():
                return None
            case Event(captures=captures, failure=failure):
                records = tuple((capture, self._name(lease, hop)) for hop, capture in enumerate(captures))
                ended = Finished(lease=lease, records=records, answer=found.answer)
                return ended if failure is None else _unread(ended, failure)
            case Failure(reason=reason):
                return Finished(lease=lease, answer=settled(lease, of_failure(reason)))
            case None:
                assert fetched.failure is not None
                return _unread(Finished(lease=lease, answer=_untold(lease)), fetched.failure)
        name = name or self._name(lease)
        try:
            if fetched.failure is not None:
                raise fetched.failure
            with reading(READING):
                return await self._read(lease, found, name, fetched.rendered)
        except ReadingFailure as failure:
            records = ((found, name),)
            ended = Finished(lease=lease, records=records, rendered=fetched.rendered, answer=_untold(lease))
            return _unread(ended, failure)

    async def _read(self, lease: Lease, found: Capture, name: UUID, rendered: Rendered | None) -> Finished:
        if not lease.orphan:
            with self.reading(lease):
                digested = bool(lease.interval_s or (lease.note and decode(lease.note).date_ms))
                said = answer_of(lease, found, name, digested=digested, limit=HEAVY + 1)
                # A DOM is Chromium's own writing, and within its limit.
                has_dom = rendered is not None and rendered.html
                is_long = is_heavy(said.body) and not has_dom
                # Whoever decides that a page is not archived reads its body, whatever it is.
                decides = self.screen is not None or "noarchive" in self.options.obey
                if not is_long and not (decides and _is_swollen(found)):
                    return finished(
                        lease,
                        found,
                        name,
                        screen=self.screen,
                        known=self.settler.known,
                        options=self.options,
                        found=said,
                        rendered=rendered,
                    )
                del said  # many may wait for their turn
        return await self._read_aside(lease, found, name, rendered)

    async def _read_robots(self, lease: Lease, found: Capture, base: str, follows: bool) -> Meaning:
        if not lease.orphan:
            with self._activity.reading(lease.token):
                return meaning(lease, found, base, follows)
        answer = replace(found, request=b"")
        return await self._aside.call(meaning, lease, answer, base, follows, returns=Meaning) or Meaning(
            ruling=DEADLY
        )

    async def _read_aside(
        self, lease: Lease, capture: Capture, name: UUID, rendered: Rendered | None
    ) -> Finished:
        records = ((capture, name),)
        # Our request may hold a password for the site, and what the page asked for is not read.
        answer = replace(capture, request=b"")
        seen = None if rendered is None else replace(rendered, parts=())
        ended = await self._aside.call(
            end,
            lease,
            answer,
            name,
            self.screen,
            self.options,
            seen,
            returns=End,
            accepts=lambda said: plausible(lease, said.answer),
        )
        if ended is None:
            return Finished(lease=lease, records=records, rendered=rendered, answer=crashed(lease))
        return ended.finished(lease, records, self.settler.known, rendered)

    def _name(self, lease: Lease, hop: int = 0) -> UUID:
        return record_id(self.crawl, self.worker, lease.token, hop)

    def __repr__(self) -> str:
        return f"<steward of {self.worker}: {self.loop}>"


def _is_swollen(capture: Capture) -> bool:
    """Whether a body is long once its content encoding is undone: nothing of it is held here."""
    encodings = field(capture.headers, "content-encoding")
    return bool(encodings) and content_decoded(capture.payload, encodings, HEAVY + 1)[1] == TOO_LONG


def _untold(lease: Lease) -> Settlement | Ruling:
    """How a lease ends whose answer cannot be read."""
    return UNREADABLE if lease.kind is Kind.ROBOTS else settled(lease, UNREAD)


def _unread(ended: Finished, failure: ReadingFailure) -> Finished:
    """The end of a lease whose answer cannot be read, with what its reading raised."""
    LOGGER.warning("%s: %s", ended.lease.url, failure)
    return replace(ended, error=failure.traceback)


def _is_trouble(found: Capture | Failure | Event | None) -> bool:
    match found:
        case Capture(status=status):
            return fault_of(status) is not None
        case Event(answer=answer):
            return isinstance(answer, AskAgain)
    return True
