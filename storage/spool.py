"""The spool: where a node keeps files on their way to another machine.

It is a directory of this user in the temporary directory (TMPDIR). All processes of the node share it. The maker of a
file holds a lock on it for life, by which the sweep tells it from an abandoned one.
"""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from thresher.core import Unavailable
from thresher.storage.directory_store import NO_SPACE_ERRNOS, DirectoryStore


def open_spool() -> DirectoryStore:
    """Return the node's spool. Raise `Unavailable` if another user made a directory or file of its name."""
    directory = Path(tempfile.gettempdir()) / f"thresher-{os.getuid()}"
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        status = directory.lstat()
    except OSError as error:
        raise Unavailable(
            f"the spool {directory} cannot be made ({os.strerror(error.errno or 0)}): set TMPDIR"
        ) from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise Unavailable(f"the spool {directory} belongs to another user: remove it, or set TMPDIR")
    return DirectoryStore(directory)


@contextmanager
def spool_file(name: str) -> Iterator[Path]:
    """Give a private file for the bytes of the future object `name`. It is removed at the end of the context. Raise
    `Unavailable` if the disk has no room for what the context writes.
    """
    files = open_spool()
    with files.stage(name) as staged:
        try:
            yield staged.path
        except OSError as error:
            if error.errno not in NO_SPACE_ERRNOS:
                raise
            raise Unavailable(
                f"no room left for the spool at {files.root} ({os.strerror(error.errno or 0)}): free some, or set "
                "TMPDIR, and run the command again"
            ) from error
