"""One worker: a process that crawls until the frontier is drained, a limit is reached, or a signal stops it.

1. The lease handler alone does a plain crawl. Only `crawler.spiders` imports Scrapy, and only if the user has a spider.
2. SIGTERM and the first SIGINT drain the worker: it leases no more, finishes and settles what is in flight, and seals
   the archive. The second signal stops it at once. Then only open leases are lost: `crawler.replay.replay` recovers
   what was archived.
3. A worker whose heartbeats failed for too long, or whose name was taken over, stops with `TakeoverError`
   (`crawler.machine.heartbeat`). Another worker recovers its leases and files.
4. A failure on our side (the server of the frontier, the disk) is raised after everything has stopped.
5. Contact, delays, budgets and policy belong to the crawl (`Crawl.settings`). When an operator updates them, this
   worker uses the new delays, budgets and policy from its next lease on, and the new contact within one heartbeat.
"""

import asyncio
import os
import signal
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from thresher.core import Unavailable
from thresher.core.tracing import identified, span
from thresher.crawler.connectivity.address_limiter import AddressLimiter
from thresher.crawler.connectivity.politeness_audit import PolitenessAudit
from thresher.crawler.connectivity.uplink import Uplink
from thresher.crawler.decode_budget import DecodeBudget
from thresher.crawler.gate_monitor import GateMonitor
from thresher.crawler.lease_handler import LeaseHandler
from thresher.crawler.machine.activity import SPIDER, Activity
from thresher.crawler.machine.heartbeat import Heartbeat
from thresher.crawler.machine.system import REAL_SYSTEM, System
from thresher.crawler.machine.worker_counters import WorkerCounters
from thresher.crawler.reading.page_options import PageOptions
from thresher.crawler.render.chromium.program import MAX_TABS, find_browser
from thresher.crawler.robots.robots_txt import MAX_TURN_WAIT_MS
from thresher.crawler.rotation import Rotation
from thresher.crawler.scheduling.lease_queue import LeaseQueue
from thresher.crawler.scheduling.scheduler import Scheduler
from thresher.crawler.settler import Settler
from thresher.crawler.spiders.blocking_watch import MAX_BLOCK_S
from thresher.crawler.spiders.feeds import FeedFiles
from thresher.crawler.subresources.fetchers import SubresourceFetchers
from thresher.crawler.subresources.requisites import MAX_PAGES, TIMEOUTS, RequisiteCollector
from thresher.crawler.user_agent import user_agent
from thresher.crawler.wire import SentExchange
from thresher.crawler.wire.limits import TOTAL_FACTOR
from thresher.crawler.worker_config import STOPPED_AT_ONCE, WorkerConfig
from thresher.frontier import Frontier, TakeoverError
from thresher.frontier.link.connect import connect
from thresher.storage.archive.archive_writer import ArchiveWriter
from thresher.storage.archive.file_label import label_of
from thresher.storage.crawllog.log_writer import CrawlLogWriter

if TYPE_CHECKING:
    from thresher.crawler.render.renderer import Renderer
    from thresher.crawler.sessions.session_pool import SessionPool

SETTLING_MS = 60_000
"""Milliseconds that a lease lasts beyond its exchange: time to settle it."""
MAX_EXCHANGES = 6
"""Exchanges under one lease, at most: a robots.txt and five redirects."""


class HasUserAgent(Protocol):
    """Something that sends or records our User-Agent."""

    user_agent: str


def run_worker(config: WorkerConfig, activity: Activity | None = None) -> bool:
    """Crawl until the crawl is at its end or a signal drains the worker. Return whether the user's spider has closed
    the crawl, so that it ends for all workers.

    Call it in the main thread of a process. A supervisor may watch `activity`. Raise `InputError`, `Unavailable`,
    `TakeoverError`, or `OSError` for a fault of the disk; never raise for anything that a server on the web does.
    """
    return asyncio.run(_run(config, activity or Activity.make()))


async def _run(config: WorkerConfig, activity: Activity) -> bool:
    link = await connect(config.redis)
    try:
        with identified(crawl=config.crawl, worker=config.worker), span("worker"):
            return await crawl(config, Frontier(link, config.crawl), activity, REAL_SYSTEM)
    finally:
        await link.aclose()


async def crawl(config: WorkerConfig, frontier: Frontier, activity: Activity, system: System) -> bool:
    """Crawl as `run_worker` does, on a frontier and a system that the caller passes."""
    log = CrawlLogWriter(config.store, config.crawl, writer=config.worker, clock=system.clock)
    await frontier.open()
    name = _user_agent(config, frontier)
    archive = ArchiveWriter(
        config.store,
        config.crawl,
        writer=config.worker,
        user_agent=name,
        max_bytes=config.archive.warc_bytes,
        max_age_s=config.archive.warc_age,
        label=label_of(config.archive.warc_name, socket.gethostname()),
        about=config.warcinfo,
        has_parts=config.archive.requisites or config.rendering.renders,
        refers_elsewhere=config.archive.revisits == "project",
        compression=config.archive.compression,
        before_sync=log.commit,
    )
    identified: list[HasUserAgent] = [archive]
    gate = GateMonitor(frontier.backlog.gate_state, system.clock)
    counters = WorkerCounters()

    ttl_s = config.ttl_s + _blocked_s(config)

    async def send_heartbeat() -> None:
        for each in identified:
            each.user_agent = _user_agent(config, frontier)
        since = config.store.unavailable_since_ms()
        stalled_ms = None if since is None else max(0, system.clock_ms() - since)
        ttl_ms = round(ttl_s * 1000)
        report = counters.report(
            bytes_stored=archive.appended,
            gate_wait_s=gate.shut_s,
            store=config.store.call_times(),
            used=system.machine_use(),
        )
        await frontier.workers.send_heartbeat(
            config.worker, ttl_ms, stalled_ms=stalled_ms, outage=uplink.outage, report=report
        )

    heartbeat = Heartbeat(
        send_heartbeat, worker=config.worker, ttl_s=ttl_s, period_s=config.ttl_s / 3, clock=system.boot_clock
    )
    address_limiter = AddressLimiter(frontier, system.boot_clock, check_liveness=heartbeat.check)
    audit = PolitenessAudit(frontier, counters, system.clock)

    def end_exchange(exchange: SentExchange) -> None:
        counters.add_exchange(exchange)
        audit.add_exchange(exchange)

    client = system.client(
        user_agent=name,
        settings=config.wire,
        on_request=address_limiter.start_request,
        on_exchange=end_exchange,
    )
    decode_budget = DecodeBudget()
    fetchers = SubresourceFetchers(
        frontier, client, address_limiter, decode_budget=decode_budget, wire=config.wire
    )
    requisites = (
        RequisiteCollector(fetchers, timeout_s=config.wire.timeout) if config.archive.requisites else None
    )
    renderer = _renderer(config, frontier, fetchers)
    sessions = _sessions(config, frontier, system)
    identified += [client, *([renderer] if renderer else [])]
    uplink = Uplink(client, frontier.origins.responsive, heartbeat.send_now, clock=system.clock)
    await heartbeat.send()
    background = [asyncio.create_task(work) for work in (heartbeat.run(), activity.run(), audit.run())]
    try:
        if renderer is not None:
            await renderer.start()
        is_closed_early = await _crawl(
            config,
            frontier,
            system,
            archive,
            log,
            gate,
            uplink,
            address_limiter,
            heartbeat,
            activity,
            renderer,
            requisites,
            decode_budget,
            sessions,
        )
    finally:
        for task in background:
            task.cancel()
        await uplink.close()
        if renderer is not None:
            await renderer.close()
        await client.close()
    await audit.close()
    with suppress(Unavailable):
        await heartbeat.send_now()  # with the last figures
    # A drain may leave leases that were granted but never started. All others are settled by now.
    await frontier.workers.reclaim(config.worker)
    await frontier.workers.deregister(config.worker)
    return is_closed_early


async def _crawl(  # noqa: PLR0913 - the parts that `crawl` has started
    config: WorkerConfig,
    frontier: Frontier,
    system: System,
    archive: ArchiveWriter,
    log: CrawlLogWriter,
    gate: GateMonitor,
    uplink: Uplink,
    address_limiter: AddressLimiter,
    heartbeat: Heartbeat,
    activity: Activity,
    renderer: "Renderer | None",
    requisites: RequisiteCollector | None,
    decode_budget: DecodeBudget,
    sessions: "SessionPool | None",
) -> bool:
    """Return whether the user's spider has closed the crawl."""
    lease_ms = (
        round(config.wire.timeout * 1000)
        * (TOTAL_FACTOR * MAX_EXCHANGES + _renderings(config) + _collections(config))
        + MAX_TURN_WAIT_MS
        + SETTLING_MS
        + round(_blocked_s(config) * 1000)
    )
    queue = LeaseQueue(system.clock)
    scheduler = Scheduler(
        frontier,
        queue,
        gate=gate,
        heartbeat=heartbeat,
        uplink=uplink,
        worker=config.worker,
        settings=config.scheduling,
        lease_ms=lambda: lease_ms + frontier.crawl.settings.min_delay_ms * 2 * MAX_EXCHANGES,
        reads_sitemaps=config.reading.sitemaps and config.spider is None,
        is_barred=None if sessions is None else sessions.is_barred,
        clock=system.clock,
    )
    rotation = Rotation(max_bytes=config.archive.warc_bytes, max_age_ms=config.archive.warc_age * 1000)
    feeds = FeedFiles()
    settler = Settler(
        archive,
        frontier,
        queue,
        log=log,
        gate=gate,
        heartbeat=heartbeat,
        rotation=rotation,
        clock_ms=system.clock_ms,
        before_batch=None if config.spider is None else feeds.sync,
    )
    _install_signal_handlers(scheduler)
    settling = asyncio.create_task(settler.run())
    settling.add_done_callback(lambda _: scheduler.stop())
    lease_handler = LeaseHandler(
        frontier,
        crawl=config.crawl,
        worker=config.worker,
        client=uplink,
        address_limiter=address_limiter,
        scheduler=scheduler,
        queue=queue,
        archive_filter=config.archive_filter,
        renderer=renderer,
        requisites=requisites,
        activity=activity,
        decode_budget=decode_budget,
        options=PageOptions(obey=config.reading.obey, cookies=config.wire.cookies),
        page_process=system.page_process(),
        sessions=sessions,
    )
    is_closed_early = False
    watching = asyncio.create_task(_abort_on_expiry(lease_handler, heartbeat))
    try:
        if config.spider is None:
            await lease_handler.run()
        else:
            activity.page_token = SPIDER
            from thresher.crawler.spiders.spider_engine import run_spider  # noqa: PLC0415 - Scrapy, for spiders alone

            is_closed_early = await run_spider(
                config.spider, lease_handler, feeds, concurrency=config.scheduling.concurrency
            )
    finally:
        watching.cancel()
    queue.finish()
    await settling
    lease_handler.close()
    if lease_handler.error is not None:
        raise lease_handler.error
    return is_closed_early


async def _abort_on_expiry(lease_handler: LeaseHandler, heartbeat: Heartbeat) -> None:
    """Abort every exchange when another worker may have taken over."""
    await heartbeat.wait_until_expired()
    try:
        heartbeat.check()
    except TakeoverError as error:
        lease_handler.abort(error)


def _blocked_s(config: WorkerConfig) -> float:
    """Return the seconds for which a user's spider may block the event loop, and with it the heartbeat."""
    return 0.0 if config.spider is None else MAX_BLOCK_S


def _user_agent(config: WorkerConfig, frontier: Frontier) -> str:
    return config.user_agent or user_agent(frontier.crawl.settings.contact)


def _renderings(config: WorkerConfig) -> int:
    """Return the time-outs that a page may spend on waiting for a tab and in it: every leased page may need one."""
    return 0 if not config.rendering.renders else config.scheduling.concurrency // MAX_TABS + 2


def _collections(config: WorkerConfig) -> int:
    """Return the same for the requisites of a page, which wait for those of other pages."""
    return TIMEOUTS * (config.scheduling.concurrency // MAX_PAGES + 2) if config.archive.requisites else 0


def _renderer(config: WorkerConfig, frontier: Frontier, fetchers: SubresourceFetchers) -> "Renderer | None":
    if not config.rendering.renders:
        return None
    find_browser(config.rendering.browser)  # raises if something is missing
    from thresher.crawler.render.renderer import Renderer  # noqa: PLC0415 - Playwright is an extra

    return Renderer(
        fetchers,
        settings=config.rendering,
        wire=config.wire,
        user_agent=_user_agent(config, frontier),
        with_images=config.archive.requisites,
    )


def _sessions(config: WorkerConfig, frontier: Frontier, system: System) -> "SessionPool | None":
    if not config.logins:
        return None
    from thresher.crawler.sessions.session_pool import SessionPool  # noqa: PLC0415 - only crawls with a login need it

    return SessionPool(config.logins, hold=frontier.operator.hold, clock=lambda: system.clock_ms() / 1000)


def _install_signal_handlers(scheduler: Scheduler) -> None:
    received: list[bool] = []

    def handle() -> None:
        if received:
            os._exit(STOPPED_AT_ONCE)
        received.append(True)
        scheduler.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, handle)
