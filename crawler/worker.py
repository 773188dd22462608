"""One worker: a process that crawls until the frontier is drained, a limit is reached, or it is told to stop.

1. A plain crawl is the steward's alone. Scrapy is there only where a user's spider is (`crawler.spiders`): nothing else
   imports it.
2. SIGTERM and the first SIGINT drain: lease no more, finish what is in flight, settle it, seal the archive. The
   second stops at once; then nothing is lost but open leases, and `crawler.replay.replay` takes up what was archived.
3. A worker that was not heard of for too long, or whose name was taken over, stops (`crawler.machine.heartbeat`): `GivenUp`. Another takes
   up what it left.
4. What goes wrong on our side (the server of the frontier, the disk) is raised when all has come to a stop.
5. Contact, delays, budgets and policy are the crawl's (`Frontier.settings`). When somebody updates them, this worker has
   delays, budgets and policy with its next lease, and the contact within a heartbeat.
"""

import asyncio
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from crawler.archive_filter import ArchiveFilter
from crawler.decode_budget import DecodeBudget
from crawler.gate_monitor import GateMonitor
from crawler.identifiers import user_agent
from crawler.lease_handler import LeaseHandler
from crawler.machine.activity import Activity
from crawler.machine.heartbeat import Heartbeat
from crawler.machine.system import REAL_SYSTEM, System
from crawler.reading.page_options import DEFAULT_OPTIONS, PageOptions
from crawler.render.chromium.program import MAX_TABS, find_browser
from crawler.robots.robots_txt import MAX_TURN_WAIT_MS
from crawler.rotation import Rotation
from crawler.scheduling.scheduler import Scheduler
from crawler.settler import Settler
from crawler.spiders import SpiderSpec
from crawler.spiders.blocking_watch import MAX_BLOCK_S
from crawler.spiders.feeds import FeedFiles
from crawler.uplink.address_limiter import AddressLimiter
from crawler.uplink.uplink import Uplink
from crawler.wire import Client, parse_networks
from crawler.wire.limits import TOTAL_FACTOR
from frontier import Frontier, TakeoverError
from frontier.link.connect import connect
from storage.archive.archive_writer import ArchiveWriter
from storage.crawllog.log_writer import CrawlLogWriter
from storage.store import Store
from storage.warc.compression import Compression

if TYPE_CHECKING:
    from crawler.render.renderer import Renderer

STOPPED_AT_ONCE = 130
"""Exit code after the second signal, as a shell gives for SIGINT."""
SETTLING_MS = 60_000
"""How long a lease lives beyond its exchange: time to settle it."""
MAX_EXCHANGES = 6
"""Exchanges under one lease, at most: a robots.txt and five redirects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerConfig:
    """Everything that a worker must be told. Can be pickled."""

    crawl: str
    worker: str
    """Names one life of one process; never used again."""
    redis: str = field(repr=False)
    """Address of the frontier's server: redis://, rediss:// or unix://."""
    store: Store
    user_agent: str = ""
    """`thresher/VERSION (+contact)` where empty, with the contact of the crawl."""
    max_body: int = 10 << 20
    timeout_s: float = 30.0
    """For the first byte of an answer; the limits of the other parts follow from it (`crawler.wire.limits`)."""
    allow_networks: tuple[str, ...] = ()
    verify_tls: bool = True
    """Whether a page is not had of a server whose certificate is not trusted. If not, its capture says so."""
    nameservers: tuple[str, ...] = ()
    """`ADDRESS:PORT`; the system's where empty."""
    proxy: str = field(default="", repr=False)
    """`http://...` or `socks5://...`; none where empty."""
    cookies: bool = False
    auth: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    """What the servers of a domain are told (`crawler.wire.credentials`)."""
    concurrency: int = 64
    max_pages: int | None = None
    """Pages fetched by the whole crawl, those of earlier runs included, at which this run ends."""
    max_requests: int | None = None
    """Requests of the whole crawl (`Stats.requests`), the same."""
    max_time_s: float | None = None
    max_file_bytes: int = 1 << 30
    """At which an archive file is sealed; sooner where the crawl is followed (`crawler.rotation`)."""
    max_file_age_s: int = 3600
    compression: Compression = "gzip"
    """Of the archive files."""
    archive_filter: ArchiveFilter | None = None
    """Names the reason for which a page is not archived; None archives all."""
    obey: tuple[str, ...] = DEFAULT_OPTIONS.obey
    """What pages ask of crawlers that is done: `nofollow`, `noarchive`."""
    sitemaps: bool = True
    """Whether the sitemaps that robots.txt files name are read."""
    spider: SpiderSpec | None = None
    """A user's own spider, which reads what is fetched and says what is fetched next; None follows all links."""
    render: Literal["never", "auto", "always"] = "never"
    """Which HTML pages are opened in a browser: those that say little without one, or all."""
    browser: str = ""
    """Path of Chromium; looked for where empty."""
    browser_sandbox: bool = True
    """Whether Chromium's own sandbox is on. Off, a page that breaks out of its script engine is kept by the outer walls alone."""
    ttl_s: float = 30.0
    """How long the worker is taken for living after it was heard of; it beats three times as often. With a spider it is longer
    by as much as that may hold up the event loop (`crawler.spiders.blocking_watch`)."""


class HasUserAgent(Protocol):
    """What says who we are."""

    user_agent: str


def run_worker(config: WorkerConfig, activity: Activity | None = None) -> bool:
    """Crawl, seen by a supervisor in `activity`, if there is one; returns when the crawl is at an end or was drained: whether it is to end for all its workers, because a
    user's spider has had enough. To be called in a process's main thread.

    Raises `InputError`, `Unavailable` and its `TakeoverError`, and what the disk says where storage has no word for it (`OSError`);
    never for anything that a server on the web does.
    """
    return asyncio.run(_run(config, activity or Activity.make()))


async def _run(config: WorkerConfig, activity: Activity) -> bool:
    link = await connect(config.redis)
    try:
        return await crawl(config, Frontier(link, config.crawl), activity, REAL_SYSTEM)
    finally:
        await link.aclose()


async def crawl(config: WorkerConfig, frontier: Frontier, activity: Activity, system: System) -> bool:
    """Crawl as `run_worker` does, on a frontier and a system of the caller's."""
    allow = parse_networks(config.allow_networks)
    log = CrawlLogWriter(config.store, config.crawl, writer=config.worker, clock=system.clock)
    await frontier.open()
    name = _user_agent(config, frontier)
    archive = ArchiveWriter(
        config.store,
        config.crawl,
        writer=config.worker,
        user_agent=name,
        max_bytes=config.max_file_bytes,
        max_age_s=config.max_file_age_s,
        compression=config.compression,
        before_sync=log.commit,
    )
    named: list[HasUserAgent] = [archive]

    ttl_s = config.ttl_s + _blocked_s(config)
    entrance = AddressLimiter(frontier, system.boot_clock)

    def asked(address: str) -> None:
        pulse.check()  # a worker that has slept may have been given up, and others ask in its place
        entrance.start_request(address)

    client = system.client(
        user_agent=name,
        max_body=config.max_body,
        timeout_s=config.timeout_s,
        allow=allow,
        verify_tls=config.verify_tls,
        nameservers=config.nameservers,
        proxy=config.proxy,
        cookies=config.cookies,
        auth=config.auth,
        on_request=asked,
    )
    decoded = DecodeBudget()
    renderer = _renderer(config, frontier, client, entrance, decoded)
    named += [client, *([renderer] if renderer else [])]

    async def report() -> None:
        await pulse.send_now()

    uplink = Uplink(client, frontier.responsive_origins, report, clock=system.clock)

    async def beat() -> None:
        for each in named:
            each.user_agent = _user_agent(config, frontier)
        since = config.store.unavailable_since_ms()
        stalled_ms = None if since is None else max(0, system.clock_ms() - since)
        ttl_ms = round(ttl_s * 1000)
        await frontier.workers.send_heartbeat(
            config.worker, ttl_ms, stalled_ms=stalled_ms, outage=uplink.outage
        )

    pulse = Heartbeat(
        beat, worker=config.worker, ttl_s=ttl_s, period_s=config.ttl_s / 3, clock=system.boot_clock
    )
    await pulse.send()
    beside = [asyncio.create_task(work) for work in (pulse.run(), activity.run())]
    try:
        if renderer is not None:
            await renderer.start()
        enough = await _crawl(
            config, frontier, system, archive, log, uplink, entrance, pulse, activity, renderer, decoded
        )
    finally:
        for task in beside:
            task.cancel()
        await uplink.close()
        if renderer is not None:
            await renderer.close()
        await client.close()
    # Leased, but never begun: a drain came between. Everything else is settled by now.
    await frontier.workers.reclaim(config.worker)
    await frontier.workers.deregister(config.worker)
    return enough


async def _crawl(
    config: WorkerConfig,
    frontier: Frontier,
    system: System,
    archive: ArchiveWriter,
    log: CrawlLogWriter,
    uplink: Uplink,
    entrance: AddressLimiter,
    pulse: Heartbeat,
    activity: Activity,
    renderer: "Renderer | None",
    decoded: DecodeBudget,
) -> bool:
    gate = GateMonitor(frontier.backlog.gate_state, system.clock)
    lease_ms = (
        round(config.timeout_s * 1000) * (TOTAL_FACTOR * MAX_EXCHANGES + _renderings(config))
        + MAX_TURN_WAIT_MS
        + SETTLING_MS
        + round(_blocked_s(config) * 1000)
    )
    loop = Scheduler(
        frontier,
        gate=gate,
        heartbeat=pulse,
        uplink=uplink,
        worker=config.worker,
        concurrency=config.concurrency,
        lease_ms=lambda: lease_ms + frontier.crawl.settings.min_delay_ms * 2 * MAX_EXCHANGES,
        max_pages=config.max_pages,
        max_requests=config.max_requests,
        deadline=None if config.max_time_s is None else system.clock() + config.max_time_s,
        sitemaps=config.sitemaps and config.spider is None,
        clock=system.clock,
    )
    rotation = Rotation(max_bytes=config.max_file_bytes, max_age_ms=config.max_file_age_s * 1000)
    feeds = FeedFiles()
    settler = Settler(
        archive,
        frontier,
        loop.close_leases,
        log=log,
        gate=gate,
        heartbeat=pulse,
        rotation=rotation,
        clock_ms=system.clock_ms,
        before_batch=None if config.spider is None else feeds.sync,
    )
    _install_signal_handlers(loop)
    settling = asyncio.create_task(settler.run())
    settling.add_done_callback(lambda _: loop.stop())
    steward = LeaseHandler(
        crawl=config.crawl,
        worker=config.worker,
        client=uplink,
        address_limiter=entrance,
        scheduler=loop,
        settler=settler,
        archive_filter=config.archive_filter,
        renderer=renderer,
        activity=activity,
        decode_budget=decoded,
        options=lambda: _page_options(config, frontier),
        page_process=system.page_process(),
    )
    enough = False
    watching = asyncio.create_task(_abort_on_expiry(steward, pulse))
    try:
        if config.spider is None:
            await steward.run()
        else:
            activity.set_spider_active()
            from crawler.spiders.spider_engine import run_spider  # noqa: PLC0415 - Scrapy, for guests alone

            enough = await run_spider(config.spider, steward, feeds, concurrency=config.concurrency)
    finally:
        watching.cancel()
    settler.close()
    await settling
    steward.close()
    if steward.error is not None:
        raise steward.error
    return enough


async def _abort_on_expiry(steward: LeaseHandler, pulse: Heartbeat) -> None:
    """See to it that nothing is under way when the worker may have been given up."""
    await pulse.wait_until_expired()
    try:
        pulse.check()
    except TakeoverError as error:
        steward.abort(error)


def _blocked_s(config: WorkerConfig) -> float:
    """For how long the event loop may be held up, so that nobody is heard of: by a user's spider."""
    return 0.0 if config.spider is None else MAX_BLOCK_S


def _user_agent(config: WorkerConfig, frontier: Frontier) -> str:
    return config.user_agent or user_agent(frontier.crawl.settings.contact)


def _page_options(config: WorkerConfig, frontier: Frontier) -> PageOptions:
    traps = frontier.crawl.settings.policy.traps
    return PageOptions(obey=config.obey, cookies=config.cookies, traps=traps)


def _renderings(config: WorkerConfig) -> int:
    """Time-outs that a page may wait for a tab, and be in it: all that are leased may want one."""
    return 0 if config.render == "never" else config.concurrency // MAX_TABS + 2


def _renderer(
    config: WorkerConfig, frontier: Frontier, client: Client, entrance: AddressLimiter, decoded: DecodeBudget
) -> "Renderer | None":
    if config.render == "never":
        return None
    find_browser(config.browser)  # says what is missing
    from crawler.render.renderer import Renderer  # noqa: PLC0415 - Playwright is an extra

    return Renderer(
        client,
        entrance,
        frontier.robots,
        mode=config.render,
        browser=config.browser,
        sandbox=config.browser_sandbox,
        user_agent=_user_agent(config, frontier),
        timeout_s=config.timeout_s,
        most_bytes=config.max_body,
        decode_budget=decoded,
        restarts=lambda: frontier.crawl.server_restarts,
    )


def _install_signal_handlers(loop: Scheduler) -> None:
    told: list[bool] = []

    def take() -> None:
        if told:
            os._exit(STOPPED_AT_ONCE)
        told.append(True)
        loop.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, take)
