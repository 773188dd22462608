"""`create`: a project directory with a commented `thresher.toml`."""

from pathlib import Path

from thresher.core import InputError
from thresher.pipeline import configuration
from thresher.pipeline.configuration_template import template


def create(directory: Path, contact: str = "") -> Path:
    """Write `thresher.toml` into a directory, and return the path of the file. Create the directory if needed.

    The file is written completely or not at all. Raise `InputError` if it exists already, or if `contact` is invalid.
    """
    path = directory / configuration.FILE
    if path.exists():
        raise InputError(f"{path}: exists already, and was not changed; edit it, or give another directory")
    text = template(contact)
    configuration.parse(text, directory)
    directory.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{configuration.FILE}.new")
    try:
        new.write_text(text, encoding="utf-8")
        new.rename(path)
    finally:
        new.unlink(missing_ok=True)
    return path
