"""`thresher fleet start`: a controller with its members, on this machine or on a Ray cluster."""

import asyncio
import hashlib
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

from thresher.core import InputError
from thresher.crawler.spiders import SpiderSpec
from thresher.crawler.spiders.spider_spec import source_digest
from thresher.crawler.worker_config import STOPPED_AT_ONCE
from thresher.frontier import Frontier
from thresher.frontier.fleet_state import MAX_MEMBERS, MemberKind
from thresher.frontier.link.connect import connect
from thresher.pipeline import open_crawl
from thresher.pipeline.configuration import Config
from thresher.pipeline.engine.local.crawl_worker import pickle_call
from thresher.pipeline.engine.ray.actors import installed_build
from thresher.pipeline.fleet import liveness
from thresher.pipeline.fleet.controller import Controller, ControllerOptions, FleetTimes, StopSignal
from thresher.pipeline.fleet.crawl_call import CrawlLimits, run_crawl_worker, worker_config
from thresher.pipeline.fleet.local_members import LocalMembers, Members
from thresher.pipeline.fleet.member_call import ExportFunction, run_exporter, run_processor
from thresher.pipeline.fleet.member_host import MemberTask
from thresher.pipeline.fleet.ray_members import ray_members
from thresher.pipeline.fleet.spider_seeds import add_start_requests
from thresher.pipeline.open_project import EMBEDDED, OpenProject
from thresher.shards.tokenizer import TokenizerFile, load_tokenizer_file

SECTIONS_OF_VERSION = ("project", "crawler", "filters", "dedup")
"""Sections of thresher.toml that decide what a member does. Numbers of members do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetOptions:
    """The options of the command."""

    ray: str | None = None
    """`HOST:PORT` of a Ray cluster; None for `project.engine` of the configuration."""
    given: Mapping[MemberKind, int] = field(default_factory=dict)
    export: ExportFunction
    spider: SpiderSpec | None = None
    """The user's spider that the crawlers run; None if they follow links."""
    until_drained: bool = False
    keeps_members: bool = False
    update: bool = False
    times: FleetTimes = field(default_factory=FleetTimes)


def start_fleet(project: OpenProject, name: str, options: FleetOptions, say: Callable[[str], None]) -> None:
    """Run the controller of a crawl's fleet until the fleet is stopped or a signal asks for an end.

    The first SIGTERM or SIGINT drains all members, and then this returns. The second ends the process at once. Raise
    `InputError` if the configuration is wrong, before anything is started.
    """
    _ = project.config.contact  # raises if none is set
    project = with_engine(project, options.ray)
    config = project.config
    check_numbers(config, options.given)
    if options.keeps_members and config.project.cluster is None:
        raise InputError(
            "--keep-workers: the workers of one machine end with their controller; use it with --ray"
        )
    if options.keeps_members and config.project.redis == EMBEDDED:
        raise InputError(
            '--keep-workers: the embedded Redis ends with the controller; set project.redis = "redis://HOST:6379/0"'
        )
    tokenizer = load_tokenizer(config)
    project.store.sweep()
    with project.frontier_address() as address:
        if options.spider is not None:
            asyncio.run(_create_crawl(project, name, address))
            add_start_requests(project, name, address, options.spider)
        asyncio.run(_start_fleet(project, name, address, options, tokenizer, say))


def with_engine(project: OpenProject, ray: str | None) -> OpenProject:
    """Return the project with its members on a Ray cluster, if an address is given."""
    if ray is None:
        return project
    host, _, port = ray.rpartition(":")
    if ray and not (host and port.isdigit()):
        raise InputError(f"--ray {ray}: give HOST:PORT of the cluster's head, such as 10.0.0.1:6379")
    engine = f"ray:{ray}" if ray else "ray"
    config = replace(project.config, project=replace(project.config.project, engine=engine))
    return OpenProject(config=config)


def check_numbers(config: Config, given: Mapping[MemberKind, int]) -> None:
    """Raise `InputError` if a number of members contradicts the configuration."""
    limits = config.fleet.limits
    for kind, number in given.items():
        if number > MAX_MEMBERS:
            raise InputError(f"--{kind}s {number}: give {MAX_MEMBERS} at most")
        if kind in limits and limits[kind].clamp(number) != number:
            raise InputError(
                f"--{kind}s {number}: fleet.min_{kind}s and fleet.max_{kind}s in thresher.toml allow"
                f" {limits[kind].least} to {limits[kind].most}; change them, or the number"
            )
        if kind == "exporter" and number and not config.fleet.export_out:
            raise InputError(
                f"--exporters {number}: fleet.export_out in thresher.toml does not say where exports go; set it"
            )
        if kind == "exporter" and number > 1:
            raise InputError(f"--exporters {number}: a fleet has one exporter at most; give 0 or 1")


def load_tokenizer(config: Config) -> TokenizerFile:
    """Return the tokenizer of the fleet's exports. Raise `InputError` if it is none."""
    path = config.fleet.export_tokenizer
    return load_tokenizer_file(config.directory / Path(path) if path and config.fleet.export_out else None)


def fleet_version(config: Config, spider: SpiderSpec | None = None) -> str:
    """Return the version of members that this code, this configuration and this spider make."""
    made_of = [repr(getattr(config, section)) for section in SECTIONS_OF_VERSION]
    if spider is not None:
        made_of += [spider.class_path, repr(spider.arguments), spider.settings_path, source_digest(spider)]
    digest = hashlib.sha256("\n".join([installed_build().code, *made_of]).encode()).hexdigest()
    return f"{version('thresher')}+{digest[:8]}"


async def _create_crawl(project: OpenProject, name: str, address: str) -> None:
    """Make the crawl, if it does not exist, before the user's code runs."""
    link = await connect(address)
    try:
        await open_crawl.open_crawl(project, link, name)
    finally:
        await link.aclose()


async def _start_fleet(
    project: OpenProject,
    name: str,
    address: str,
    options: FleetOptions,
    tokenizer: TokenizerFile,
    say: Callable[[str], None],
) -> None:
    link = await connect(address)
    stop = StopSignal()
    try:
        frontier = await open_crawl.open_seeded_crawl(project, link, name, update=options.update)
        with _members(project, frontier) as members, _signals(stop, members):
            controller = Controller(
                project,
                frontier,
                members,
                _task_factory(project, name, address, tokenizer, options),
                ControllerOptions(
                    name=f"{socket.gethostname()}-{os.getpid()}-{os.urandom(3).hex()}",
                    version=fleet_version(project.config, options.spider),
                    given=options.given,
                    until_drained=options.until_drained,
                    keeps_members=options.keeps_members,
                    times=options.times,
                ),
                stop,
                say,
            )
            try:
                await controller.run()
            finally:
                members.drain()
                await members.close()
    finally:
        await link.aclose()


@contextmanager
def _members(project: OpenProject, frontier: Frontier) -> Iterator[Members]:
    cluster = project.config.project.cluster
    if cluster is None:
        _ = project.confinement  # prints its warnings before a member starts
        yield LocalMembers(frontier.fleet)
        return
    one_machine = project.config.project.redis == EMBEDDED
    with ray_members(cluster, project.store, frontier.crawl.name, is_single_machine=one_machine) as members:
        yield members


def _task_factory(
    project: OpenProject, crawl: str, address: str, tokenizer: TokenizerFile, options: FleetOptions
) -> Callable[[MemberKind, int], MemberTask]:
    config, code_version = project.config, fleet_version(project.config, options.spider)
    is_local = config.project.cluster is None
    crawl_config = worker_config(project, crawl, address, CrawlLimits(), options.spider)

    def make(kind: MemberKind, restarts: int) -> MemberTask:
        name = liveness.new_cluster_worker_id()
        if kind == "crawler":
            name = liveness.new_worker_id(project.state_directory) if is_local else name
            call = pickle_call(
                run_crawl_worker, crawl_config(name), project.state_directory if is_local else None
            )
        elif kind == "processor":
            call = pickle_call(run_processor, config, crawl, name)
        else:
            call = pickle_call(run_exporter, config, crawl, name, tokenizer, options.export)
        return MemberTask(
            crawl=crawl,
            redis=address,
            name=name,
            kind=kind,
            restarts=restarts,
            version=code_version,
            call=call,
            heartbeat_s=options.times.heartbeat_s,
            ttl_ms=round(options.times.member_ttl_s * 1000),
        )

    return make


@contextmanager
def _signals(stop: StopSignal, members: Members) -> Iterator[None]:
    """Set `stop` at the first SIGINT or SIGTERM, and end the process at the second."""

    def handle(*_: object) -> None:
        if stop.is_set:
            members.end_now()
            sys.stderr.flush()
            os._exit(STOPPED_AT_ONCE)
        stop.is_set = True

    before = {signum: signal.signal(signum, handle) for signum in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
