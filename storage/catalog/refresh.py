"""Makes the catalog's rows agree with the storage, within one transaction.

Names come sorted from storage and from the tables, and are compared as two streams. What is new is copied, what is gone
is deleted, and what was put again is deleted and copied, one batch at a time. Memory never holds a list of all names.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlalchemy import case, delete, func, insert, select
from sqlmodel import Session, SQLModel, col

from thresher.core import CorruptData
from thresher.storage.catalog.catalog_tables import (
    TABLES,
    ArchiveFile,
    Cost,
    Mirrored,
    Run,
    SealedPart,
    Source,
)
from thresher.storage.catalog.rows import manifest_rows, run_rows
from thresher.storage.store import Store

BATCH = 500
"""Names whose rows are deleted with one statement a table."""
SUMMED = ["name", "kind", "files", "bytes", "records", "responses"]
"""Columns of a source."""
PAGE = 1000
"""Names that are read from a table at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogContents:
    """How many of each the catalog holds."""

    manifests: int
    runs: int
    files: int
    sources: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Copied:
    """One kind of stored object and the rows that it becomes."""

    prefix: str
    name: Any
    """Column with its name in storage; `stamp` is the column with its stamp."""
    stamp: Any
    owned: tuple[Any, ...]
    """Column with its name, in every table that has rows of it."""
    rows: Callable[[Store, str, str], list[SQLModel]]
    """Returns the rows for a storage, a name and a stamp."""


def refresh(session: Session, store: Store) -> list[CorruptData]:
    """Copy what is new in the storage, and delete the rows of what is gone. Return an error for each damaged Manifest:
    it has no rows.
    """
    if session.execute(select(col(Mirrored.storage))).scalar() != store.uri:
        delete_all_rows(session)
        session.add(Mirrored(storage=store.uri))
    damage: list[CorruptData] = []
    if _agree(session, store, _MANIFESTS, damage):
        _add_up_sources(session)
    _agree(session, store, _RUNS, damage)
    return damage


def delete_all_rows(session: Session) -> None:
    """Empty every table."""
    for table in TABLES:
        session.execute(delete(table))


def faults(session: Session, store: Store) -> Iterator[str]:
    """Yield the names of stored objects that differ from their rows, and of sources whose sums are wrong.

    The names in the tables must agree with those in the storage (`refresh`). One object is read at a time.
    """
    for copied in (_MANIFESTS, _RUNS):
        for name, stamp in _known(session, copied):
            copies: list[SQLModel] = []
            for column in copied.owned:
                copies.extend(session.scalars(select(column.class_).where(column == name)))
            if _comparable(copies) != _comparable(_rows(store, copied, name, stamp)):
                yield name
            session.expunge_all()
    sums = {tuple(row) for row in session.execute(_sums())}
    for row in session.execute(select(*(getattr(Source, name) for name in SUMMED))):
        if tuple(row) not in sums:
            yield f"manifests/archive/{row[0]}/"


def _comparable(rows: list[SQLModel]) -> list[tuple[str, str]]:
    """Return the rows as texts. A database returns 0.0 for 0."""
    fields = ({name: _whole(value) for name, value in row.model_dump().items()} for row in rows)
    return sorted(
        (type(row).__name__, str(sorted(each.items()))) for row, each in zip(rows, fields, strict=True)
    )


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def count_contents(session: Session) -> CatalogContents:
    """Count the rows of each kind."""

    def count(table: type[SQLModel]) -> int:
        return int(session.execute(select(func.count()).select_from(table)).scalar_one())

    return CatalogContents(
        manifests=count(SealedPart), runs=count(Run), files=count(ArchiveFile), sources=count(Source)
    )


def differences(
    stored: Iterator[tuple[str, str]], known: Iterator[tuple[str, str]]
) -> Iterator[tuple[str, str | None]]:
    """Yield each name that is unknown or known with another stamp, with its stamp, and each known name that is gone,
    with None.

    Both streams are names with their stamps, sorted, each once. The result is sorted too.
    """
    old = next(known, None)
    for name, stamp in stored:
        while old is not None and old[0] < name:
            yield old[0], None
            old = next(known, None)
        if old is None or old[0] != name:
            yield name, stamp
            continue
        if old[1] != stamp:
            yield name, stamp
        old = next(known, None)
    while old is not None:
        yield old[0], None
        old = next(known, None)


def _agree(session: Session, store: Store, copied: _Copied, damage: list[CorruptData]) -> bool:
    """Make the rows of one kind agree with the storage. Return whether anything had to change. Errors of damaged
    objects are added to `damage`.
    """
    found = differences(store.list_stamps(copied.prefix), _known(session, copied))
    changed = False
    while batch := list(islice(found, BATCH)):
        changed = True
        for column in copied.owned:
            session.execute(delete(column.class_).where(column.in_([name for name, _ in batch])))
        for name, stamp in batch:
            if stamp is None:
                continue
            try:
                session.add_all(_rows(store, copied, name, stamp))
            except CorruptData as error:
                damage.append(error)
        session.flush()
        session.expunge_all()
    return changed


def _known(session: Session, copied: _Copied) -> Iterator[tuple[str, str]]:
    # Page by page, each starting behind the last name: rows written meanwhile lie before it.
    after = ""
    while True:
        page = session.execute(
            select(copied.name, copied.stamp).where(copied.name > after).order_by(copied.name).limit(PAGE)
        ).all()
        yield from ((name, stamp) for name, stamp in page)
        if len(page) < PAGE:
            return
        after = page[-1][0]


def _rows(store: Store, copied: _Copied, name: str, stamp: str) -> list[SQLModel]:
    try:
        return copied.rows(store, name, stamp)
    except CorruptData:
        if store.exists(name):
            raise
        return []  # deleted since it was listed


def _add_up_sources(session: Session) -> None:
    session.execute(delete(Source))
    session.execute(insert(Source).from_select(SUMMED, _sums()))


def _sums() -> Any:
    kinds = func.min(col(ArchiveFile.kind)), func.max(col(ArchiveFile.kind))
    return select(
        col(ArchiveFile.source),
        case((kinds[0] == kinds[1], kinds[0]), else_="mixed"),
        func.count(),
        func.sum(col(ArchiveFile.bytes)),
        func.sum(col(ArchiveFile.records)),
        func.sum(col(ArchiveFile.responses)),
    ).group_by(col(ArchiveFile.source))


_MANIFESTS = _Copied(
    prefix="manifests/",
    name=col(SealedPart.manifest),
    stamp=col(SealedPart.stamp),
    owned=(col(SealedPart.manifest), col(ArchiveFile.manifest)),
    rows=manifest_rows,
)
_RUNS = _Copied(
    prefix="runs/",
    name=col(Run.name),
    stamp=col(Run.stamp),
    owned=(col(Run.name), col(Cost.run)),
    rows=run_rows,
)
