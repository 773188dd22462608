"""The calls that the processes of a fleet's processors and exporters carry out."""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from pathlib import PurePosixPath
from types import FrameType

from thresher.core import InputError, ThresherError
from thresher.crawler.machine.activity import SupervisorChannel
from thresher.crawler.worker_config import STOPPED_AT_ONCE
from thresher.frontier import Frontier
from thresher.frontier.link.connect import connect
from thresher.pipeline.configuration import Config
from thresher.pipeline.engine.local.worker_pool import WorkerPool, local_worker_pool
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.steps.follow import Sharing, follow
from thresher.pipeline.terminal.progress import Progress, SilentProgress
from thresher.shards.tokenizer import TokenizerFile

ExportFunction = Callable[[OpenProject, str, str, TokenizerFile, WorkerPool, Progress], None]
"""`pipeline.recipe.export_crawl`: a function of a module, because it travels to the exporter's process by name."""
EXPORT_ATTEMPTS = 5
"""Rounds in which an exporter processes what a running crawl has sealed since the round before."""


def run_processor(config: Config, crawl: str, member: str, channel: SupervisorChannel) -> None:
    """Process what the crawl seals until SIGTERM, which lets the parts that were begun end; a second one stops at once.
    Its part process may allocate a core's share of the machine's memory.
    """
    sharing = Sharing(member=member)
    _on_sigterm(sharing.stop.set)

    def work() -> None:
        project = OpenProject(config=config)
        with local_worker_pool(1, len(os.sched_getaffinity(0))) as pool:
            follow(project, (crawl,), pool, SilentProgress(), sharing).require_all()

    _report_errors(crawl, work, channel)


def run_exporter(
    config: Config,
    crawl: str,
    member: str,
    tokenizer: TokenizerFile,
    export: ExportFunction,
    channel: SupervisorChannel,
) -> None:
    """Export the crawl into a new folder of `fleet.export_out`. SIGTERM changes nothing: an export ends by itself."""
    _on_sigterm(lambda: None)

    def work() -> None:
        project = OpenProject(config=config)
        out = export_directory(config, crawl, member)
        with project.frontier_address() as address:
            pages = asyncio.run(_settled_pages(address, crawl))
            _export(project, crawl, out, tokenizer, export)
            asyncio.run(_record_export(address, crawl, member, pages))

    _report_errors(crawl, work, channel)


def export_directory(config: Config, crawl: str, member: str) -> str:
    """Return the directory of an export: a folder of its own, named after its crawl, its time and its member."""
    base = config.fleet.export_out
    folder = f"{crawl}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{member[:8]}"
    if "://" in base:
        scheme, _, rest = base.partition("://")
        return f"{scheme}://{PurePosixPath(rest) / folder}"
    return str(config.directory / base.removeprefix("file:") / folder)


def settled_pages(outcomes: dict[str, int]) -> int:
    """Return how many pages of a crawl are settled, by its statistics."""
    return sum(outcomes.values())


def _export(
    project: OpenProject, crawl: str, out: str, tokenizer: TokenizerFile, export: ExportFunction
) -> None:
    with local_worker_pool(1) as pool:
        for attempt in range(1, EXPORT_ATTEMPTS + 1):
            try:
                export(project, crawl, out, tokenizer, pool, SilentProgress())
            except InputError:
                # The crawl has sealed another file since it was processed.
                if attempt == EXPORT_ATTEMPTS:
                    raise
            else:
                return


async def _settled_pages(address: str, crawl: str) -> int:
    link = await connect(address)
    try:
        return settled_pages(dict((await (await Frontier(link, crawl).open()).stats()).outcomes))
    finally:
        await link.aclose()


async def _record_export(address: str, crawl: str, member: str, pages: int) -> None:
    link = await connect(address)
    try:
        await (await Frontier(link, crawl).open()).fleet.record_export(member, pages=pages)
    finally:
        await link.aclose()


def _report_errors(crawl: str, work: Callable[[], None], channel: SupervisorChannel) -> None:
    try:
        work()
    except ThresherError as error:
        channel.send_error(error)
    except OSError as error:
        channel.send_error(ThresherError(f"crawl {crawl}: {error}"))


def _on_sigterm(first: Callable[[], None]) -> None:
    received: list[int] = []

    def handle(signum: int, _: FrameType | None) -> None:
        if received:
            os._exit(STOPPED_AT_ONCE)
        received.append(signum)
        first()

    signal.signal(signal.SIGTERM, handle)
    signal.signal(signal.SIGINT, handle)
