"""A packing plan: which tokens of one shard make each sequence, computed once for a shard and a length.

Only `best-fit` needs a plan; the sequences of the other packings follow from the ends of the documents
(`shards.packing`). An export with `--pack` writes the plan beside its shard; a loader that finds none computes it and
keeps it in its cache.

Layout, little-endian; the frame with header and checksums is that of `shards.formats.checked_file`
1. Header: magic `THRPLANS`, version, length of a sequence (u32), documents and tokens of the shard, sequences, pieces,
   documents of a window, offset of the checksums (u64 each), frame digest of the shard.
2. For each sequence, the index behind its last piece (u64).
3. For each piece, its first token in the shard (u64).
4. For each piece, its tokens (u32).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from thresher.core import CorruptData
from thresher.shards.formats.checked_file import HEADER_BYTES, REMEDY, CheckedFile, CheckedWriter, Header
from thresher.shards.formats.tokens import SUFFIX
from thresher.shards.packing import (
    WINDOW_DOCUMENTS,
    IntArray,
    PackingLoss,
    Pieces,
    best_fit_windows,
    packing_loss,
)

MAGIC = b"THRPLANS"
PLAN_SUFFIX = ".plan"


def plan_name(shard: str, length: int) -> str:
    """Return the path of the plan of a shard in the export directory."""
    return f"{shard.removesuffix(SUFFIX)}.best-fit-{length}{PLAN_SUFFIX}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPlan:
    """A plan that was written."""

    loss: PackingLoss
    frame_sha256: str


def write_plan(file: BinaryIO, ends: npt.NDArray[np.uint64], length: int, shard: str) -> WrittenPlan:
    """Write the best-fit plan of the shard with the frame digest `shard` into an empty, seekable file.

    Memory: 20 bytes a piece. The same ends, length and shard give the same bytes.
    """
    windows = list(best_fit_windows(ends, length))
    counts, starts, lengths = (
        np.concatenate([np.zeros(0, np.int64), *(getattr(each, name) for each in windows)])
        for name in ("counts", "starts", "lengths")
    )
    out = CheckedWriter(file)
    out.write(np.cumsum(counts).astype("<u8"))
    out.write(starts.astype("<u8"))
    out.write(lengths.astype("<u4"))
    stop = out.align()
    tokens = int(ends[-1]) if len(ends) else 0
    words = (len(ends), tokens, len(counts), len(starts), WINDOW_DOCUMENTS, stop)
    frame = out.close(MAGIC, Header(kind=length, words=words, belongs_to=shard))
    return WrittenPlan(loss=packing_loss("best-fit", ends, len(counts), length), frame_sha256=frame)


class PackingPlan:
    """A plan mapped into memory."""

    def __init__(self, file: CheckedFile) -> None:
        self.length, self.shard = file.header.kind, file.header.belongs_to
        self.documents, self.tokens, self.sequences, pieces, self.window, stop = file.header.words
        sections = (
            HEADER_BYTES,
            HEADER_BYTES + 8 * self.sequences,
            HEADER_BYTES + 8 * (self.sequences + pieces),
        )
        end = sections[-1] + 4 * pieces
        if stop != end + -end % 8:
            raise CorruptData(f"{file.where}: the fields of its header contradict each other; {REMEDY}")
        file.seal(stop)
        self._file = file
        self._ends, self._starts, self._lengths = (
            file.array(dtype, count, offset)
            for dtype, count, offset in zip(
                ("<u8", "<u8", "<u4"), (self.sequences, pieces, pieces), sections, strict=True
            )
        )
        self._sections = sections

    @classmethod
    def open(cls, path: Path | str, frame_sha256: str | None = None) -> "PackingPlan":
        """Map a plan. If `frame_sha256` is given, it must be the frame digest of the plan.

        Raise `CorruptData` if it is missing, cut off, its header is damaged, or it is another plan, and `Unavailable`
        if the system does not let it be mapped.
        """
        return cls(CheckedFile(Path(path), MAGIC, frame_sha256))

    @property
    def bytes(self) -> int:
        """Bytes of the file."""
        return self._file.size

    def pieces(self, sequences: IntArray) -> Pieces:
        """Return the pieces of some sequences. Raise `CorruptData` with file and offset if the plan is damaged."""
        self._check(0, sequences, 8)
        self._check(0, np.maximum(sequences, 1) - 1, 8)
        stops = self._ends[sequences].astype(np.int64)
        begins = np.where(sequences > 0, self._ends[np.maximum(sequences, 1) - 1], 0).astype(np.int64)
        counts = stops - begins
        index = np.repeat(begins - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        self._check(1, index, 8)
        self._check(2, index, 4)
        return Pieces(
            counts=counts,
            starts=self._starts[index].astype(np.int64),
            lengths=self._lengths[index].astype(np.int64),
        )

    def _check(self, section: int, index: IntArray, size: int) -> None:
        if self._file.is_checked:
            return
        begins = self._sections[section] + index * size
        self._file.check_spans(begins, begins + size)
