"""`thresher --version`: the versions of the program, of the formats that it reads and writes, and of its steps.

Each version is the constant that the code itself uses.
"""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

import typer

from thresher.pipeline.terminal.output import print_result


def show_version(context: typer.Context, is_wanted: bool) -> None:
    """Print the versions and end the command, if the user wants them."""
    if not is_wanted or context.resilient_parsing:
        return
    body = versions()
    print_result(bool(context.params.get("as_json")), body, _text(body))
    raise typer.Exit


def versions() -> dict[str, Any]:
    """Return all versions."""
    return {
        "thresher": version("thresher"),
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": f"{platform.system()} {platform.machine()}",
        "formats": formats(),
        "inputs": inputs(),
        "shards": shards(),
        "steps": steps(),
    }


def _text(body: dict[str, Any]) -> str:
    rows = {
        **body["formats"],
        "ingest": ", ".join(body["inputs"]),
        "shards": ", ".join(body["shards"]),
        "steps": ", ".join(f"{name}@{number}" for name, number in body["steps"].items()),
    }
    width = max(map(len, rows))
    return "\n".join(
        (
            f"thresher {body['thresher']}",
            f"{body['implementation']} {body['python']} on {body['platform']}",
            *(f"{name:{width}}  {value}" for name, value in rows.items()),
        )
    )


def formats() -> dict[str, str]:
    """Return the formats of what is stored, exported and remembered."""
    from thresher.shards import dataset
    from thresher.shards.loader import state
    from thresher.storage import manifest, run, storage_id
    from thresher.storage.archive import open_files
    from thresher.storage.migrations import REVISIONS
    from thresher.storage.warc import wacz

    return {
        "storage": storage_id.FORMAT,
        "manifest": manifest.FORMAT,
        "run": run.FORMAT,
        "archive": str(open_files.RECIPE["format"]),
        "index": "CDXJ",
        "package": f"WACZ {wacz.VERSION}",
        "export": dataset.FORMAT,
        "loader": state.FORMAT,
        "catalog": f"revision {REVISIONS[-1]}",
    }


def inputs() -> list[str]:
    """Return the kinds of files that `thresher ingest` reads."""
    from thresher.storage.inputs.input_kinds import input_kinds

    return sorted({kind.name for by_line in (False, True) for kind in input_kinds(by_line=by_line).values()})


def shards() -> list[str]:
    """Return the shard formats of `thresher export`."""
    from thresher.shards.formats.registry import FORMATS

    return sorted(FORMATS)


def steps() -> dict[str, int]:
    """Return the version of each step, in their order. Results of two versions are never mixed."""
    from thresher.pipeline.dedup_index import index_state, screen_filter
    from thresher.pipeline.steps import dedup, export_plan, process
    from thresher.pipeline.steps.cuts import cut_results
    from thresher.pipeline.steps.judging import judge_step
    from thresher.pipeline.steps.verdicts import verdict_sets
    from thresher.storage.archive import open_files
    from thresher.storage.crawllog import log_writer

    found = (
        open_files.STEP,
        log_writer.STEP,
        f"{process.NAME}@{process.VERSION}",
        f"{verdict_sets.JUDGE}@{judge_step.VERSION}",
        index_state.STEP,
        f"{index_state.SCREEN_STEP}@{screen_filter.VERSION}",
        f"{dedup.NAME}@{dedup.VERSION}",
        f"{cut_results.NAME}@{cut_results.VERSION}",
        export_plan.EXPORT,
    )
    return {name: int(number) for name, _, number in (step.partition("@") for step in found)}
