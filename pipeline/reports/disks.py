"""The disks that a project of this machine writes to, and how much room they have."""

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from thresher.pipeline.open_project import OpenProject
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.spool import open_spool


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """A file system of this machine."""

    use: str
    """What the project writes there: `storage`, `project` (state and catalog), or `spool` (open archive files)."""
    free_bytes: int
    """Bytes that a user without privileges may still write."""
    size_bytes: int


def disks(project: OpenProject) -> list[Disk]:
    """Return the disks of the project. Storage in a bucket has none, but a spool."""
    places = {"project": project.directory}
    if isinstance(project.store, DirectoryStore):
        places["storage"] = project.store.root
    else:
        places["spool"] = open_spool().root
    found = []
    for use, path in places.items():
        with suppress(OSError):
            usage = shutil.disk_usage(_existing(path))
            found.append(Disk(use=use, free_bytes=usage.free, size_bytes=usage.total))
    return found


def _existing(path: Path) -> Path:
    return path if path.exists() else _existing(path.parent)
