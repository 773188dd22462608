"""The spool: where a node keeps files that are on their way to another machine.

A directory of this user's in the temporary one (TMPDIR), shared by all processes of the node. A file in it is
locked as long as its maker lives, which is how the sweep tells it from a left one.
"""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core import Unavailable
from storage.directory_store import NO_SPACE_ERRNOS, DirectoryStore


def open_spool() -> DirectoryStore:
    """The node's spool. Raises `Unavailable` where another user made what bears its name."""
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
    """A private file for what is to become `name`; gone at the end of the context. Running out of room inside
    the context raises `Unavailable`.
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
