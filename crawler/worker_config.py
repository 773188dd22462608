"""`WorkerConfig`: what a worker is told, and `STOPPED_AT_ONCE`, how it may end.

A supervisor needs no more than this module to start workers. It imports nothing that fetches or reads a page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from thresher.crawler.archive_settings import ArchiveSettings
from thresher.crawler.reading.reading_settings import ReadingSettings
from thresher.crawler.render.render_settings import RenderSettings
from thresher.crawler.scheduling.scheduling_settings import SchedulingSettings
from thresher.crawler.sessions.session_settings import HostLogin
from thresher.crawler.spiders import SpiderSpec
from thresher.crawler.wire_settings import WireSettings
from thresher.storage.store import Store

if TYPE_CHECKING:
    from thresher.crawler.archive_filter import ArchiveFilter

STOPPED_AT_ONCE = 130
"""Exit code after the second signal, as a shell gives for SIGINT."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerConfig:
    """Everything that a worker needs to know: who it is, where it works, and the settings of each part, whole. Can be
    pickled.
    """

    crawl: str
    worker: str
    """Name of this run of one process; no other run ever has it."""
    redis: str = field(repr=False)
    """Address of the frontier's server: redis://, rediss:// or unix://."""
    store: Store
    user_agent: str = ""
    """If empty: `thresher/VERSION (+contact)`, with the contact of the crawl."""
    wire: WireSettings = field(default_factory=WireSettings)
    logins: tuple[HostLogin, ...] = ()
    """The hosts at which the crawl is logged in. The worker reads the profiles and their key itself."""
    scheduling: SchedulingSettings = field(default_factory=SchedulingSettings)
    reading: ReadingSettings = field(default_factory=ReadingSettings)
    rendering: RenderSettings = field(default_factory=RenderSettings)
    archive: ArchiveSettings = field(default_factory=ArchiveSettings)
    warcinfo: Mapping[str, str] = field(default_factory=dict)
    """More fields of the first record of each archive file."""
    archive_filter: ArchiveFilter | None = None
    """Names the reason for which a page is not archived; None archives all."""
    spider: SpiderSpec | None = None
    """A user's own spider, which reads the pages and names the next ones; None follows all links."""
    ttl_s: float = 30.0
    """Seconds after its last heartbeat for which a worker counts as alive; it sends three heartbeats in that time.
    With a spider the time is longer by as much as a spider may block the event loop
    (`crawler.spiders.blocking_watch`)."""
