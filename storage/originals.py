"""Originals: the records that revisit records refer to, found through the indexes of sealed files."""

from collections.abc import Collection, Iterable, Iterator

from storage import cdxj
from storage.compression import stem
from storage.records import ArchivedRecord, read
from storage.revisit import Revisit
from storage.store import Store
from storage.unfinished import INDEX_SUFFIX


def originals(store: Store, names: Iterable[str], wanted: Collection[Revisit]) -> dict[str, ArchivedRecord]:
    """The records that are referred to, by their ids, as far as they are in the archive files of these names.

    The files are looked through in the order given, until all are found.
    """
    missing = {revisit.refers_to for revisit in wanted if revisit.refers_to}
    keys = {_key(revisit) for revisit in wanted}
    found: dict[str, ArchivedRecord] = {}
    for name in names:
        if not missing:
            break
        for record in _at(store, name, keys):
            if record.record_id in missing:
                found[record.record_id] = record
                missing.discard(record.record_id)
    return found


def _at(store: Store, name: str, keys: set[tuple[str, str]]) -> Iterator[ArchivedRecord]:
    index = f"{stem(name)}{INDEX_SUFFIX}"
    if not store.exists(index):  # it is just being sealed
        return
    with store.open(index) as file:
        offsets = [row.offset for row in cdxj.read(file, name=index) if (row.surt, row.timestamp) in keys]
    if offsets:
        with store.open(name) as file:
            for offset in offsets:
                yield from read(file, offset, offset + 1, name=name)


def _key(revisit: Revisit) -> tuple[str, str]:
    return cdxj.surt(revisit.uri), cdxj.timestamp(revisit.date_ms)
