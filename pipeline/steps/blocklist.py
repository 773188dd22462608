"""The list of addresses that are not wanted: put into the storage once, under its digest, and read there by every worker."""

import hashlib
from functools import lru_cache
from pathlib import Path

from core import CorruptData, InputError
from filters.url_blocklist import UrlBlocklist, parse_blocklist
from pipeline.engine.part_store import PartStore
from storage.store import Store

KEY = "filters.blocklist"


def put_blocklist(store: Store, directory: Path, written: str) -> str:
    """Name, in the storage, of the list in a file that is `written` in the configuration of a directory; empty where none is.

    Raises `InputError` for a file that is no list.
    """
    if not written:
        return ""
    path = directory / written
    try:
        data = path.read_bytes()
        parse_blocklist(data.decode().splitlines())
    except OSError as error:
        raise InputError(
            f"{KEY} = {written!r}: cannot be read ({error.strerror}); name a file of domains"
        ) from None
    except ValueError as error:
        raise InputError(f"{KEY} = {written!r}: {error}; give a domain or an address a line") from None
    name = _name(data)
    if not store.put(name, data) and not _is_intact(name, store.read(name)):
        store.delete(name)
        store.put(name, data)
    return name


@lru_cache(maxsize=1)
def load_blocklist(store: PartStore, name: str) -> UrlBlocklist:
    """The list of that name, which says what is in it. Raises `CorruptData` where the list is not as it was put."""
    data = store.read(name)
    if not _is_intact(name, data):
        raise CorruptData(f"{name} is not as it was put; run `thresher process` again, which puts it anew")
    return parse_blocklist(data.decode().splitlines())


def _is_intact(name: str, data: bytes) -> bool:
    return name == _name(data)


def _name(data: bytes) -> str:
    return f"lists/{hashlib.sha256(data).hexdigest()}.txt"
