"""Manifests and runs to fill a storage with, and what a catalog holds of them."""

from sqlalchemy import inspect
from sqlmodel import select

from thresher.storage import run as runs
from thresher.storage.catalog.catalog_tables import TABLES
from thresher.storage.manifest import Manifest, Output, fingerprint, seal


def sealed(step, part, counts, recipe=None):
    recipe = recipe or {"format": "x"}
    source, _, stem = part.partition("/")
    if step.startswith("archive@"):
        names = (f"warc/{source}/{stem}.cdxj.gz", f"warc/{source}/{stem}.warc.gz")
    else:
        names = (f"documents/{part}.parquet", f"verdicts/{part}.parquet")
    return Manifest(
        step=step,
        part=part,
        fingerprint=fingerprint(step, recipe, ()),
        recipe=recipe,
        inputs=(),
        outputs=(
            Output(name=names[0], bytes=10, sha256="0" * 64, rows=2),
            Output(name=names[1], bytes=5, sha256="1" * 64, rows=1),
        ),
        counts=counts,
    )


def put(store, step, part, counts, recipe=None):
    seal(store, sealed(step, part, counts, recipe))


def ran(number, step="process", **fields):
    return runs.Run(
        **{
            "id": f"run-{number}",
            "step": step,
            "version": 1,
            "started_ms": 1_700_000_000_000 + number,
            "ended_ms": 1_700_000_002_000 + number,
            "host": "here",
            "engine": "local",
            "sources": ("main",),
            "made": 1,
            "already": 2,
            "redone": 0,
            "quarantined": 0,
            "cpu_s": 1.5,
            "wall_s": 2.0,
            "worker_s": 4.0,
            "bytes_read": 1 << 40,
            "bytes_written": 10,
            "peak_rss": 1 << 30,
            "outcome": "done",
            **fields,
        }
    )


def some(store):
    put(store, "archive@1", "main/1", {"response": 2, "request": 2})
    put(store, "archive@1", "main/2", {"response": 3})
    put(store, "archive@1", "cc/1", {"response": 7}, {"ingested": "x.warc.gz"})
    put(store, "process@12", "main/1", {"keep": 1})
    runs.put(store, ran(1))
    runs.put(store, ran(2, "dedup", outcome="failed", message="no room", quarantined=1))


def rows(catalog):
    """Everything in it, by table."""
    with catalog._database.reading() as session:
        found = {
            table.__tablename__: [each.model_dump() for each in session.exec(select(table))]
            for table in TABLES
        }
    return {
        name: sorted(each, key=lambda row: [str(row[key]) for key in _keys(name)])
        for name, each in found.items()
    }


def _keys(name):
    (table,) = (each for each in TABLES if each.__tablename__ == name)
    return [column.name for column in inspect(table).primary_key]
