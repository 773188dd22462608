"""Opens the storage that an address names."""

from pathlib import Path

from thresher.core import InputError
from thresher.core.printable_address import printable_address
from thresher.storage.cache.block_cache import Cache
from thresher.storage.in_place.project_directory import ProjectDirectory
from thresher.storage.store import Store

SCHEMES = ("file", "s3")


def open_store(uri: str, base: Path, *, key: str = "project.storage", cache: Cache | None = None) -> Store:
    """Return the store at `file:DIRECTORY`, relative to `base` unless absolute, or at `s3://BUCKET/PREFIX`.

    Reads from a bucket go through `cache`, if there is one. Raise `InputError` for every other kind of address; the
    error names `key`, the configuration key that held the address.
    """
    scheme, colon, rest = uri.partition(":")
    if colon and scheme == "s3":
        # The client takes most of a second to import.
        from thresher.storage.in_place.project_bucket import ProjectBucket  # noqa: PLC0415

        return ProjectBucket.at(uri, key=key, cache=cache)
    if not colon or scheme != "file":
        raise InputError(
            f'{key} = "{printable_address(uri)}" is no address: use "file:DIRECTORY" or "s3://BUCKET/PREFIX"'
        )
    if rest.startswith("//") and not rest.startswith("///"):
        raise InputError(
            f'{key} = "{printable_address(uri)}" names a host: write "file:DIRECTORY" or "file:///DIRECTORY"'
        )
    if not rest.strip("/"):
        raise InputError(f'{key} = "{printable_address(uri)}" names no directory: write "file:data"')
    return ProjectDirectory(base / (rest.removeprefix("//") if rest.startswith("///") else rest), setting=key)
