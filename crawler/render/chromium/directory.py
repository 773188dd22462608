"""`BrowserDirectory`: a browser and its driver write their files into one directory of ours, which is removed with
them.

The directory is locked as long as the process lives that created it, however that process ends. The next process that
creates one removes the directories that nobody has locked.
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
    """One directory under that for temporary files. Every user may enter it, because root starts the browser as
    nobody.
    """

    def __init__(self) -> None:
        """Create a directory, and remove those of dead processes."""
        remove_stale()
        while True:
            self.path = Path(mkdtemp(prefix=PREFIX))
            # Another process may take it for a stale one, and remove it, until it is locked.
            with suppress(FileNotFoundError):
                self._lock = os.open(self.path, _FLAGS)
                if _lock(self._lock) is not False and self.path.exists():
                    break
                os.close(self._lock)
        self.path.chmod(0o755)

    def remove(self) -> None:
        """Remove the directory, with all that it holds."""
        # Files that an ending browser writes meanwhile stay for the next process to remove.
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)

    def __repr__(self) -> str:
        return f"<directory {self.path}>"


def remove_stale() -> None:
    """Remove the directories of this user that no living process has locked."""
    for path in Path(gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            lock = os.open(path, _FLAGS)
            try:
                if os.fstat(lock).st_uid == os.geteuid() and _lock(lock):
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)


def _lock(directory: int) -> bool | None:
    """Lock a directory; return whether that succeeded. None if its file system cannot lock directories, such as NFS."""
    try:
        fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
