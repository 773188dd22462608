"""`Directory`: what a browser and its driver write on disk lies in one directory of ours, and goes with it.

It is locked for as long as the process lives that made it, in whatever way that ends. Who makes the next one removes those that nobody holds.
"""

import fcntl
import os
import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp

PREFIX = "thresher-browser-"
_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class BrowserDirectory:
    """One directory under that for temporary files. Every user may enter it: root begins the browser as nobody."""

    def __init__(self) -> None:
        """Make one, and remove those that are left of dead processes."""
        remove_stale()
        while True:
            self.path = Path(mkdtemp(prefix=PREFIX))
            self._lock = os.open(self.path, _FLAGS)
            # Somebody may take it for a stale one until it is locked.
            if _lock(self._lock) is not False and self.path.exists():
                break
            os.close(self._lock)
        self.path.chmod(0o755)

    def remove(self) -> None:
        """Remove it, with all that it holds."""
        # What a browser that ends just now writes meanwhile is left for the next one.
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)

    def __repr__(self) -> str:
        return f"<directory {self.path}>"


def remove_stale() -> None:
    """Remove the directories of this user that no living process holds."""
    for path in Path(gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            lock = os.open(path, _FLAGS)
            try:
                if os.fstat(lock).st_uid == os.geteuid() and _lock(lock):
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)


def _lock(directory: int) -> bool | None:
    """Lock a directory, if nobody else holds it; None where its file system has no locks for directories, as NFS."""
    try:
        fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
