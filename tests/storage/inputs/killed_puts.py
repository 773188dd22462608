"""A command is killed before and behind every file that it stores, each time in a process of its own."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

from thresher.storage.directory_store import DirectoryStore

MOST = 100


def kill_at_every_put(root: Path, command: Callable[[DirectoryStore], object]) -> int:
    """Run `command` once for each kill, with a store in a directory of its own: `root` / "1", and so on.

    Return the number of the run that was not killed.
    """
    put_file, left = DirectoryStore.put_file, 0

    def count() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def killing(self: DirectoryStore, path: Path, name: str) -> bool:
        count()
        done = put_file(self, path, name)
        count()
        return done

    DirectoryStore.put_file = killing  # type: ignore[method-assign]
    for point in range(1, MOST):
        if (child := os.fork()) == 0:
            left = point
            command(DirectoryStore(root / str(point)))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status == 0:
            return point
        assert os.WTERMSIG(status) == signal.SIGKILL, status
    raise AssertionError("it was killed every time")
