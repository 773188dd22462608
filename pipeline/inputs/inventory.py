"""`Inventory`: the inputs that a source holds, found by digest and by name.

It is a temporary database for the time of a command, because memory must not grow with the number of inputs.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from thresher.storage.archive.open_files import STEP_NAME
from thresher.storage.inputs import shared_archive
from thresher.storage.manifest import JSON, Manifest, manifests
from thresher.storage.store import Store

_TABLE = """
CREATE TABLE known (identity TEXT PRIMARY KEY, name TEXT, stem TEXT, counts TEXT, read_options TEXT) WITHOUT ROWID;
CREATE INDEX names ON known (name);
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryEntry:
    """An input that the source holds, completely or in part."""

    name: str
    """The name under which it was ingested."""
    stem: str = ""
    """The name of its volumes without numbers; empty for a file that was copied or that shares an archive file."""
    counts: Mapping[str, int]
    """Its records by type, and the counts of skipped records."""
    read_options: Mapping[str, JSON] | None = None
    """The reading options, if it shares an archive file."""


class Inventory:
    """The inputs of a source when the command begins, and those that are `put` since. Use it as a context."""

    __slots__ = ("_database",)

    def __init__(self, store: Store, source: str) -> None:
        self._database = sqlite3.connect("")  # a private file that SQLite deletes
        self._database.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {_TABLE}")
        for manifest in manifests(store, STEP_NAME, source):
            if shared_archive.is_shared(manifest):
                self._add_listed(manifest.outputs[0].name, store)
            elif "origin" in manifest.recipe:
                self._add_volume(manifest)
            else:
                self._add_copy(manifest)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def find(self, identity: str) -> InventoryEntry | None:
        """Return the input with that digest."""
        row = self._database.execute(
            "SELECT name, stem, counts, read_options FROM known WHERE identity = ?", (identity,)
        ).fetchone()
        if row is None:
            return None
        name, stem, counts, read_options = row
        return InventoryEntry(
            name=name, stem=stem, counts=json.loads(counts), read_options=json.loads(read_options)
        )

    def has_name(self, name: str) -> bool:
        """Return whether an input has that name."""
        found = self._database.execute("SELECT 1 FROM known WHERE name = ?", (name,)).fetchone()
        return found is not None

    def put(self, identity: str, entry: InventoryEntry) -> None:
        """Add an input, or replace its entry."""
        self._database.execute(
            "INSERT OR REPLACE INTO known VALUES (?, ?, ?, ?, ?)",
            (
                identity,
                entry.name,
                entry.stem,
                json.dumps(dict(entry.counts)),
                json.dumps(entry.read_options),
            ),
        )

    def _add_listed(self, archive: str, store: Store) -> None:
        for one in shared_archive.inputs_of(store, archive):
            self.put(
                one.origin, InventoryEntry(name=one.name, counts=one.counts, read_options=one.reading_options)
            )

    def _add_volume(self, manifest: Manifest) -> None:
        identity, name = str(manifest.recipe["origin"]), str(manifest.recipe["ingested"])
        before = self.find(identity)
        counts = Counter(before.counts if before else {})
        counts.update(manifest.counts)
        stem = manifest.part.partition("/")[2].rpartition("-")[0]
        self.put(identity, InventoryEntry(name=name, stem=stem, counts=counts))

    def _add_copy(self, manifest: Manifest) -> None:
        warc = manifest.outputs[0]
        name = str(manifest.recipe.get("ingested", warc.name))
        self.put(f"sha256:{warc.sha256}", InventoryEntry(name=name, counts=manifest.counts))

    def __repr__(self) -> str:
        (count,) = self._database.execute("SELECT count(*) FROM known").fetchone()
        return f"<{count} known inputs>"
