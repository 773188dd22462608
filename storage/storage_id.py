"""The identity of a storage: an id that is put into its root once and travels with its objects.

A crawl's frontier remembers the id. It can then tell its storage from every other, even if another storage has the same
address by now, or this one has a new address.
"""

import json
from hashlib import sha256
from uuid import uuid4

from thresher.core import CorruptData
from thresher.storage.store import Store

NAME = "storage.json"
FORMAT = "thresher-storage@2"


def read_storage_id(store: Store) -> str | None:
    """Return the storage's id; None if it has none yet. Raise `CorruptData` if it cannot be read."""
    if not store.exists(NAME):
        return None
    try:
        body = json.loads(store.read(NAME))
        form, found, check = body["format"], str(body["id"]), body["check"]
    except (ValueError, KeyError, TypeError):
        form = found = check = ""
    if form != FORMAT or check != _check(found):
        raise CorruptData(
            f"{NAME} of the storage at {store.uri} is not the id of a storage in the format {FORMAT}; copy it back,"
            " or delete it and make the frontier of each crawl anew (`thresher frontier rebuild NAME --anew`)"
        )
    return found


def ensure_storage_id(store: Store) -> str:
    """Return the storage's id. Put a new one if it has none."""
    found = read_storage_id(store)
    if found is None:
        name = uuid4().hex
        body = {"format": FORMAT, "id": name, "check": _check(name)}
        store.put(NAME, (json.dumps(body, sort_keys=True) + "\n").encode())
        found = read_storage_id(store)  # that of another, if that came first
        if found is None:
            raise CorruptData(f"{NAME} is missing from the storage at {store.uri}, right after it was put")
    return found


def _check(found: str) -> str:
    """Return a checksum of an id, so that an id with a wrong digit is not taken for that of another storage."""
    return sha256(found.encode()).hexdigest()[:8]
