"""The result of a command, as one line for people or as JSON for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from thresher.pipeline.terminal.output import EXIT_INTERRUPTED, echo
from thresher.pipeline.terminal.reasons import counted

if TYPE_CHECKING:
    from thresher.pipeline.crawls.seed import SeedSummary
    from thresher.pipeline.crawls.seed_files import RefusedLine
    from thresher.pipeline.engine.run_step import StepSummary
    from thresher.pipeline.fleet.crawl_summary import CrawlSummary
    from thresher.shards.dataset import Dataset


INCOMPLETE = 3
"""Exit code if the crawl is drained and some of its pages failed. Restic ends so if it could not read some files."""
REFUSED_SHOWN = 10
MAX_SPECIAL_NAMES = 5
"""Names of special tokens that a line has, the most frequent ones."""


def seed_line(seeded: SeedSummary, crawl: str) -> str:
    """Return the line about seeds."""
    line = f"{crawl}: {seeded.added:,} added, {seeded.known:,} known, {seeded.refused:,} refused"
    if seeded.discarded:
        line += f"; not let in: {counted(seeded.discarded)}"
    return line


def step_line(summary: StepSummary) -> str:
    """Return the line about one run of a step."""
    line = f"{summary.made} part{'' if summary.made == 1 else 's'} made, {summary.already} were there"
    if summary.deaths:
        line += f"; {summary.deaths} workers died and their parts were started again"
    if summary.left_out:
        line += f"; {summary.left_out} records that crash a worker were left out"
    return line


def dataset_body(out: str, dataset: Dataset) -> dict[str, Any]:
    """Return what was exported, for programs."""
    from thresher.shards.packer import packing_body

    return {
        "out": out,
        "shards": len(dataset.shards),
        "documents": dataset.documents,
        "tokens": dataset.tokens,
        **({} if dataset.text_bytes is None else {"text_bytes": dataset.text_bytes}),
        "rows": dataset.rows,
        **(
            {}
            if dataset.special_token_texts is None
            else {"special_token_texts": dataset.special_token_texts}
        ),
        **({} if dataset.loss_tokens is None else {"loss_tokens": dataset.loss_tokens}),
        **({"left_out": dict(dataset.left_out)} if dataset.left_out else {}),
        **({"mix": list(dataset.mix)} if dataset.mix else {}),
        **packing_body(dataset.recipe, dataset.shards),
    }


def dataset_line(out: str, dataset: Dataset) -> str:
    """Return what was exported, for people: one line, and one for each source of a mix."""
    from thresher.shards.dataset import counted_shards
    from thresher.shards.mix import RealisedSource, mix_line
    from thresher.shards.packer import loss_line, packing_losses, rows_line

    shards = counted_shards(len(dataset.shards))
    size = "" if dataset.tokens is None else f", {dataset.tokens:,} tokens"
    if dataset.text_bytes is not None:
        size = f", {dataset.text_bytes:,} bytes of text"
    if dataset.loss_tokens is not None:
        size += f", {dataset.loss_tokens:,} of them with loss,"
    lines = [f"{out}: {dataset.documents:,} documents{size} in {shards}"]
    if dataset.left_out:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in dataset.left_out.items())
        lines.append(f"left out: {reasons}")
    if losses := packing_losses(dataset.recipe, dataset.shards):
        lines.append(loss_line(losses))
        lines.append(rows_line(dataset.rows))
    if dataset.special_token_texts:
        lines.append(special_line(dataset))
    total = sum(source["realised"] for source in dataset.mix)
    lines += [mix_line(RealisedSource(**each), total, dataset.recipe["mix"]["by"]) for each in dataset.mix]
    return "\n".join(lines)


def special_line(dataset: Dataset) -> str:
    """Return the line about documents that have the name of a special token, for people."""
    found = sorted(dataset.contents["special_token"].items(), key=lambda item: (-item[1], item[0]))
    names = [name for name, _ in found if name]
    more = ", ..." if len(names) > MAX_SPECIAL_NAMES else ""
    became = "ids of these tokens" if dataset.recipe["tokenizer"].get("special_tokens") == "ids" else "text"
    return (
        f"{dataset.special_token_texts:,} documents have the name of a special token in their text "
        f"({', '.join(names[:MAX_SPECIAL_NAMES])}{more}), which became {became}"
    )


def end_crawl(crawled: CrawlSummary) -> None:
    """End the command with the exit code of a crawl (rule 2 of `pipeline.terminal.output`). Return if it is 0."""
    if crawled.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    if crawled.stats.is_drained and crawled.failed:
        raise typer.Exit(INCOMPLETE)


class Refusals:
    """Shows the first `REFUSED_SHOWN` refused seeds and counts the others."""

    def __init__(self) -> None:
        self._count = 0

    def show(self, refused: RefusedLine) -> None:
        """Show one refused line, or count it."""
        self._count += 1
        if self._count <= REFUSED_SHOWN:
            echo(f"refused: {refused}", err=True)

    def end(self) -> None:
        """Print how many refused lines were not shown."""
        if self._count > REFUSED_SHOWN:
            echo(f"refused: {self._count - REFUSED_SHOWN:,} more lines", err=True)
