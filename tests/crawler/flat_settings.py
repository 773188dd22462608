"""The settings of a worker and of a client from one flat set of names, as `thresher.toml` has them."""

from dataclasses import fields

from thresher.crawler.archive_settings import ArchiveSettings
from thresher.crawler.reading.reading_settings import ReadingSettings
from thresher.crawler.render.render_settings import RenderSettings
from thresher.crawler.scheduling.scheduling_settings import SchedulingSettings
from thresher.crawler.wire import WireSettings
from thresher.crawler.wire.client import Client
from thresher.crawler.worker_config import WorkerConfig

OWNERS = {
    "wire": WireSettings,
    "scheduling": SchedulingSettings,
    "reading": ReadingSettings,
    "rendering": RenderSettings,
    "archive": ArchiveSettings,
}


def worker_config(**flat):
    """Return the configuration of a worker. `settings` may name a setting of any owner."""
    owned = {owner: _taken(flat, kind) for owner, kind in OWNERS.items()}
    return WorkerConfig(**flat, **{owner: OWNERS[owner](**made) for owner, made in owned.items()})


def wire_client(user_agent, **flat):
    """Return a client. `settings` may name a setting of the wire."""
    return Client(user_agent=user_agent, settings=WireSettings(**_taken(flat, WireSettings)), **flat)


def _taken(flat, kind):
    return {each.name: flat.pop(each.name) for each in fields(kind) if each.name in flat}
