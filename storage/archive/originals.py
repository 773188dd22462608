"""Originals: the records that revisit records refer to, found through the indexes of sealed files."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from thresher.storage.archive.open_files import INDEX_SUFFIX
from thresher.storage.store import Store
from thresher.storage.warc import cdxj
from thresher.storage.warc.compression import stem
from thresher.storage.warc.records import ArchivedRecord, read_records
from thresher.storage.warc.revisit import REVISIT, Revisit


def find_originals(
    store: Store, names: Iterable[str], wanted: Collection[Revisit]
) -> dict[Revisit, ArchivedRecord]:
    """Return the records that the revisits refer to, as far as they are in the archive files of these names. Their
    payloads are left out, because many long ones do not fit into memory: `storage.warc.records.record_at` reads one
    with its payload.

    A revisit that names a record id refers to the record of that id. A revisit that names a URL and a time, as in
    archives that others made, refers to a record with the same payload digest; without a digest, to a record of exactly
    that URL. The files are searched in the given order until all records are found.
    """
    missing: dict[tuple[str, str], set[Revisit]] = {}
    for revisit in wanted:
        missing.setdefault(_key(revisit.uri, revisit.date_ms), set()).add(revisit)
    found: dict[Revisit, ArchivedRecord] = {}
    for name in names:
        if not missing:
            break
        for record in _records_with_keys(store, name, set(missing)):
            key = _key(record.url, record.date_ms)
            revisits = {revisit for revisit in missing.get(key, set()) if _is_original(revisit, record)}
            found |= dict.fromkeys(revisits, replace(record, payload=b""))
            if revisits:
                rest = missing.pop(key) - revisits
                missing |= {key: rest} if rest else {}
    return found


def _is_original(revisit: Revisit, record: ArchivedRecord) -> bool:
    if revisit.refers_to:
        return record.record_id == revisit.refers_to
    if revisit.digest:
        return record.type != REVISIT and record.ref.digest == revisit.digest
    return record.type != REVISIT and record.url == revisit.uri


def _records_with_keys(
    store: Store, name: str, keys: Collection[tuple[str, str]]
) -> Iterator[ArchivedRecord]:
    index = f"{stem(name)}{INDEX_SUFFIX}"
    if not store.exists(index):  # the file is being sealed just now
        return
    with store.open(index) as file:
        offsets = [row.offset for row in cdxj.read(file, name=index) if (row.surt, row.timestamp) in keys]
    if offsets:
        with store.open(name) as file:
            for offset in offsets:
                yield from read_records(file, offset, offset + 1, name=name)


def _key(uri: str, date_ms: int) -> tuple[str, str]:
    return cdxj.surt_key(uri), cdxj.timestamp(date_ms)
