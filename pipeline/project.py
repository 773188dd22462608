"""A project opened: its configuration, storage, catalog and frontier, in one value."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from core import InputError
from crawler.reading.page_options import PageOptions
from frontier import Budget, CrawlSettings
from frontier.link.embedded import embedded_server
from isolation import Confinement, probe_confinement
from pipeline import configuration
from pipeline.configuration import Config
from pipeline.engine.local.crawl_worker import LocalCrawlWorker, WorkerFactory
from pipeline.engine.local.worker_pool import WorkerPool, local_worker_pool
from pipeline.engine.ray.ray_crawl_worker import ray_worker_factory
from pipeline.engine.ray.ray_pool import ray_worker_pool
from pipeline.terminal.output import warn
from pipeline.url_policy import policy
from storage.cache.cache import Cache, default_directory
from storage.cache.cache_counters import CacheStats
from storage.location import open_store
from storage.store import Store

if TYPE_CHECKING:
    from storage.catalog import Catalog

STATE_DIRECTORY = ".thresher"
EMBEDDED = "embedded"


@dataclass(frozen=True, kw_only=True)
class Project:
    """What a command works on. Opening one touches no disk; its members do."""

    config: Config

    @staticmethod
    def at(directory: Path) -> "Project":
        """The project of a directory; InputError where there is none or its thresher.toml is wrong.

        If thresher.toml names rules of users, their modules are found in the directory from now on, behind all other places.
        """
        if not directory.is_dir():
            raise InputError(
                f"project {directory}: no such directory; make one with `thresher init {directory}`"
            )
        config = configuration.load(directory.resolve())
        if config.filters.rules and str(config.directory) not in sys.path:
            sys.path.append(str(config.directory))  # worker processes inherit it
        return Project(config=config)

    @property
    def directory(self) -> Path:
        """Where thresher.toml lies."""
        return self.config.directory

    @property
    def state_directory(self) -> Path:
        """Directory of what is neither storage nor configuration: the embedded server, worker locks."""
        return self.directory / STATE_DIRECTORY

    @cached_property
    def store(self) -> Store:
        """The storage."""
        return open_store(self.config.project.storage, self.directory, cache=self.cache)

    @cached_property
    def cache(self) -> Cache | None:
        """The machine's cache of what is read from object storage; None where it is switched off."""
        size = self.config.project.cache_bytes
        return Cache(default_directory(), size) if size else None

    @property
    def cache_stats(self) -> CacheStats | None:
        """What the cache has done for this machine; None where it was never used."""
        return self.cache.stats() if self.cache is not None and self.cache.directory.exists() else None

    @cached_property
    def catalog(self) -> "Catalog":
        """The catalog, made to agree with the storage."""
        from storage.catalog import Catalog  # noqa: PLC0415 - SQLAlchemy takes a third of a second, and few commands need it

        catalog = Catalog(self.config.project.catalog, self.directory)
        catalog.refresh(self.store)
        return catalog

    @cached_property
    def confinement(self) -> Confinement:
        """What a worker process of this machine that reads pages is kept from. What the machine does not offer for that is said when
        it is asked first.
        """
        found = probe_confinement()
        for lack in found.lacks:
            warn(f"isolation: {lack}; see docs/security.md")
        return found

    @contextmanager
    def worker_pool(self, workers: int | None) -> Iterator[WorkerPool]:
        """The hands that make parts, for the time of the context: of the machine or of the cluster that the
        configuration names; one for each CPU where no number is given.
        """
        self.store.sweep()
        cluster = self.config.project.cluster
        if cluster is None:
            _ = self.confinement
            with local_worker_pool(workers or len(os.sched_getaffinity(0))) as crew:
                yield crew
        else:
            with ray_worker_pool(cluster, workers) as spread:
                yield spread

    @contextmanager
    def worker_factory(self) -> Iterator[WorkerFactory]:
        """Where crawl workers live, for the time of the context."""
        self.store.sweep()
        cluster = self.config.project.cluster
        if cluster is None:
            _ = self.confinement
            yield LocalCrawlWorker
        else:
            one_machine = self.config.project.redis == EMBEDDED
            with ray_worker_factory(cluster, self.store, is_single_machine=one_machine) as place:
                yield place

    @contextmanager
    def frontier_address(self) -> Iterator[str]:
        """Address of the frontier's Redis; an embedded one runs at least as long as the context."""
        address = self.config.project.redis
        if address == EMBEDDED:
            with embedded_server(self.state_directory / "redis") as url:
                yield url
        else:
            yield address

    @property
    def settings(self) -> CrawlSettings:
        """What its crawls are to hold to."""
        settings = self.config.crawler
        return CrawlSettings(
            contact=self.config.project.contact,
            min_delay_ms=round(settings.min_delay * 1000),
            min_ip_delay_ms=round(settings.ip_delay * 1000),
            budget=Budget(
                host=settings.max_pages_per_host,
                domain=settings.max_pages_per_domain,
                hosts=settings.max_hosts_per_domain,
            ),
            policy=policy(settings),
        )

    @property
    def page_options(self) -> PageOptions:
        """How the answers of pages are read."""
        settings = self.config.crawler
        return PageOptions(obey=settings.obey, cookies=settings.cookies, traps=self.settings.policy.traps)

    def sources(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The named crawls and ingests, all that are known where none is named; sorted, each once."""
        known = sorted({name.split("/")[2] for name in self.store.list("manifests/archive/")})
        return tuple(sorted(set(names))) or tuple(known)
