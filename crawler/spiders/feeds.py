"""Feeds that are durable before a page's lease ends, and that no two workers write.

1. Every worker writes its own files: the name of a feed contains `%(worker)s`, which differs for each start of each
   worker.
2. The items in a local file are on disk before their pages are settled (`FeedFiles.sync`). If a worker is killed, it
   loses the items of any other feed that it had not handed over: `lossy_feeds` names those feeds.
"""

import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from thresher.core import InputError

WORKER_FIELD = "%(worker)s"
LINE_FORMATS = frozenset({"jsonlines", "jsonl", "jl", "csv"})
"""Formats that are complete after every item."""


class FeedFiles:
    """The feed files that a worker has open. Any thread may call its methods."""

    def __init__(self) -> None:
        self._files: set[IO[bytes]] = set()
        self._lock = threading.Lock()

    def add(self, file: IO[bytes]) -> None:
        """Sync this file from now on."""
        with self._lock:
            self._files.add(file)

    def close_file(self, file: IO[bytes]) -> None:
        """Write the file to disk, and close it."""
        with self._lock:
            _sync(file)
            file.close()
            self._files.discard(file)

    def sync(self) -> None:
        """Write all files to disk."""
        with self._lock:
            for file in self._files:
                _sync(file)

    def __repr__(self) -> str:
        return f"<{len(self._files)} open feed files>"


def worker_feeds(feeds: Mapping[Any, Any], worker: str) -> dict[str, Any]:
    """Return the feeds of one worker. Raise `InputError` for a feed that several workers would write."""
    found = {}
    for uri, options in feeds.items():
        if WORKER_FIELD not in str(uri):
            raise InputError(
                f"FEEDS {str(uri)!r}: every worker writes a file of its own; put {WORKER_FIELD} into the name"
            )
        found[str(uri).replace(WORKER_FIELD, worker)] = options
    return found


def lossy_feeds(feeds: Mapping[Any, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the feeds of which a worker that is killed may lose items."""
    for uri, options in feeds.items():
        kind = options.get("format") or Path(str(uri)).suffix.removeprefix(".")
        local = urlsplit(str(uri)).scheme in {"", "file"}
        if not local or kind not in LINE_FORMATS or options.get("postprocessing"):
            yield str(uri)


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
