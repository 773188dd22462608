"""Write a trained model and the file that describes it."""

import os
from pathlib import Path
from typing import BinaryIO

from thresher.core import InputError
from thresher.storage.file_lock import locked

MAX_WAIT_S = 600.0
"""Seconds that a command waits for another one that writes the same model: time for some GB on a slow disk."""


def write_model(path: Path, data: bytes, description: bytes) -> None:
    """Put a model in the place of `path`, and its description in that of the same name with `.json`.

    Each file appears whole or not at all, also if the process is killed. Of two commands that write the same model, one
    waits for the other, so both files are of one of them. Raise `InputError` if they cannot be written, or if the other
    command takes longer than `MAX_WAIT_S`; no partial file is left then, and the earlier model stays. If only the last
    step fails, or the process is killed before it, the digest in the description is not that of the model.
    """
    partial, described = path.with_name(f".{path.name}.partial"), path.with_name(f"{path.name}.json")
    described_partial = path.with_name(f".{described.name}.partial")
    try:
        with locked(partial, MAX_WAIT_S) as descriptor:
            try:
                os.ftruncate(descriptor, 0)  # what a killed command left
                with os.fdopen(os.dup(descriptor), "wb") as file:
                    _fill(file, data)
                with described_partial.open("wb") as file:
                    _fill(file, description)
                described_partial.replace(described)
                partial.replace(path)
            except OSError:
                described_partial.unlink(missing_ok=True)
                partial.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise InputError(
            f"--out {path}: cannot be written ({error.strerror or error}); make room, or name another file"
        ) from None


def _fill(file: BinaryIO, data: bytes) -> None:
    """Write bytes, and bring them to the disk."""
    file.write(data)
    file.flush()
    os.fsync(file.fileno())
