"""The last stage of the cut step: verdicts, signatures and cuts of one part of `process`.

1. A repeat cuts only what equals the text of its slice, whatever the hashes were.
2. The verdict of a document that is cut has the edits of the rules and the cuts as edits of the document's own text,
   and the signature is that of the text that is left.
3. A document that was cut and has too few words left is dropped, with the rule `dedup` and the reason `too_short`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from thresher.core import Edit
from thresher.filters.dedup.cuts import cuts, new_characters
from thresher.filters.dedup.dedup_versions import CUT_KINDS
from thresher.filters.dedup.repeat_rows import SUBSTRING
from thresher.filters.dedup.repeat_units import Units, is_same_block, is_same_passage, words
from thresher.filters.dedup.signature import sign
from thresher.filters.edits import apply, compose
from thresher.pipeline.dedup_index.index_runs import RunRef
from thresher.pipeline.engine.part_store import PartStore
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.engine.task import ItemTracker, PartOutputs
from thresher.pipeline.steps.cuts.cut_pieces import CutPiece, documents_of, texts_of
from thresher.pipeline.steps.cuts.cut_results import RULE, TOO_SHORT
from thresher.pipeline.steps.cuts.cut_slices import slices_of
from thresher.pipeline.steps.cuts.cut_stages import CutSettings, span_of, units_of
from thresher.storage import tables


class CutTablesTask(NamedTuple):
    """Parameters of a part."""

    settings: CutSettings
    pieces: tuple[CutPiece, ...]
    slices: tuple[tuple[RunRef, ...], ...]
    """For each piece the files that may have slices of it."""


class _Repeat(NamedTuple):
    """A passage, line or paragraph that was found in its witness. It sorts by its place."""

    start: int
    end: int
    kind: int
    witness: str
    witness_start: int
    witness_end: int


class _CutDocument(NamedTuple):
    """A document that is cut."""

    text: str
    """What is left."""
    edits: tuple[Edit, ...]
    """Of the text as the rules edited it."""
    is_short: bool


def tables_work(store: PartStore, _: Step, part: Part, __: ItemTracker) -> PartOutputs:
    """Write the tables of verdicts, signatures and cuts."""
    task: CutTablesTask = part.parameters
    counts, rows, changed = Counter[str](), list[dict[str, Any]](), dict[str, _CutDocument]()
    for piece, runs in zip(task.pieces, task.slices, strict=True):
        if runs:
            _cut_piece(store, task.settings, piece, runs, counts, rows, changed)
    (first, *_rest) = task.pieces
    signatures = tables.read(store, first.signatures, None)
    _count_documents(signatures, changed, counts)
    made = (
        _verdicts(tables.read(store, first.verdicts, tables.VERDICTS), changed),
        _signatures(signatures, changed),
        pa.Table.from_pylist(rows, schema=tables.CUTS),
    )
    outputs = tuple(
        store.write(name, table.num_rows, partial(tables.write, table=table))
        for name, table in zip(part.writes, made, strict=True)
    )
    return PartOutputs(counts=dict(counts), outputs=outputs)


def _cut_piece(  # noqa: PLR0913 - what it adds to
    store: PartStore,
    settings: CutSettings,
    piece: CutPiece,
    runs: tuple[RunRef, ...],
    counts: Counter[str],
    rows: list[dict[str, Any]],
    changed: dict[str, _CutDocument],
) -> None:
    """Cut the documents of a piece."""
    ids = documents_of(store, piece).ids
    texts = dict(texts_of(store, piece, ids))
    found = _repeats(store, settings, piece, runs, texts)
    for number in sorted(found):
        text, repeats = texts[number], sorted(found[number])
        edits = cuts(text, [(each.start, each.end) for each in repeats])
        left = apply(text, edits)
        is_short = len(words(left).starts) < settings.min_words
        changed[ids[number]] = _CutDocument(left, edits, is_short)
        characters = new_characters([(each.start, each.end) for each in repeats])
        rows += (
            {"id": ids[number], **each._asdict(), "kind": CUT_KINDS[each.kind], "characters": new}
            for each, new in zip(repeats, characters, strict=True)
        )
        if not is_short:
            _count_cuts(text, left, repeats, characters, counts)


def _repeats(
    store: PartStore,
    settings: CutSettings,
    piece: CutPiece,
    runs: tuple[RunRef, ...],
    texts: dict[int, str],
) -> dict[int, list[_Repeat]]:
    """Return the repeats of each document of a piece that its text and that of the witness confirm."""
    found: dict[int, list[_Repeat]] = defaultdict(list)
    units: dict[tuple[int, int], Units] = {}
    for row in _rows(store, runs, piece.number):
        number, kind = row["document"], row["kind"]
        if (number, kind) not in units:
            units[number, kind] = units_of(texts[number], kind)
        start, end = span_of(
            texts[number], units[number, kind], row["unit"], row["count"], kind, settings.words
        )
        is_same = is_same_passage if kind == SUBSTRING else is_same_block
        if is_same(texts[number][start:end], row["text"]):
            found[number].append(
                _Repeat(start, end, kind, row["witness"], row["witness_start"], row["witness_end"])
            )
    return found


def _rows(store: PartStore, runs: tuple[RunRef, ...], piece: int) -> Iterator[dict[str, Any]]:
    for run in runs:
        for some in slices_of(store, run, piece):
            yield from some


def _count_cuts(
    text: str, left: str, repeats: list[_Repeat], characters: list[int], counts: Counter[str]
) -> None:
    """Count what each kind took from a document that stays. White space beside the cuts counts for the last one."""
    taken = Counter[str]()
    done = 0
    for each, new in zip(repeats, characters, strict=True):
        kind = CUT_KINDS[each.kind]
        taken[kind] += len(text[max(each.start, done) : each.end].encode()) if new else 0
        done = max(done, each.end)
        counts[f"{kind}.cuts"] += 1
        counts[f"{kind}.characters"] += new
    taken[CUT_KINDS[repeats[-1].kind]] += len(text.encode()) - len(left.encode()) - taken.total()
    for kind, size in taken.items():
        counts[f"{kind}.text_bytes"] += size


def _count_documents(signatures: pa.Table, changed: dict[str, _CutDocument], counts: Counter[str]) -> None:
    """Count documents that were cut, and the sizes of those that are dropped."""
    for id_, text_bytes, payload_bytes in zip(
        *(signatures[name].to_pylist() for name in ("id", "text_bytes", "payload_bytes")), strict=True
    ):
        cut = changed.get(str(id_))
        if cut is None:
            continue
        if not cut.is_short:
            counts["cut.documents"] += 1
            continue
        counts[f"{TOO_SHORT}.documents"] += 1
        counts[f"{TOO_SHORT}.payload_bytes"] += int(payload_bytes or 0)
        counts[f"{TOO_SHORT}.text_bytes"] += int(text_bytes or 0)


def _verdicts(verdicts: pa.Table, changed: dict[str, _CutDocument]) -> pa.Table:
    rows = verdicts.to_pylist()
    for row in rows:
        cut = changed.get(row["id"])
        if cut is None:
            continue
        if cut.is_short:
            row.update(keep=False, rule=RULE, reason=TOO_SHORT, edits=[])
        else:
            before = tuple(Edit(**edit) for edit in row["edits"])
            row["edits"] = [asdict(edit) for edit in compose(before, cut.edits)]
    return pa.Table.from_pylist(rows, schema=tables.VERDICTS)


def _signatures(signatures: pa.Table, changed: dict[str, _CutDocument]) -> pa.Table:
    """Return the signatures of the documents that stay, those of cut documents made again."""
    columns: Any = {name: signatures[name].to_pylist() for name in tables.SIGNATURES.names}
    ids = columns["id"]
    stays = np.array([id_ not in changed or not changed[id_].is_short for id_ in ids], np.bool_)
    minhashes: Any = signatures["minhash"].combine_chunks()
    numbers = minhashes.type.list_size
    flat = minhashes.flatten().to_numpy().reshape(-1, numbers).copy()
    for at, id_ in enumerate(ids):
        cut = changed.get(id_)
        if cut is not None and not cut.is_short:
            columns["text_hash"][at], flat[at] = sign(cut.text, numbers)
            columns["text_bytes"][at] = len(cut.text.encode())
    table = tables.signature_rows(
        ids=ids,
        text_hashes=columns["text_hash"],
        text_bytes=columns["text_bytes"],
        urls=columns["url"],
        payload_bytes=columns["payload_bytes"],
        fetched_at_ms=columns["fetched_at_ms"],
        minhashes=flat,
    )
    return table.filter(pa.array(stays)).combine_chunks()
