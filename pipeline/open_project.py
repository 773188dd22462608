"""`OpenProject`: the configuration, storage, catalog and frontier of one project in one value.

A method imports what only it needs, because no command needs the frontier, the cluster and the catalog at once, and
each takes a tenth of a second or more to import.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from thresher.core import CorruptData, InputError
from thresher.pipeline import configuration
from thresher.pipeline.configuration import Config
from thresher.pipeline.terminal.output import warn
from thresher.storage.cache.block_cache import Cache, default_directory
from thresher.storage.cache.cache_counters import CacheStats
from thresher.storage.location import open_store
from thresher.storage.store import Store

if TYPE_CHECKING:
    from thresher.crawler.reading.page_options import PageOptions
    from thresher.frontier import CrawlSettings
    from thresher.isolation import Confinement
    from thresher.pipeline.engine.local.crawl_worker import WorkerFactory
    from thresher.pipeline.engine.local.worker_pool import WorkerPool
    from thresher.storage.catalog import Catalog

STATE_DIRECTORY = ".thresher"
EMBEDDED = "embedded"


@dataclass(frozen=True, kw_only=True)
class OpenProject:
    """The project that a command works on. Opening it reads only thresher.toml; its members open
    the rest on first use.
    """

    config: Config
    shows_damage: bool = False
    """Whether `damage` tells of damaged Manifests instead of `CorruptData`: for what watches a project."""
    damage: list[str] = field(default_factory=list)
    """What was wrong in the storage when the catalog was brought up to date the last time."""

    @staticmethod
    def at(directory: Path, *, shows_damage: bool = False) -> OpenProject:
        """Return the project of a directory. Raise `InputError` if there is none or its thresher.toml is invalid.

        If thresher.toml names rules of users, Python finds their modules in the directory from now on, after all other
        places.
        """
        if not directory.is_dir():
            raise InputError(
                f"project {directory}: no such directory; make one with `thresher init {directory}`"
            )
        config = configuration.load(directory.resolve())
        if config.filters.rules and str(config.directory) not in sys.path:
            sys.path.append(str(config.directory))  # worker processes inherit it
        return OpenProject(config=config, shows_damage=shows_damage)

    @property
    def directory(self) -> Path:
        """The directory of thresher.toml."""
        return self.config.directory

    @property
    def state_directory(self) -> Path:
        """The directory for the embedded server and worker locks: neither storage nor configuration."""
        return self.directory / STATE_DIRECTORY

    @cached_property
    def store(self) -> Store:
        """The storage."""
        return open_store(self.config.project.storage, self.directory, cache=self.cache)

    @cached_property
    def cache(self) -> Cache | None:
        """The machine's cache of objects from object storage, or None if it is switched off. A user without a home
        directory has none, and needs none if the storage is a directory. Raise `InputError` if the storage is a bucket.
        """
        size = self.config.project.cache
        if not size:
            return None
        try:
            return Cache(default_directory(), size)
        except InputError:
            if self.config.project.storage.startswith("s3:"):
                raise
            return None

    @property
    def cache_stats(self) -> CacheStats | None:
        """The statistics of the cache on this machine, or None if it was never used."""
        return self.cache.stats() if self.cache is not None and self.cache.directory.exists() else None

    @cached_property
    def catalog(self) -> Catalog:
        """The catalog, brought up to date with the storage."""
        from thresher.storage.catalog import Catalog

        catalog = Catalog(self.config.project.catalog, self.directory)
        self._refresh(catalog)
        return catalog

    def refresh_catalog(self) -> None:
        """Bring the catalog up to date again."""
        self._refresh(self.catalog)

    def _refresh(self, catalog: Catalog) -> None:
        self.damage.clear()
        try:
            catalog.refresh(self.store)
        except CorruptData as error:
            if not self.shows_damage:
                raise
            self.damage.append(str(error))

    @cached_property
    def confinement(self) -> Confinement:
        """The confinement of worker processes that read pages on this machine.

        The first use prints a warning for each protection that the machine does not offer.
        """
        from thresher.isolation import probe_confinement

        found = probe_confinement()
        for lack in found.lacks:
            warn(f"isolation: {lack}; see docs/security.md")
        return found

    @contextmanager
    def worker_pool(self, workers: int | None, *, on_ray: bool = False) -> Iterator[WorkerPool]:
        """Yield a pool of workers that make parts, on this machine or on the cluster of the configuration; with
        `on_ray`, on a cluster even if the configuration names none: that of RAY_ADDRESS, or of this machine.

        `workers` is their number; None for one per CPU. The pool closes with the context. Raise `InputError` if there
        are more than the memory of this machine holds.
        """
        self.store.sweep()
        cluster = self.config.project.cluster
        if cluster is None and on_ray:
            cluster = ""
        if cluster is None:
            from thresher.pipeline.engine.local.worker_pool import local_worker_pool, most_workers

            if workers is not None and workers > most_workers():
                raise InputError(
                    f"--workers {workers}: the memory of this machine holds {most_workers()} workers at most"
                )
            count = workers or min(len(os.sched_getaffinity(0)), most_workers())
            # The warnings of the confinement come before a worker starts. Nothing is probed if nothing is to be made.
            with local_worker_pool(count, before_first=lambda: self.confinement) as local:
                yield local
        else:
            from thresher.pipeline.engine.ray.ray_pool import ray_worker_pool

            with ray_worker_pool(cluster, workers) as remote:
                yield remote

    @contextmanager
    def worker_factory(self) -> Iterator[WorkerFactory]:
        """Yield the factory of crawl workers. They run on this machine or on the cluster of the configuration."""
        self.store.sweep()
        cluster = self.config.project.cluster
        if cluster is None:
            from thresher.pipeline.engine.local.crawl_worker import LocalCrawlWorker

            _ = self.confinement  # prints its warnings before a worker starts
            yield LocalCrawlWorker
        else:
            from thresher.pipeline.engine.ray.ray_crawl_worker import ray_worker_factory

            one_machine = self.config.project.redis == EMBEDDED
            with ray_worker_factory(cluster, self.store, is_single_machine=one_machine) as factory:
                yield factory

    @property
    def may_have_crawls(self) -> bool:
        """False if the frontier is an embedded server that was never used: it knows no crawl."""
        return self.config.project.redis != EMBEDDED or self._server_directory.exists()

    @property
    def _server_directory(self) -> Path:
        return self.state_directory / "redis"

    @contextmanager
    def frontier_address(self) -> Iterator[str]:
        """Yield the address of the frontier's Redis. An embedded server runs at least as long as the context."""
        address = self.config.project.redis
        if address == EMBEDDED:
            from thresher.frontier.link.embedded import embedded_server

            with embedded_server(self._server_directory) as url:
                yield url
        else:
            yield address

    @property
    def settings(self) -> CrawlSettings:
        """The settings that the project gives its crawls."""
        from thresher.frontier import CrawlSettings

        settings = self.config.crawler
        return CrawlSettings(
            contact=self.config.project.contact,
            min_delay_ms=round(settings.pace.min_delay * 1000),
            min_ip_delay_ms=round(settings.pace.ip_delay * 1000),
            budget=settings.budgets.budget,
            policy=settings.policy.policy,
        )

    @property
    def page_options(self) -> PageOptions:
        """The options with which responses are read as pages."""
        from thresher.crawler.reading.page_options import PageOptions

        settings = self.config.crawler
        return PageOptions(
            obey=settings.reading.obey, cookies=settings.wire.cookies, traps=self.settings.policy.traps
        )

    def sources(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the named crawls and ingests, or all known ones if `names` is empty; sorted, each once."""
        known = sorted({name.split("/")[2] for name in self.store.list("manifests/archive/")})
        return tuple(sorted(set(names))) or tuple(known)
