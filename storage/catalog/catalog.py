"""`Catalog`: the face of the package."""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from sqlmodel import Session, col, select

from core import InputError
from storage.catalog.catalog_tables import ArchiveFile, Cost, Mirrored, Run, SealedPart, Source
from storage.catalog.database import DamagedCatalog
from storage.catalog.database_url import locate
from storage.catalog.refresh import CatalogContents, count_contents, delete_all_rows, faults, refresh
from storage.catalog.schema import prepare, recreate
from storage.store import Store

Result = TypeVar("Result")
ROWS_PER_FETCH = 1000
"""Rows that a question has in memory at a time."""


class Catalog:
    """One catalog. A new one is empty until `refresh`.

    Every method raises `Unavailable` where the database does not answer, and `CorruptData` where it is damaged;
    the next refresh repairs that.
    """

    __slots__ = ("_database",)

    def __init__(self, url: str, project: Path) -> None:
        """Open, migrate or begin the catalog that `project.catalog` names; a relative file begins at the project.

        Raise `InputError` for another kind of address, for a database that is not a catalog, and for a catalog
        of a newer Thresher.
        """
        self._database = locate(url, project)
        prepare(self._database)

    def refresh(self, store: Store) -> None:
        """Make the catalog agree with the Manifests and runs in storage. Only what is new is read.

        Raise `CorruptData` for a damaged Manifest, and `InputError` where a shared database holds the catalog of
        another storage.
        """
        self._mending(lambda: self._refresh(store))

    def rebuild(self, store: Store) -> CatalogContents:
        """Make the catalog again from storage alone. Readers see the old one until the new one is whole."""
        return self._mending(lambda: self._rebuild(store))

    def faults(self, store: Store) -> list[str]:
        """Names of stored objects that the catalog, refreshed before, tells of otherwise than they are. A database notices
        damage to its own structure; a number that has changed in it only this comparison does.
        """
        with self._database.reading() as session:
            return list(faults(session, store))

    def sources(self) -> list[Source]:
        """All crawls and ingests that have sealed something, by name."""
        with self._database.reading() as session:
            return list(session.exec(select(Source).order_by(col(Source.name))))

    def files(self, source: str = "") -> list[ArchiveFile]:
        """Sealed WARC files of one source or of all, by the names of their Manifests."""
        query = select(ArchiveFile).order_by(col(ArchiveFile.manifest), col(ArchiveFile.name))
        if source:
            query = query.where(ArchiveFile.source == source)
        with self._database.reading() as session:
            return list(session.exec(query))

    def parts(self, step: str, source: str = "") -> list[SealedPart]:
        """Sealed parts of a step (named without version), of one source or of all, by the names of their Manifests."""
        query = select(SealedPart).where(SealedPart.step == step).order_by(col(SealedPart.manifest))
        if source:
            query = query.where(SealedPart.source == source)
        with self._database.reading() as session:
            return list(session.exec(query))

    def totals(self, step: str, source: str = "") -> Mapping[str, int]:
        """Counts of all these parts added up."""
        query = select(SealedPart.counts).where(SealedPart.step == step)
        if source:
            query = query.where(SealedPart.source == source)
        sums: Counter[str] = Counter()
        with self._database.reading() as session:
            for counts in session.exec(query.execution_options(yield_per=ROWS_PER_FETCH)):
                sums.update(counts)
        return dict(sums)

    def runs(self, step: str = "") -> list[tuple[Run, Cost]]:
        """Runs of a step or of all, and what they cost, in the order in which they began."""
        query = select(Run, Cost).where(Cost.run == Run.name).order_by(col(Run.started_ms), col(Run.name))
        if step:
            query = query.where(Run.step == step)
        with self._database.reading() as session:
            return [(run, cost) for run, cost in session.exec(query)]

    def contents(self) -> CatalogContents:
        """How much it knows."""
        with self._database.reading() as session:
            return count_contents(session)

    def _mending(self, work: Callable[[], Result]) -> Result:
        """What the work gives, done again where it came upon damage."""
        try:
            return work()
        except DamagedCatalog:
            prepare(self._database)
        try:
            return work()
        except DamagedCatalog:  # the tables are of the right names, but not what they should be
            recreate(self._database)
        return work()

    def _refresh(self, store: Store) -> None:
        with self._database.writing() as session:
            if self._database.shared:
                self._check_storage(session, store)
            refresh(session, store)

    def _rebuild(self, store: Store) -> CatalogContents:
        with self._database.writing() as session:
            delete_all_rows(session)
            refresh(session, store)
            return count_contents(session)

    def _check_storage(self, session: Session, store: Store) -> None:
        """Two storages would take turns in forgetting each other."""
        other = session.exec(select(Mirrored.storage).where(Mirrored.storage != store.uri)).first()
        if other is not None:
            raise InputError(
                f"{self._database} holds the catalog of {other}, not of {store.uri}: let project.catalog name "
                "another database, or take this one over with `thresher catalog rebuild`"
            )

    def __repr__(self) -> str:
        return f"<catalog {self._database}>"
