"""The blocklist of addresses. It is put into the storage once, under its digest, and every worker reads it there."""

import hashlib
from functools import lru_cache
from pathlib import Path

from thresher.core import CorruptData, InputError
from thresher.filters.url_blocklist import UrlBlocklist, parse_blocklist
from thresher.pipeline.engine.part_store import PartStore
from thresher.storage.store import Store

KEY = "filters.blocklist"


def put_blocklist(store: Store, directory: Path, written: str) -> str:
    """Put the blocklist file into the storage, and return its name there; return "" if `written` is empty.

    `written` is the path in the configuration, relative to `directory`. Raise `InputError` if the file is not a list.
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
        raise InputError(f"{KEY} = {written!r}: {error}; give one domain or address per line") from None
    name = _name(data)
    if not store.put(name, data) and not _is_intact(name, store.read(name)):
        store.delete(name)
        store.put(name, data)
    return name


@lru_cache(maxsize=1)
def load_blocklist(store: PartStore, name: str) -> UrlBlocklist:
    """Return the list of that name. Raise `CorruptData` if its bytes have another digest than the name."""
    data = store.read(name)
    if not _is_intact(name, data):
        raise CorruptData(f"{name} is damaged; run `thresher process` again, which puts it again")
    return parse_blocklist(data.decode().splitlines())


def _is_intact(name: str, data: bytes) -> bool:
    return name == _name(data)


def _name(data: bytes) -> str:
    return f"lists/{hashlib.sha256(data).hexdigest()}.txt"
