"""Sums and pages over the catalog's tables, for readers that show some rows at a time. One query each."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlmodel import Session, col
from sqlmodel import select as select_rows

from thresher.storage.catalog.catalog_tables import ArchiveFile, Cost, Run, SealedPart

MAX_ROWS = 200
"""Rows of one page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSize:
    """The sealed parts of one step and source."""

    step: str
    source: str
    parts: int
    bytes: int
    rows: int


def step_sizes(session: Session) -> list[StepSize]:
    """Return what each step has sealed for each source."""
    query = (
        select(
            col(SealedPart.step),
            col(SealedPart.source),
            func.count(),
            func.coalesce(func.sum(col(SealedPart.bytes)), 0),
            func.coalesce(func.sum(col(SealedPart.rows)), 0),
        )
        .group_by(col(SealedPart.step), col(SealedPart.source))
        .order_by(col(SealedPart.step), col(SealedPart.source))
    )
    return [
        StepSize(step=step, source=source, parts=parts, bytes=int(size), rows=int(rows))
        for step, source, parts, size, rows in session.execute(query)
    ]


def newest_runs(session: Session, step: str, before: str, limit: int) -> list[tuple[Run, Cost]]:
    """Return runs with their costs, the newest first; `before` is the name of the last run of the page before."""
    query = select_rows(Run, Cost).where(col(Cost.run) == col(Run.name))
    if step:
        query = query.where(Run.step == step)
    if before:
        last = select(col(Run.started_ms)).where(col(Run.name) == before).scalar_subquery()
        query = query.where(
            (col(Run.started_ms) < last) | ((col(Run.started_ms) == last) & (col(Run.name) < before))
        )
    query = query.order_by(col(Run.started_ms).desc(), col(Run.name).desc()).limit(min(limit, MAX_ROWS))
    return [(run, cost) for run, cost in session.exec(query)]


def parts_after(session: Session, keys: Mapping[str, str], after: str, limit: int) -> list[SealedPart]:
    """Return sealed parts in the order of their Manifests' names, behind the name `after`. `keys` may name a `step` and
    a `source`.
    """
    query = select_rows(SealedPart).where(col(SealedPart.manifest) > after)
    for name in ("step", "source"):
        if keys.get(name):
            query = query.where(getattr(SealedPart, name) == keys[name])
    return list(session.exec(query.order_by(col(SealedPart.manifest)).limit(min(limit, MAX_ROWS))))


def newest_parts(session: Session, step: str, source: str, limit: int) -> list[SealedPart]:
    """Return the last sealed parts of a step and a source by the names of their Manifests, the last first."""
    query = select_rows(SealedPart).where(SealedPart.step == step, SealedPart.source == source)
    return list(session.exec(query.order_by(col(SealedPart.manifest).desc()).limit(min(limit, MAX_ROWS))))


def is_archive_file(session: Session, name: str) -> bool:
    """Return whether `name` is that of a sealed archive file."""
    return (
        session.exec(select_rows(ArchiveFile.name).where(ArchiveFile.name == name).limit(1)).first()
        is not None
    )


def is_manifest(session: Session, name: str) -> bool:
    """Return whether `name` is that of a Manifest."""
    query = select_rows(SealedPart.manifest).where(SealedPart.manifest == name).limit(1)
    return session.exec(query).first() is not None
