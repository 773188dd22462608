"""`ActionLog`: who did what in the console, and when.

A file of JSON lines in the project's state directory, readable by its user alone. An action has a line before it begins
and one after it ended, each durable before the next thing happens. If the first cannot be written, the action is not
done.
"""

import errno
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thresher.core import Unavailable
from thresher.pipeline.console.models.service_models import ActionRecord

FILE = "console-actions.jsonl"
TAIL_BYTES = 256 << 10
"""Bytes of the end of the file that a page reads."""
MAX_VALUE = 500
"""Characters of a value that are kept."""


class ActionLog:
    """The log of one project."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE

    def append(self, record: ActionRecord) -> None:
        """Write a line, durably. Raise `Unavailable` if it cannot be written."""
        body = _shortened(record.model_dump())
        line = (json.dumps(body, separators=(",", ":")) + "\n").encode()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                # One write, so lines of two processes do not mix. A full disk may take a part of it.
                written = os.write(file, line)
                if written < len(line):
                    os.write(file, b"\n")  # else the next line would continue this one
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise Unavailable(
                f"{self.path}: {error.strerror}; an action that cannot be logged is not done"
            ) from error

    def newest(self, limit: int = 100) -> list[ActionRecord]:
        """Return the last line of each of the newest actions, the newest first."""
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(size - TAIL_BYTES, 0))
                lines = file.read(TAIL_BYTES).split(b"\n")
        except FileNotFoundError:
            return []
        found: dict[str, ActionRecord] = {}
        for line in lines:
            try:
                record = ActionRecord.model_validate_json(line)
            except ValueError:  # the first line is cut, or a crash cut the last one
                continue
            found.pop(record.id, None)
            found[record.id] = record
        return list(found.values())[: -limit - 1 : -1]


def _shortened(body: Mapping[str, Any]) -> dict[str, Any]:
    short: dict[str, Any] = {}
    for key, value in body.items():
        if isinstance(value, str):
            short[key] = value[:MAX_VALUE]
        elif isinstance(value, Mapping):
            short[key] = _shortened(value)
        else:
            short[key] = value
    return short
