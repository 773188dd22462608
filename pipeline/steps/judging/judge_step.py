"""The judge step: it makes a named set of verdicts from the measurements of `process`, without reading a text.

A part of this step is a part of `process`. Records that have no measurements, because nothing was extracted from them
or because the page refuses its use, keep the verdicts that they have. The documents that the set keeps get their
signatures and edits from the tables of `process`, so deduplication and exports use the set as they use the verdicts of
`process`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thresher.core import InputError
from thresher.filters.decision import decide
from thresher.filters.models.language import LanguageRule, model_recipe
from thresher.filters.rules.fineweb2 import BY_LANGUAGE
from thresher.filters.thresholds import measuring_recipe
from thresher.pipeline.engine.part_store import PartStore
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.engine.task import ItemTracker, PartOutputs
from thresher.pipeline.funnel import NORMALISED, edited_count, funnel_stage, stage_counts
from thresher.pipeline.steps.columns.column_values import (
    ColumnTables,
    column_tables,
    column_values,
    document_fields,
)
from thresher.pipeline.steps.columns.known_columns import Column
from thresher.pipeline.steps.records.column_thresholds import column_thresholds, crossed
from thresher.pipeline.steps.records.measured_rows import measured_rows
from thresher.pipeline.steps.records.rule_set import COLUMNS_RULE, RuleSet, rules_of, rules_recipe
from thresher.pipeline.steps.verdicts.verdict_sets import (
    JUDGE,
    PROCESS,
    READ,
    SIGNATURES,
    VERDICTS,
    JudgedPart,
    outputs_by_folder,
)
from thresher.storage import tables
from thresher.storage.manifest import Input, Output, manifests, to_plain_json
from thresher.storage.store import Store

VERSION = 1

READING = {
    "extractors": "extract.engine (the names and versions of the extractors)",
    "format": "filters.format",
    "obey": "filters.obey",
    "blocklist": "filters.blocklist (its name in the storage)",
}
"""What a user calls each key of `process.reading_recipe`."""
AGAIN = "run `thresher process --redo` with this configuration"


class JudgeParameters(NamedTuple):
    """Parameters of a worker besides its inputs."""

    rules: RuleSet
    counts: tuple[tuple[str, int], ...]
    """Counts of the part of `process`."""
    columns: tuple[Column, ...] = ()
    """The columns that thresholds name."""
    lies: ColumnTables | None = None
    """Where they lie; None if there are none."""


def step(chosen: RuleSet) -> Step:
    """Return the step with these rules. Raise `InputError` if a rule or threshold is not known."""
    return Step(name=JUDGE, version=VERSION, recipe={"filters": rules_recipe(chosen)})


def parts(
    store: Store, source: str, verdict_set: str, chosen: RuleSet, columns: tuple[Column, ...] = ()
) -> Iterator[Part]:
    """Yield the parts of a source. `columns` are those that thresholds name. Raise `InputError` if its measurements do
    not suffice for these rules.
    """
    for manifest in manifests(store, PROCESS, source):
        require_measured(manifest.recipe, manifest.counts, chosen)
        found = outputs_by_folder(manifest)
        judged = JudgedPart(name=manifest.part, tables=found, counts=manifest.counts, recipe=manifest.recipe)
        lies = column_tables(store, judged, columns) if columns else None
        yield Part(
            name=f"{verdict_set}/{manifest.part}",
            inputs=(*(_input(found[table]) for table in READ), *(lies.spans if lies else ())),
            writes=tuple(
                f"{table}/{verdict_set}/{manifest.part}.parquet" for table in (VERDICTS, SIGNATURES)
            ),
            parameters=JudgeParameters(
                rules=chosen, counts=tuple(sorted(manifest.counts.items())), columns=columns, lies=lies
            ),
        )


def require_same_reading(store: Store, source: str, reading: Mapping[str, Any]) -> None:
    """Raise `InputError` if `process` read the texts of a source in another way than `process.reading_recipe` says."""
    for manifest in manifests(store, PROCESS, source):
        for key, value in to_plain_json(reading).items():
            if manifest.recipe[key] != value:
                raise InputError(
                    f"{READING[key]} was {manifest.recipe[key]!r} when the texts of {source} were read and is"
                    f" {value!r} now; {AGAIN}"
                )


def require_measured(recipe: Mapping[str, Any], counts: Mapping[str, int], chosen: RuleSet) -> None:
    """Raise `InputError` if the measurements of a part of `process`, by its recipe and counts, do not say what these
    rules would decide.
    """
    measured: Mapping[str, Any] = recipe["filters"]
    languages = set(measured["languages"])
    missing = sorted(set(chosen.languages) - languages) if chosen.languages else ["any other language"]
    if languages and missing:
        raise InputError(
            f"filters.languages: texts in {', '.join(missing)} were not extracted, because `process` ran with"
            f" languages = {sorted(languages)}; {AGAIN}"
        )
    if measured["language"] != to_plain_json(model_recipe(chosen.language_model)):
        raise InputError(f"the languages of the texts were recognised by another model or version; {AGAIN}")
    entries = {str(entry["rule"]): entry for entry in measured["rules"]}
    rules = rules_of(chosen)
    for rule in rules:
        entry = measured["language"] if isinstance(rule, LanguageRule) else entries.get(rule.name)
        if entry is None:
            raise InputError(f"the rule {rule.name} was not measured; {AGAIN}")
        for parameter, before, now in _changes(rule.name, entry, to_plain_json(measuring_recipe(rule))):
            raise InputError(
                f"{parameter} was {before!r} when the texts were measured and is {now!r} now; it decides what the"
                f" rule measures or edits, so {AGAIN}"
            )
    editing = {rule for rule in entries if counts.get(edited_count(rule))}
    edited, edits = _editors(list(entries), editing), _editors([rule.name for rule in rules], editing)
    for name, editors in edits.items():
        if edited.get(name, editors) != editors:
            raise InputError(
                f"{name or 'the final text'} was measured after edits by {', '.join(edited[name]) or 'no rule'}, and"
                f" these rules would edit it by {', '.join(editors) or 'no rule'}; {AGAIN}"
            )


def _changes(name: str, entry: Any, measuring: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the parameters of `measuring` that the recipe `entry` of the same rule has otherwise, with both values.

    The recipe has the thresholds too. A rule with limits by language has a recipe for each of them.
    """
    for parameter, now in measuring.items():
        before = entry.get(parameter)
        if parameter == BY_LANGUAGE and isinstance(before, Mapping) and set(before) == set(now):
            for code, recipe in now.items():
                yield from _changes(f"{name}.{code}", before[code], recipe)
        elif before != now:
            yield f"{name}.{parameter}", before, now


def _editors(rules: Sequence[str], editing: AbstractSet[str]) -> dict[str, tuple[str, ...]]:
    """Return, for each rule and for the final text (an empty name), the rules before it that edit texts."""
    found: dict[str, tuple[str, ...]] = {}
    editors: tuple[str, ...] = ()
    for rule in rules:
        found[rule] = editors
        if rule in editing:
            editors = (*editors, rule)
    return {**found, "": editors}


def work(store: PartStore, _: Step, part: Part, __: ItemTracker) -> PartOutputs:
    """Make the verdicts and the signatures of one part."""
    task: JudgeParameters = part.parameters
    measurements, verdicts, *signed = (
        tables.read(store, span, schema)
        for span, schema in zip(part.inputs[:4], (None, tables.VERDICTS, None, None), strict=True)
    )
    decisions = decide(rules_of(task.rules), measured_rows(measurements))
    if task.lies is not None:
        reasons = _column_reasons(store, task, task.lies, measurements["id"])
        decisions = decisions.behind(COLUMNS_RULE, reasons)
    signatures = _in_order(pa.concat_tables(signed), measurements["id"].filter(pa.array(decisions.keep)))
    made = (_judged(verdicts, measurements, decisions.rules, decisions.reasons), signatures)
    counts = _unmeasured_counts(task.counts, verdicts, measurements)
    kept_bytes = dict(zip(*(signatures[name].to_pylist() for name in ("id", "text_bytes")), strict=True))
    for id_, payload, text, rule, reason in zip(
        *(measurements[name].to_pylist() for name in ("id", "payload_bytes", "text_bytes")),
        decisions.rules,
        decisions.reasons,
        strict=True,
    ):
        stage = funnel_stage(rule, reason)
        counts.update(stage_counts(stage, documents=1, payload=payload, text=kept_bytes.get(id_, text)))
    outputs = tuple(
        store.write(output, table.num_rows, partial(tables.write, table=table))
        for output, table in zip(part.writes, made, strict=True)
    )
    return PartOutputs(counts=dict(counts), outputs=outputs)


def _column_reasons(store: PartStore, task: JudgeParameters, lies: ColumnTables, ids: Any) -> Any:
    """Return for each measured document the threshold on a column that it crosses, or an empty text. Read no text."""
    schema = tables.columns(tables.DOCUMENTS, *document_fields(task.columns))
    documents = pa.concat_tables([schema.empty_table(), *tables.row_groups(store, lies.documents, schema)])
    values = column_values(store, lies, task.columns, documents)
    at = pc.index_in(ids, value_set=documents["id"].combine_chunks())
    return crossed(values.take(at), column_thresholds(task.rules))


def _judged(verdicts: pa.Table, measurements: pa.Table, rules: Any, reasons: Any) -> pa.Table:
    """Return the verdicts with those of measured documents replaced."""
    at = dict(zip(measurements["id"].to_pylist(), range(measurements.num_rows), strict=True))
    edits = measurements["edits"].to_pylist()
    rows = verdicts.to_pylist()
    for row in rows:
        index = at.get(row["id"])
        if index is not None:
            row["rule"], row["reason"] = rules[index], reasons[index]
            row["keep"] = not row["rule"]
            row["edits"] = edits[index] if row["keep"] else []
    return pa.Table.from_pylist(rows, schema=tables.VERDICTS)


def _in_order(signatures: pa.Table, ids: Any) -> pa.Table:
    """Return the signatures of these documents, in their order."""
    found = signatures.take(pc.index_in(ids, value_set=signatures["id"].combine_chunks()))
    return found.combine_chunks()


def _unmeasured_counts(
    counts: tuple[tuple[str, int], ...], verdicts: pa.Table, measurements: pa.Table
) -> Counter[str]:
    """Return the counts that no verdict changes: those of the stages that decided records without measurements, and
    that of the normalised texts.
    """
    measured = np.array(
        pc.is_in(verdicts["id"], value_set=measurements["id"].combine_chunks()).to_pylist(), bool
    )
    stages = {
        funnel_stage(str(rule), str(reason))
        for rule, reason, is_measured in zip(
            verdicts["rule"].to_pylist(), verdicts["reason"].to_pylist(), measured, strict=True
        )
        if not is_measured
    }
    return Counter(
        {key: count for key, count in counts if key == NORMALISED or key.rpartition(".")[0] in stages}
    )


def _input(output: Output) -> Input:
    return Input(name=output.name, sha256=output.sha256)
