"""The tables. A change here is a new revision in `storage.migrations`, and nothing else changes them."""

from typing import Any

from sqlalchemy import JSON, BigInteger, Column, Float, Integer, String
from sqlmodel import Field, SQLModel

COUNT: Any = BigInteger().with_variant(Integer(), "sqlite")
"""64 bits on both."""
NAME: Any = String().with_variant(String(collation="C"), "postgresql")
"""Sorted by bytes on both, as storage lists its names."""


class Source(SQLModel, table=True):
    """A crawl, or an ingest of archives made elsewhere: what its archive files add up to."""

    name: str = Field(primary_key=True)
    kind: str
    """`crawl`, `ingest`, or `mixed` where both brought files under the name."""
    files: int
    bytes: int = Field(sa_type=COUNT)
    records: int = Field(sa_type=COUNT)
    responses: int = Field(sa_type=COUNT)


class ArchiveFile(SQLModel, table=True):
    """One sealed WARC file."""

    manifest: str = Field(primary_key=True, sa_type=NAME)
    """The Manifest that seals it."""
    name: str = Field(primary_key=True)
    """In storage."""
    source: str = Field(index=True)
    kind: str
    """`crawl` or `ingest`."""
    bytes: int = Field(sa_type=COUNT)
    records: int = Field(sa_type=COUNT)
    responses: int = Field(sa_type=COUNT)
    sha256: str


class SealedPart(SQLModel, table=True):
    """One Manifest."""

    manifest: str = Field(primary_key=True, sa_type=NAME)
    """Its name in storage."""
    stamp: str
    """Of the stored object: another one was put anew."""
    step: str = Field(index=True)
    """Name without version."""
    version: int
    """Of the step; 0 if the Manifest says none."""
    part: str
    source: str = Field(index=True)
    fingerprint: str
    counts: dict[str, int] = Field(sa_column=Column(JSON, nullable=False))
    bytes: int = Field(sa_type=COUNT)
    """Of all outputs."""
    rows: int = Field(sa_type=COUNT)
    """Of all outputs."""


class Run(SQLModel, table=True):
    """One run of a step, by `storage.run`, which says what the columns mean."""

    name: str = Field(primary_key=True, sa_type=NAME)
    """In storage."""
    stamp: str
    """Of the stored object."""
    id: str
    step: str = Field(index=True)
    version: int = Field(sa_type=COUNT)
    started_ms: int = Field(sa_type=COUNT, index=True)
    ended_ms: int = Field(sa_type=COUNT)
    host: str
    engine: str
    sources: list[str] = Field(sa_column=Column(JSON, nullable=False))
    outcome: str
    message: str


class Cost(SQLModel, table=True):
    """What a run took and made."""

    run: str = Field(primary_key=True, sa_type=NAME)
    """`name` of the run."""
    cpu_s: float = Field(sa_type=Float)
    wall_s: float = Field(sa_type=Float)
    worker_s: float = Field(sa_type=Float)
    bytes_read: int = Field(sa_type=COUNT)
    bytes_written: int = Field(sa_type=COUNT)
    peak_rss: int = Field(sa_type=COUNT)
    made: int = Field(sa_type=COUNT)
    already: int = Field(sa_type=COUNT)
    redone: int = Field(sa_type=COUNT)
    quarantined: int = Field(sa_type=COUNT)


class Mirrored(SQLModel, table=True):
    """The storage that all this was copied from: one row, none before the first refresh."""

    storage: str = Field(primary_key=True)
    """Its URI."""


TABLES = (Source, ArchiveFile, SealedPart, Run, Cost, Mirrored)
TABLE_NAMES = frozenset(str(table.__tablename__) for table in TABLES)
