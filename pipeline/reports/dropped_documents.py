"""A sample of what a rule dropped: each document with its URL, the measurement beside its threshold, and an excerpt.

The sample is the documents with the smallest ids. An id is a digest, so they are a random choice, and it is the same
in every run and for any number of workers.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thresher.core import InputError
from thresher.filters.thresholds import Threshold, thresholds_of
from thresher.pipeline.steps.records.rule_set import rules_in
from thresher.pipeline.steps.verdicts.verdict_sets import JudgedPart, judged_parts
from thresher.storage import tables
from thresher.storage.store import Store

EXAMPLES = 20
"""Documents of a sample, if no number is chosen."""
EXCERPT = 300
"""Characters of the text that are shown."""
_VERDICTS = tables.columns(tables.VERDICTS, "id", "rule", "reason")
_DOCUMENTS = tables.columns(tables.DOCUMENTS, "id", "url", "language", "title", "text")
_FAILS = {"<": "below", "<=": "not above", ">": "above", ">=": "not below"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedDocument:
    """One document that a rule dropped."""

    id: str
    url: str
    title: str
    language: str
    rule: str
    reason: str
    measurement: str
    """Name of the measurement that decided; empty if the reason has no threshold."""
    value: float | None
    drops: str
    """How the value compares with the threshold: `<`, `<=`, `>`, `>=`; empty if there is none."""
    threshold: float | None
    characters: int
    excerpt: str

    @property
    def why(self) -> str:
        """Return the reason in words."""
        if self.value is None or self.threshold is None:
            return f"{self.rule}/{self.reason}"
        return (
            f"{self.rule}/{self.reason}: {self.measurement} = {self.value:.6g}, {_FAILS[self.drops]}"
            f" {self.threshold:.6g}"
        )


def dropped_documents(
    store: Store, sources: Sequence[str], stage: str, sample: int, verdict_set: str = ""
) -> list[DroppedDocument]:
    """Return at most `sample` documents that `stage`, a rule or `rule/reason`, dropped, by id.

    Memory holds the sample and one part. Raise `InputError` if the stage dropped no document.
    """
    parts = [part for source in sources for part in judged_parts(store, source, verdict_set)]
    found = heapq.nsmallest(sample, _dropped_ids(store, parts, stage))
    if not found:
        known = sorted({key.rpartition(".")[0] for part in parts for key in part.counts} - {"keep", ""})
        hint = f"these dropped some: {', '.join(known)}" if known else "nothing was dropped"
        raise InputError(f"--dropped {stage}: no document of {', '.join(sources)} was dropped by it; {hint}")
    wanted = {id_ for id_, _ in found}
    rows = [row for at in sorted({at for _, at in found}) for row in _rows(store, parts[at], wanted)]
    if len(rows) < len(found):
        rule = stage.partition("/")[0]
        raise InputError(f"--dropped {stage}: {rule} drops records from which no text is extracted")
    return sorted(rows, key=lambda row: row.id)


def _dropped_ids(store: Store, parts: Sequence[JudgedPart], stage: str) -> Iterator[tuple[str, int]]:
    rule, _, reason = stage.partition("/")
    for at, part in enumerate(parts):
        # Most parts have no such document, and their Manifest says so.
        if not any(_is_of(key.rpartition(".")[0], rule, reason) for key in part.counts):
            continue
        verdicts = tables.read(store, part.verdicts, _VERDICTS)
        mask = pc.equal(verdicts["rule"], pa.scalar(rule))
        if reason:
            mask = pc.and_(mask, pc.equal(verdicts["reason"], pa.scalar(reason)))
        yield from ((str(id_), at) for id_ in verdicts["id"].filter(mask).to_pylist())


def _is_of(stage: str, rule: str, reason: str) -> bool:
    return stage == f"{rule}/{reason}" if reason else stage.startswith(f"{rule}/")


def _rows(store: Store, part: JudgedPart, wanted: set[str]) -> Iterator[DroppedDocument]:
    ids = pa.array(sorted(wanted), pa.string())
    verdicts, documents, measured = (
        {row["id"]: row for row in table.filter(pc.is_in(table["id"], value_set=ids)).to_pylist()}
        for table in (
            tables.read(store, part.verdicts, _VERDICTS),
            tables.read(store, part.documents, _DOCUMENTS),
            tables.read(store, part.measurements, None),
        )
    )
    thresholds = {rule.name: thresholds_of(rule) for rule in rules_in(part.recipe)}
    for id_, document in documents.items():
        verdict = verdicts[id_]
        known = (
            each
            for each in thresholds.get(verdict["rule"], ())
            if each.reason == verdict["reason"] and each.applies_to(document["language"])
        )
        yield _dropped(document, verdict, measured.get(id_, {}), next(known, None))


def _dropped(
    document: dict[str, Any], verdict: dict[str, Any], measured: dict[str, Any], threshold: Threshold | None
) -> DroppedDocument:
    has_value = threshold is not None and bool(threshold.parameter)
    text = document["text"]
    return DroppedDocument(
        id=document["id"],
        url=document["url"],
        title=document["title"],
        language=document["language"],
        rule=verdict["rule"],
        reason=verdict["reason"],
        measurement=threshold.measurement if threshold is not None and has_value else "",
        value=measured.get(threshold.measurement) if threshold is not None and has_value else None,
        drops=threshold.drops if threshold is not None and has_value else "",
        threshold=threshold.value if threshold is not None and has_value else None,
        characters=len(text),
        excerpt=text[:EXCERPT],
    )
