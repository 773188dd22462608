"""The catalog: what is sealed, in a database that answers quickly. It is only a cache.

Everything in it is copied from the Manifests in storage by `refresh`; a catalog that is missing, damaged or of
another version is begun anew, and deleting it loses nothing. Several processes may use it at once (WAL).
"""

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import JSON, Column, Connection, event, text
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import NullPool
from sqlmodel import Field, Session, SQLModel, col, create_engine, select

from core import CorruptData, InputError, Unavailable
from storage.manifest import Manifest, load
from storage.store import Store

APPLICATION = 0x54485253
"""SQLite's application_id of our catalogs: "THRS"."""
VERSION = 1
"""Raised whenever a table changes."""
BUSY_S = 60
"""How long one process waits for another's refresh."""
DAMAGE = frozenset({11, 26})
"""SQLITE_CORRUPT, SQLITE_NOTADB."""


class Source(SQLModel, table=True):
    """A crawl, or an ingest of archives made elsewhere."""

    name: str = Field(primary_key=True)
    kind: str
    """`crawl` or `ingest`."""


class SealedPart(SQLModel, table=True):
    """One Manifest."""

    manifest: str = Field(primary_key=True)
    """Its name in storage."""
    stamp: str
    """Of the stored object: another one was put anew."""
    step: str = Field(index=True)
    """Name without version."""
    part: str
    source: str = Field(index=True)
    fingerprint: str
    counts: dict[str, int] = Field(sa_column=Column(JSON, nullable=False))
    bytes: int
    """Of all outputs."""
    rows: int
    """Of all outputs."""


class _Damaged(CorruptData):
    """The database file is not one, or not whole."""


class _Stale(Exception):
    """The database is of another version of ours."""


class Catalog:
    """One catalog file. A new one is empty until `refresh`."""

    __slots__ = ("_engine", "path")

    def __init__(self, url: str, project: Path) -> None:
        """Open or begin the catalog that `project.catalog` names; a relative path begins at the project.

        Raises `InputError` for another kind of address, and for a database that is not a catalog.
        """
        self.path = _path(url, project)
        # No pool: a connection never outlives its session, so a file may be replaced between two.
        self._engine = create_engine(
            f"sqlite:///{self.path}", connect_args={"timeout": BUSY_S}, poolclass=NullPool
        )
        event.listen(self._engine, "connect", _connected)
        event.listen(self._engine, "begin", _begun)
        try:
            self._prepare()
        except (_Damaged, _Stale):
            self._begin_anew()

    def refresh(self, store: Store) -> None:
        """Make the catalog agree with the Manifests in storage. Only what is new is read."""
        try:
            self._refresh(store)
        except _Damaged:
            self._begin_anew()
            self._refresh(store)

    def sources(self) -> list[Source]:
        """All crawls and ingests that have sealed something, by name."""
        with self._session() as session:
            return list(session.exec(select(Source).order_by(Source.name)))

    def parts(self, step: str, source: str = "") -> list[SealedPart]:
        """Sealed parts of a step (named without version), of one source or of all, by the names of their Manifests."""
        query = select(SealedPart).where(SealedPart.step == step).order_by(SealedPart.manifest)
        if source:
            query = query.where(SealedPart.source == source)
        with self._session() as session:
            return list(session.exec(query))

    def totals(self, step: str, source: str = "") -> Mapping[str, int]:
        """Counts of all these parts added up."""
        query = select(SealedPart.counts).where(SealedPart.step == step)
        if source:
            query = query.where(SealedPart.source == source)
        sums: Counter[str] = Counter()
        with self._session() as session:
            for counts in session.exec(query):
                sums.update(counts)
        return dict(sums)

    def _refresh(self, store: Store) -> None:
        with self._session() as session:
            known = dict(session.exec(select(SealedPart.manifest, SealedPart.stamp)).all())
            for name in store.list("manifests/"):
                stamp = store.stamp(name)
                if known.pop(name, None) != stamp:
                    manifest = load(store, name)
                    session.merge(_sealed(name, stamp, manifest))
                    if manifest.step.startswith("archive@"):
                        kind = "ingest" if "ingested" in manifest.recipe else "crawl"
                        session.merge(Source(name=manifest.part.partition("/")[0], kind=kind))
            for name in known:
                session.delete(session.get_one(SealedPart, name))
            session.flush()
            archived = select(SealedPart.source).where(SealedPart.step == "archive")
            for source in session.exec(select(Source).where(col(Source.name).not_in(archived))).all():
                session.delete(source)
            session.commit()

    def _prepare(self) -> None:
        """Make a new file a catalog; find out whether an old one is."""
        with self._session() as session:
            connection = session.connection()

            def one(statement: str) -> Any:
                return connection.execute(text(statement)).scalars().first()

            if one("PRAGMA quick_check") != "ok":
                raise _Damaged(f"the catalog {self.path} is damaged")
            owner = one("PRAGMA application_id")
            if owner == APPLICATION:
                if one("PRAGMA user_version") != VERSION:
                    raise _Stale
                return
            if owner or one("SELECT count(*) FROM sqlite_master"):
                raise InputError(
                    f"{self.path} is a database of another program; let project.catalog name another file"
                )
            SQLModel.metadata.create_all(connection)
            connection.execute(text(f"PRAGMA application_id = {APPLICATION}"))
            connection.execute(text(f"PRAGMA user_version = {VERSION}"))
            session.commit()

    def _begin_anew(self) -> None:
        """Put the old file aside, under its name and `.old`, and begin an empty one."""
        for suffix in ("-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        self.path.replace(self.path.with_name(self.path.name + ".old"))
        self._prepare()

    @contextmanager
    def _session(self) -> Iterator[Session]:
        try:
            with Session(self._engine, expire_on_commit=False) as session:
                yield session
        except DatabaseError as error:
            if (getattr(error.orig, "sqlite_errorcode", 0) & 0xFF) in DAMAGE:
                raise _Damaged(f"the catalog {self.path} is damaged; run the command again") from error
            raise Unavailable(f"the catalog {self.path} cannot be used: {error.orig}") from error

    def __repr__(self) -> str:
        return f"<catalog {self.path}>"


def _path(url: str, project: Path) -> Path:
    scheme, _, rest = url.partition(":")
    if scheme != "sqlite" or not rest.strip("/"):
        raise InputError(f'project.catalog = "{_safe(url)}" is not supported yet: use "sqlite:catalog.db"')
    # SQLAlchemy's way to write it has three slashes before a relative path and four before an absolute one.
    path = project / (rest.removeprefix("///") if rest.startswith("///") else rest)
    if not path.parent.is_dir() or path.is_dir():
        raise InputError(
            f'project.catalog = "{url}": {path} cannot be a file; name one in a directory that exists'
        )
    return path


def _safe(url: str) -> str:
    """The address without the password that it may hold."""
    return re.sub(r"//[^@/]*@", "//...@", url)


def _sealed(name: str, stamp: str, manifest: Manifest) -> SealedPart:
    return SealedPart(
        manifest=name,
        stamp=stamp,
        step=manifest.step.partition("@")[0],
        part=manifest.part,
        source=manifest.part.partition("/")[0],
        fingerprint=manifest.fingerprint,
        counts=dict(manifest.counts),
        bytes=sum(output.bytes for output in manifest.outputs),
        rows=sum(output.rows for output in manifest.outputs),
    )


def _connected(connection: sqlite3.Connection, _record: object) -> None:
    # We say ourselves where transactions begin.
    connection.isolation_level = None
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")


def _begun(connection: Connection) -> None:
    # At once for writing: two refreshes follow one another, neither fails half way.
    connection.exec_driver_sql("BEGIN IMMEDIATE")
