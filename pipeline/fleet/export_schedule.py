"""When a fleet exports, and when the work of a crawl is complete."""

from dataclasses import dataclass

from thresher.core import InputError
from thresher.pipeline.configuration import Config
from thresher.pipeline.engine import quarantine
from thresher.pipeline.fleet_settings import FleetSettings
from thresher.pipeline.steps import process
from thresher.storage.archive.open_files import open_archive_files
from thresher.storage.manifest import manifest_name
from thresher.storage.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportProgress:
    """What there is to export, and what was."""

    now_ms: int
    is_complete: bool
    """Whether the crawl is drained and everything that it archived is processed."""
    pages: int
    """Pages settled by now."""
    exported_at_ms: int
    exported_pages: int
    """When the last export was complete, and how many pages were settled when it began."""


def is_export_due(settings: FleetSettings, progress: ExportProgress) -> bool:
    """Return whether an export is due: there is something new to export, and its time has come."""
    if not settings.export_out or progress.pages <= progress.exported_pages:
        return False
    if settings.export_interval_s is None:
        return progress.is_complete
    return progress.now_ms - progress.exported_at_ms >= settings.export_interval_s * 1000


def is_sealed(store: Store, crawl: str) -> bool:
    """Return whether a crawl has sealed an archive file."""
    return any(True for _ in store.list(f"manifests/archive/{crawl}/"))


def require_sealed(store: Store, crawl: str) -> None:
    """Raise `InputError` if a crawl has sealed no archive file: an export of it would be an empty dataset."""
    if not is_sealed(store, crawl):
        raise InputError(
            f"crawl {crawl!r}: no archive file is sealed yet, so there is nothing to export; export when"
            " `thresher status` shows archived files"
        )


def is_processed(store: Store, crawl: str, config: Config) -> bool:
    """Return whether every archive file of a crawl is sealed, and every part processed or in quarantine."""
    if any(True for _ in open_archive_files(store, crawl)):
        return False
    done = set(store.list(f"manifests/{process.NAME}/{crawl}/"))
    aside = quarantine.marked_parts(store, process.NAME)
    return all(
        manifest_name(process.NAME, part.name) in done or part.name in aside
        for part in process.parts(store, crawl, config.filters)
    )
