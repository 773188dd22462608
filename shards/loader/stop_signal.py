"""SIGTERM as a request to stop after the step in work, with the position saved."""

import json
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from thresher.core import InputError, Unavailable


class StopSignal:
    """Notes a SIGTERM, and saves the state of a loader in a file."""

    def __init__(self, path: str | Path) -> None:
        """Handle SIGTERM from now on. Raise `InputError` if the file cannot be written, or outside the main thread."""
        self.is_set = False
        self._path = _writable(path)
        try:
            signal.signal(signal.SIGTERM, self._note)
        except ValueError:
            raise InputError(
                "stop_on_sigterm: only the main thread may handle signals; call it there"
            ) from None

    def save(self, state: Mapping[str, Any]) -> None:
        """Replace the file by a state. Raise `Unavailable`, whose text has the state, if that is not possible."""
        text = json.dumps(state)
        try:
            new = _beside(self._path)
            with new.open("w") as file:
                file.write(text + "\n")
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._path)
        except OSError as error:
            raise Unavailable(
                f"{self._path} cannot be written: {error.strerror or error}; save this state yourself: {text}"
            ) from None

    def _note(self, _signal: int, _frame: FrameType | None) -> None:
        self.is_set = True


def _writable(path: object) -> Path:
    """Return the absolute path of a file that can be written. Raise `InputError` if it cannot."""
    if not isinstance(path, str | Path) or not str(path):
        raise InputError(f"stop_on_sigterm({path!r}): give the path of a file for the state")
    try:
        found = Path(path).absolute()
        if found.is_dir():
            raise InputError(
                f"stop_on_sigterm({str(path)!r}): is a directory; give the path of a file for the state"
            )
        new = _beside(found)
        new.touch()
        new.unlink()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"stop_on_sigterm({str(path)!r}): no state can be written there: {reason}; give a path in a directory that "
            "exists and is writable"
        ) from None
    return found


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.new")
