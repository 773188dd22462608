"""`Catalog`: the catalog of one project, and the only interface of the package."""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from sqlmodel import Session, col, select

from thresher.core import CorruptData, InputError
from thresher.storage.catalog.catalog_tables import ArchiveFile, Cost, Mirrored, Run, SealedPart, Source
from thresher.storage.catalog.database import DamagedCatalog
from thresher.storage.catalog.database_url import locate
from thresher.storage.catalog.refresh import CatalogContents, count_contents, delete_all_rows, faults, refresh
from thresher.storage.catalog.schema import prepare, recreate
from thresher.storage.store import Store

Result = TypeVar("Result")
ROWS_PER_FETCH = 1000
"""Rows that a query holds in memory at a time."""


class Catalog:
    """One catalog. A new one is empty until `refresh`.

    Every method raises `Unavailable` if the database does not answer, and `CorruptData` if it is damaged; the next
    refresh repairs that.
    """

    __slots__ = ("_database",)

    def __init__(self, url: str, project: Path) -> None:
        """Open, migrate or create the catalog that `project.catalog` names; a relative file path starts at the project.

        Raise `InputError` for another kind of address, for a database that is no catalog, and for a catalog of a newer
        Thresher.
        """
        self._database = locate(url, project)
        prepare(self._database)

    def refresh(self, store: Store) -> None:
        """Make the catalog agree with the Manifests and runs in storage. Read only what is new.

        Raise `CorruptData` if a Manifest is damaged, once the catalog has everything else, and `InputError` if a shared
        database holds the catalog of another storage.
        """
        if damage := self._repairing(lambda: self._refresh(store)):
            more = f" (and {len(damage) - 1} more Manifests are damaged)" if len(damage) > 1 else ""
            raise CorruptData(f"{damage[0]}{more}")

    def rebuild(self, store: Store) -> CatalogContents:
        """Make the catalog again from storage alone, and return how much it holds. Readers see the old one until the
        new one is complete. Raise `CorruptData` if a Manifest is damaged; the old one stays then.
        """
        return self._repairing(lambda: self._rebuild(store))

    def faults(self, store: Store) -> list[str]:
        """Return the names of stored objects that differ from their rows in the catalog, which must be refreshed
        before. A database notices damage to its own structure; only this comparison notices a changed number.
        """
        with self._database.reading() as session:
            return list(faults(session, store))

    def sources(self) -> list[Source]:
        """Return all crawls and ingests that have sealed something, by name."""
        with self._database.reading() as session:
            return list(session.exec(select(Source).order_by(col(Source.name))))

    def files(self, source: str = "") -> list[ArchiveFile]:
        """Return the sealed WARC files of one source or of all, by the names of their Manifests."""
        query = select(ArchiveFile).order_by(col(ArchiveFile.manifest), col(ArchiveFile.name))
        if source:
            query = query.where(ArchiveFile.source == source)
        with self._database.reading() as session:
            return list(session.exec(query))

    def parts(self, step: str, source: str = "") -> list[SealedPart]:
        """Return the sealed parts of a step (named without version), of one source or of all, by the names of their
        Manifests.
        """
        query = select(SealedPart).where(SealedPart.step == step).order_by(col(SealedPart.manifest))
        if source:
            query = query.where(SealedPart.source == source)
        with self._database.reading() as session:
            return list(session.exec(query))

    def totals(self, step: str, source: str = "") -> Mapping[str, int]:
        """Return the sums of the counts of these parts."""
        query = select(SealedPart.counts).where(SealedPart.step == step)
        if source:
            query = query.where(SealedPart.source == source)
        sums: Counter[str] = Counter()
        with self._database.reading() as session:
            for counts in session.exec(query.execution_options(yield_per=ROWS_PER_FETCH)):
                sums.update(counts)
        return dict(sums)

    def runs(self, step: str = "") -> list[tuple[Run, Cost]]:
        """Return the runs of a step or of all, with their costs, in the order in which they started."""
        query = select(Run, Cost).where(Cost.run == Run.name).order_by(col(Run.started_ms), col(Run.name))
        if step:
            query = query.where(Run.step == step)
        with self._database.reading() as session:
            return [(run, cost) for run, cost in session.exec(query)]

    def query(self, question: Callable[..., Result], *parameters: Any) -> Result:
        """Return the answer to a question of `storage.catalog.sums`."""
        with self._database.reading() as session:
            return question(session, *parameters)

    def contents(self) -> CatalogContents:
        """Return how much the catalog holds."""
        with self._database.reading() as session:
            return count_contents(session)

    def _repairing(self, work: Callable[[], Result]) -> Result:
        """Return the result of the work. If the work meets damage, repair the catalog and do the work again."""
        try:
            return work()
        except DamagedCatalog:
            prepare(self._database)
        try:
            return work()
        except DamagedCatalog:  # the tables have the right names, but wrong columns or rows
            recreate(self._database)
        return work()

    def _refresh(self, store: Store) -> list[CorruptData]:
        with self._database.writing() as session:
            if self._database.shared:
                self._check_storage(session, store)
            return refresh(session, store)

    def _rebuild(self, store: Store) -> CatalogContents:
        with self._database.writing() as session:
            delete_all_rows(session)
            if damage := refresh(session, store):
                raise damage[0]
            return count_contents(session)

    def _check_storage(self, session: Session, store: Store) -> None:
        """Raise `InputError` if the database mirrors another storage: the two would take turns in forgetting each
        other.
        """
        other = session.exec(select(Mirrored.storage).where(Mirrored.storage != store.uri)).first()
        if other is not None:
            raise InputError(
                f"{self._database} holds the catalog of {other}, not of {store.uri}: let project.catalog name "
                "another database, or take this one over with `thresher catalog rebuild`"
            )

    def __repr__(self) -> str:
        return f"<catalog {self._database}>"
