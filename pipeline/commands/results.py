"""The last line of a command: what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.engine.run_step import Ran
    from pipeline.crawls.seed import Seeded
    from shards.dataset import Dataset


def seeded_line(seeded: Seeded, crawl: str) -> str:
    """What became of the seeds."""
    line = f"{crawl}: {seeded.added:,} added, {seeded.known:,} known, {seeded.refused:,} refused"
    if seeded.discarded:
        line += f"; not let in: {counted(seeded.discarded)}"
    return line


def counted(reasons: Mapping[str, int]) -> str:
    """Counts by reason, the largest first."""
    ordered = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{count:,} {reason}" for reason, count in ordered)


def ran_line(ran: Ran) -> str:
    """What a run of a step did."""
    line = f"{ran.made} parts made, {ran.already} were there"
    if ran.deaths:
        line += f"; {ran.deaths} workers died and their parts were begun again"
    if ran.left_out:
        line += f"; {ran.left_out} records that crash a worker were left out"
    return line


def dataset_body(out: str, dataset: Dataset) -> dict[str, Any]:
    """What was exported, for programs."""
    return {
        "out": out,
        "shards": len(dataset.shards),
        "documents": dataset.documents,
        "tokens": dataset.tokens,
    }


def dataset_line(out: str, dataset: Dataset) -> str:
    """What was exported."""
    return (
        f"{out}: {dataset.documents:,} documents, {dataset.tokens:,} tokens in {len(dataset.shards)} shards"
    )
