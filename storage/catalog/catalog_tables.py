"""The tables. Only a new revision in `storage.migrations` may change them."""

from typing import Any

from sqlalchemy import JSON, BigInteger, Column, Float, Integer, String
from sqlmodel import Field, SQLModel

COUNT: Any = BigInteger().with_variant(Integer(), "sqlite")
"""64 bits in both databases."""
NAME: Any = String().with_variant(String(collation="C"), "postgresql")
"""Sorted by bytes in both databases, as storage lists its names."""


class Source(SQLModel, table=True):
    """A crawl, or an ingest of archives made elsewhere: the sums over its archive files."""

    name: str = Field(primary_key=True)
    kind: str
    """`crawl`, `ingest`, or `mixed` if both sealed files under the name."""
    files: int
    bytes: int = Field(sa_type=COUNT)
    records: int = Field(sa_type=COUNT)
    responses: int = Field(sa_type=COUNT)


class ArchiveFile(SQLModel, table=True):
    """One sealed WARC file."""

    manifest: str = Field(primary_key=True, sa_type=NAME)
    """The Manifest that seals it."""
    name: str = Field(primary_key=True)
    """Its name in storage."""
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
    """Stamp of the stored object, which shows whether another was put since."""
    step: str = Field(index=True)
    """Its name without version."""
    version: int
    """Version of the step; 0 if the Manifest names none."""
    part: str
    source: str = Field(index=True)
    fingerprint: str
    counts: dict[str, int] = Field(sa_column=Column(JSON, nullable=False))
    bytes: int = Field(sa_type=COUNT)
    """Sum over all outputs."""
    rows: int = Field(sa_type=COUNT)
    """Sum over all outputs."""


class Run(SQLModel, table=True):
    """One run of a step. `storage.run` says what the columns mean."""

    name: str = Field(primary_key=True, sa_type=NAME)
    """Its name in storage."""
    stamp: str
    """Stamp of the stored object."""
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
    """What a run cost and made."""

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
    """The storage that all rows were copied from: one row, or none before the first refresh."""

    storage: str = Field(primary_key=True)
    """Its URI."""


TABLES = (Source, ArchiveFile, SealedPart, Run, Cost, Mirrored)
TABLE_NAMES = frozenset(str(table.__tablename__) for table in TABLES)
