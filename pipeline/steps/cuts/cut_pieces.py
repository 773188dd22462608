"""Pieces: ranges of the kept documents of a part of `process` that one worker reads at a time, and their texts."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thresher.core import CorruptData
from thresher.filters.edits import apply
from thresher.pipeline.engine.part_store import PartStore
from thresher.pipeline.steps.verdicts.removed_documents import Ids, column_values, find_ids, ids_of
from thresher.pipeline.steps.verdicts.verdict_sets import JudgedPart
from thresher.storage import sealed_reading, tables
from thresher.storage.manifest import Input, Output
from thresher.storage.store import Store

_PLACES = tables.columns(tables.SIGNATURES, "id", "url", "text_hash", "text_bytes", "fetched_at_ms")
_TEXTS = tables.columns(tables.DOCUMENTS, "id", "text")


class CutPiece(NamedTuple):
    """Some kept documents of one part, and its tables."""

    number: int
    """Pieces are numbered in the order of the sources and of the archive."""
    part: str
    """Name of the part of `process`."""
    source: str
    rows: range
    """Rows of the table of signatures."""
    kept: bytes
    """One bit for each of these rows: whether deduplication keeps the document."""
    documents: Input
    signatures: Input
    verdicts: Input


class PieceDocuments(NamedTuple):
    """What the signatures say of the kept documents of a piece."""

    ids: list[str]
    urls: list[str]
    text_hashes: np.ndarray[tuple[int], np.dtype[np.uint64]]
    """First words of the hashes of the texts."""
    text_bytes: np.ndarray[tuple[int], np.dtype[np.int64]]
    fetched_at_ms: np.ndarray[tuple[int], np.dtype[np.int64]]


def pieces_of(store: Store, judged: JudgedPart, gone: Ids, first: int, text_bytes: int) -> Iterator[CutPiece]:
    """Yield the pieces of a part, numbered from `first`, with at most so many bytes of text each unless a single
    document has more. `gone` are the removed documents.
    """
    ids, sizes = [np.zeros(0, gone.dtype)], [np.zeros(0, np.int64)]
    for rows in tables.row_groups(
        store, judged.signatures, tables.columns(tables.SIGNATURES, "id", "text_bytes")
    ):
        ids.append(ids_of(rows["id"], judged.signatures.name))
        sizes.append(column_values(rows["text_bytes"], "<i8"))
    kept = ~find_ids(np.concatenate(ids), gone)[0]
    edges, size = [0], 0
    for row, more in enumerate((np.concatenate(sizes) * kept).tolist()):
        if size and size + more > text_bytes:
            edges.append(row)
            size = 0
        size += more
    edges.append(len(kept))
    for number, (start, stop) in enumerate(pairwise(edges)):
        yield CutPiece(
            number=first + number,
            part=judged.name,
            source=judged.name.partition("/")[0],
            rows=range(start, stop),
            kept=np.packbits(kept[start:stop]).tobytes(),
            documents=_input(judged.documents),
            signatures=_input(judged.signatures),
            verdicts=_input(judged.verdicts),
        )


def inputs_of(pieces: Sequence[CutPiece]) -> tuple[Input, ...]:
    """Return the tables that pieces are read from."""
    return tuple(
        dict.fromkeys(
            each for piece in pieces for each in (piece.documents, piece.signatures, piece.verdicts)
        )
    )


def documents_of(store: PartStore, piece: CutPiece) -> PieceDocuments:
    """Return what the signatures say. Raise `CorruptData` if the table is not as it was sealed."""
    table = tables.read(store, piece.signatures, _PLACES).slice(piece.rows.start, len(piece.rows))
    kept = np.unpackbits(np.frombuffer(piece.kept, np.uint8), count=len(piece.rows)).astype(np.bool_)
    table = table.take(np.flatnonzero(kept))
    hashes = b"".join(cast("list[bytes]", table["text_hash"].to_pylist()))
    return PieceDocuments(
        ids=[str(each) for each in table["id"].to_pylist()],
        urls=[str(each) for each in table["url"].to_pylist()],
        text_hashes=np.frombuffer(hashes, ">u8")[::2].astype(np.uint64),
        text_bytes=table["text_bytes"].to_numpy(),
        fetched_at_ms=table["fetched_at_ms"].to_numpy(),
    )


def texts_of(store: PartStore, piece: CutPiece, ids: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each document of a piece, as the rules edited it. `ids` are those of its
    documents, in order; the numbers of documents that are not wanted may be left out by an empty id.

    Raise `CorruptData` if a table is not as it was sealed, or lacks a document.
    """
    numbers = {id_: number for number, id_ in enumerate(ids) if id_}
    wanted = pa.array(list(numbers), pa.string())
    edits = tables.edits_by_id(store, piece.verdicts)
    sealed_reading.check_sealed(store, piece.documents)
    found = 0
    for rows in tables.row_groups(store, piece.documents, _TEXTS):
        here = rows.filter(pc.is_in(rows["id"], value_set=wanted))
        for id_, text in zip(here["id"].to_pylist(), here["text"].to_pylist(), strict=True):
            found += 1
            yield numbers[str(id_)], apply(str(text), edits.get(str(id_), ()))
    if found != len(numbers):
        raise CorruptData(
            f"{piece.documents.name} lacks documents that {piece.signatures.name} has; run `thresher process --redo`"
        )


def _input(output: Output) -> Input:
    return Input(name=output.name, sha256=output.sha256)
