"""The storage that an address names."""

from pathlib import Path

from core import InputError
from storage.files import Files
from storage.store import Store


def store(uri: str, base: Path, *, key: str = "project.storage") -> Store:
    """The store at `file:DIRECTORY`, relative to `base` unless absolute.

    Raises `InputError` for every other kind of address, naming `key` as where it stood.
    """
    scheme, colon, rest = uri.partition(":")
    if not colon or scheme != "file":
        raise InputError(f'{key} = "{uri}" is not supported yet: use "file:DIRECTORY"')
    if rest.startswith("//") and not rest.startswith("///"):
        raise InputError(f'{key} = "{uri}" names a host: write "file:DIRECTORY" or "file:///DIRECTORY"')
    if not rest.strip("/"):
        raise InputError(f'{key} = "{uri}" names no directory: write "file:data"')
    return Files(base / (rest.removeprefix("//") if rest.startswith("///") else rest))
