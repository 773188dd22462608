"""`create`: a project directory with a commented `thresher.toml`."""

import json
from pathlib import Path

from core import InputError
from pipeline import configuration

NO_CONTACT = 'contact = ""'


def create(directory: Path, contact: str = "") -> Path:
    """Write `thresher.toml` into a directory, which is made if it does not exist, and return the file's path.

    The file is there whole or not at all. Raise `InputError` if there is one already, or if `contact` cannot be one.
    """
    path = directory / configuration.FILE
    if path.exists():
        raise InputError(f"{path}: exists already, and was left as it is; edit it, or give another directory")
    # What JSON escapes TOML's basic strings escape alike.
    text = configuration.TEMPLATE.replace(NO_CONTACT, f"contact = {json.dumps(contact)}", 1)
    configuration.parse(text, directory)
    directory.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{configuration.FILE}.new")
    try:
        new.write_text(text, encoding="utf-8")
        new.rename(path)
    finally:
        new.unlink(missing_ok=True)
    return path
