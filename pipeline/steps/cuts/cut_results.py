"""The results of the cut step: how a run is named and found, and the tables that stand in for those of `process`.

One Manifest seals the tables of all parts. Its presence is completion. It is named by the fingerprint of the settings,
the removals, and the tables of all parts, so a run of other documents is another run.
"""

from collections.abc import Iterable, Iterator, Sequence

from thresher.core import InputError
from thresher.filters.dedup.dedup_versions import UNITS_VERSION
from thresher.pipeline.configuration import DedupConfig
from thresher.pipeline.engine import run_step
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.steps.verdicts.verdict_sets import JudgedPart, judged_parts
from thresher.storage.manifest import (
    Input,
    Manifest,
    Output,
    fingerprint,
    load_manifest,
    manifest_name,
    manifests,
)
from thresher.storage.store import Store

RULE, TOO_SHORT = "dedup", "too_short"
"""Rule and reason of the verdict of a document that was cut and has too few words left."""
NAME, VERSION = "cut", 1
VERDICTS, SIGNATURES, CUTS = "cut_verdicts", "cut_signatures", "cuts"
"""Folders of the tables of a run."""
WORK_FOLDER = "cut-work"
"""Folder of what stages pass on while a run is under way."""


def is_wanted(config: DedupConfig) -> bool:
    """Return whether anything is cut."""
    return bool(config.substring_words or config.line_documents or config.paragraph_documents)


def step(config: DedupConfig) -> Step:
    """Return the step that this configuration defines."""
    recipe = {
        "units": UNITS_VERSION,
        "substring_words": config.substring_words,
        "line_documents": config.line_documents,
        "paragraph_documents": config.paragraph_documents,
        "lines_within": config.lines_within,
        "min_words": config.min_words,
        "prefer": list(config.prefer),
        "sources": list(config.sources),
        "within": config.within,
    }
    return Step(name=NAME, version=VERSION, recipe=recipe, memory=config.memory)


def find(
    store: Store, sources: Sequence[str], config: DedupConfig, removed: Manifest | None, verdict_set: str = ""
) -> Manifest | None:
    """Return the run that cut what is left of these sources after the removals, or None if there is none."""
    if removed is None or not is_wanted(config):
        return None
    now = step(config)
    judged = [part for source in sources for part in judged_parts(store, source, verdict_set)]
    return run_step.sealed_manifest(store, now, whole_part(now, judged, removed))


def require_run(
    store: Store, sources: Sequence[str], config: DedupConfig, removed: Manifest, verdict_set: str = ""
) -> Manifest | None:
    """Return the run, or None if nothing is to be cut. Raise `InputError` if it was not made."""
    found = find(store, sources, config, removed, verdict_set)
    if found is None and is_wanted(config):
        option = f" --verdicts {verdict_set}" if verdict_set else ""
        raise InputError(
            f"repeated text of {', '.join(sources)} was not cut with these settings of [dedup]; "
            f"run `thresher dedup {' '.join(sources)}{option}` first"
        )
    return found


def cut_parts(parts: Iterable[JudgedPart], cut: Manifest | None) -> Iterator[JudgedPart]:
    """Yield parts with the verdicts and signatures of a run of the cut step; as they are if there is none."""
    found = {output.name: output for output in cut.outputs} if cut is not None else {}
    for judged in parts:
        if cut is None:
            yield judged
            continue
        own = {
            **judged.tables,
            "verdicts": found[output_name(VERDICTS, cut.part, judged.name)],
            "signatures": found[output_name(SIGNATURES, cut.part, judged.name)],
        }
        yield JudgedPart(name=judged.name, tables=own, counts=judged.counts, recipe=judged.recipe)


def verdicts_of(cut: Manifest | None) -> dict[str, Output]:
    """Return the tables of verdicts of a run by the names of their parts; none if there is no run."""
    return {
        output.name.split("/", 2)[2].removesuffix(".parquet"): output
        for output in (cut.outputs if cut is not None else ())
        if output.name.startswith(f"{VERDICTS}/")
    }


def short_ids(store: Store, cut: Manifest | None) -> Iterator[str]:
    """Yield the ids of the documents that a run dropped because too few words were left of them."""
    import pyarrow as pa  # noqa: PLC0415 - only this function reads a table
    import pyarrow.compute as pc  # noqa: PLC0415

    from thresher.storage import tables  # noqa: PLC0415

    schema = tables.columns(tables.VERDICTS, "id", "rule")
    for output in verdicts_of(cut).values():
        for rows in tables.row_groups(store, output, schema):
            is_short = pc.is_in(rows["rule"], value_set=pa.array([RULE]))
            yield from map(str, rows.filter(is_short)["id"].to_pylist())


def unsealed(store: Store) -> Iterator[str]:
    """Yield the tables that no sealed run has, and what stages of an unfinished run passed on."""
    sealed = {output.name for manifest in manifests(store, NAME) for output in manifest.outputs}
    for folder in (VERDICTS, SIGNATURES, CUTS):
        yield from (name for name in store.list(f"{folder}/") if name not in sealed)
    yield from store.list(f"{WORK_FOLDER}/")


def whole_part(now: Step, judged: Sequence[JudgedPart], removed: Manifest) -> Part:
    """Return the step over all parts as one part: its name and inputs."""
    spans = tuple(
        Input(name=output.name, sha256=output.sha256)
        for output in (
            *removed.outputs,
            *(each for part in judged for each in (part.documents, part.verdicts, part.signatures)),
        )
    )
    name = fingerprint(str(now), now.recipe, spans)[:16]
    return Part(name=name, inputs=spans, writes=())


def delete_superseded(store: Store, made: Manifest) -> None:
    """Delete earlier runs with the same settings over the same sources, and all files that no sealed run has."""
    sources = _sources(made)
    for name in list(store.list(f"manifests/{NAME}/")):
        manifest = load_manifest(store, name)
        if manifest.part != made.part and manifest.recipe == made.recipe and _sources(manifest) == sources:
            store.delete(manifest_name(NAME, manifest.part))
    for name in list(unsealed(store)):
        store.delete(name)


def output_name(folder: str, run: str, part: str) -> str:
    """Return the name of a table of a run."""
    return f"{folder}/{run}/{part}.parquet"


def _sources(manifest: Manifest) -> set[str]:
    return {"/".join(span.name.split("/")[:-1]) for span in manifest.inputs[1:]}
