"""`tokens`: shards of token ids that a loader maps into memory and reads at any token without parsing.

Layout, little-endian; the frame with header and checksums is that of `shards.formats.checked_file`
1. Header: magic `THRTOKEN`, version, bytes of a token id (u32: 2 or 4; 260 for ids of 4 bytes whose highest bit says
   that they bear no loss, `shards.loss_marks`), documents (u64), tokens (u64), offset of the
   ids (u64: 4,096), offset of the ends (u64), offset of the checksums (u64), bytes of a block (u64).
2. ids: the tokens of all documents, one after the other.
3. ends: for each document, the index behind its last token (u64).
4. Checksums of the blocks of 2 and 3.

The documents of a shard have one source. What belongs to a document but not to training stands in a Parquet file beside
the shard (`refs_name`), one row a document in the same order.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from thresher.core import CorruptData, InputError
from thresher.shards.formats.checked_file import (
    BLOCK_BYTES,
    HEADER_BYTES,
    REMEDY,
    CheckedFile,
    CheckedWriter,
    Header,
)
from thresher.shards.packed_rows import id_bytes_view

MAGIC = b"THRTOKEN"
FORMAT = "tokens"
"""What `ShardFile.format` says of such a shard."""
SUFFIX = ".tokens"
SMALL_VOCABULARY = 1 << 16
MARKED = 256
"""Is added to the bytes of an id in a header if ids are marked."""


def id_bytes_of(vocabulary: int) -> int:
    """Return the bytes that each token id needs: 2 if all ids are below 65,536, else 4."""
    return 2 if vocabulary <= SMALL_VOCABULARY else 4


def shard_path(source: str, number: int) -> str:
    """Return the path of a shard in the export directory; `source` must be safe as a part of a path."""
    return f"{FORMAT}/{source}/shard-{number:05d}{SUFFIX}"


def refs_name(shard: str) -> str:
    """Return the path of the Parquet file that says which document and record each row of a shard is."""
    return shard.removesuffix(SUFFIX) + ".refs.parquet"


class TokensWriter:
    """Writes one shard, batch by batch. Memory: 8 bytes a document, 8 bytes a MiB, and the batch."""

    def __init__(self, file: BinaryIO, *, id_bytes: int, is_marked: bool = False) -> None:
        """Begin a shard in an empty, seekable file; `is_marked` says that ids have marks (`shards.loss_marks`).

        Raise `ValueError` if `id_bytes` is neither 2 nor 4, or not 4 and ids are marked.
        """
        if id_bytes not in ((4,) if is_marked else (2, 4)):
            raise ValueError(f"id_bytes is {id_bytes}; 2 and 4 are possible, and 4 for marked ids")
        self._id_bytes, self._kind = id_bytes, id_bytes + MARKED * is_marked
        self._out = CheckedWriter(file)
        self._ends: list[npt.NDArray[np.uint64]] = []
        self._tokens = 0

    def write(self, ids: npt.NDArray[np.uint32], ends: npt.NDArray[np.int64]) -> None:
        """Append documents: their ids one after the other, and the index behind each document's last id.

        Raise `InputError` if an id does not fit `id_bytes`, and `ValueError` if `ends` do not divide `ids`.
        """
        if (ends[-1] if len(ends) else 0) != len(ids) or (np.diff(ends, prepend=0) < 0).any():
            raise ValueError("the ends must not fall, and the last one must be the number of ids")
        if len(ids) and int(ids.max()) >= 1 << (8 * self._id_bytes):
            raise InputError(
                f"token id {int(ids.max())} does not fit {self._id_bytes} bytes; the tokenizer's vocabulary is larger "
                "than it says: count its added tokens too"
            )
        self._out.write(ids.astype(f"<u{self._id_bytes}"))
        self._ends.append(ends.astype("<u8") + np.uint64(self._tokens))
        self._tokens += len(ids)

    def close(self) -> str:
        """Complete the shard and return its frame digest. The caller closes the file."""
        ends_offset = self._out.align()
        documents = sum(len(ends) for ends in self._ends)
        for ends in self._ends:
            self._out.write(ends)
        words = (documents, self._tokens, HEADER_BYTES, ends_offset, self._out.offset, BLOCK_BYTES)
        return self._out.close(MAGIC, Header(kind=self._kind, words=words))


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensLayout:
    """Where everything stands in a shard."""

    id_bytes: int
    documents: int
    tokens: int
    ends: int
    """Offset of the ends. The ids begin behind the header."""
    stop: int
    """Offset of the checksums."""

    @staticmethod
    def of(header: Header, where: str) -> "TokensLayout":
        """Return the layout that a header describes. Raise `CorruptData` if its fields contradict each other."""
        documents, tokens, ids, ends, stop, block = header.words
        id_bytes = header.kind % MARKED
        expected = HEADER_BYTES + tokens * id_bytes
        expected += -expected % 8
        if (
            header.kind not in (2, 4, MARKED + 4)
            or (ids, block) != (HEADER_BYTES, BLOCK_BYTES)
            or (ends, stop) != (expected, expected + 8 * documents)
        ):
            raise CorruptData(f"{where}: the fields of its header contradict each other; {REMEDY}")
        return TokensLayout(id_bytes=id_bytes, documents=documents, tokens=tokens, ends=ends, stop=stop)


class TokensShard:
    """A shard mapped into memory: opening reads one page, and every block is checked before its first use."""

    def __init__(self, file: CheckedFile) -> None:
        self._file = file
        self._layout = layout = TokensLayout.of(file.header, file.where)
        self.id_bytes, self.documents, self.tokens = layout.id_bytes, layout.documents, layout.tokens
        file.seal(layout.stop)
        self._ids = file.array(f"<u{self.id_bytes}", self.tokens, HEADER_BYTES)
        self.unchecked_bytes = id_bytes_view(self._ids)
        """The bytes of all ids. Read only spans for which `check` or `check_spans` was called."""
        self._ends = file.array("<u8", self.documents, layout.ends)

    @classmethod
    def open(cls, path: Path | str, frame_sha256: str | None = None) -> "TokensShard":
        """Map a shard. If `frame_sha256` is given, it must be the frame digest of the shard.

        Raise `CorruptData` if it is missing, cut off, its header is damaged, or it is another shard, and `Unavailable`
        if the system does not let it be mapped.
        """
        return cls(CheckedFile(Path(path), MAGIC, frame_sha256))

    @property
    def bytes(self) -> int:
        """Bytes of the file."""
        return self._file.size

    def check(self, start: int, stop: int) -> None:
        """Check the blocks of tokens `start` to `stop`. Raise `CorruptData` with file and offset if one is damaged."""
        if start < stop:
            self._file.check(HEADER_BYTES + start * self.id_bytes, HEADER_BYTES + stop * self.id_bytes)

    def check_spans(self, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> None:
        """Do the same for many spans of tokens."""
        if self._file.is_checked:
            return
        begins = HEADER_BYTES + starts * self.id_bytes
        self._file.check_spans(begins, begins + lengths * self.id_bytes)

    def ids(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Return tokens `start` to `stop` without a copy, checked. Raise `CorruptData` if a block is damaged."""
        self.check(start, stop)
        return self._ids[start:stop]

    @property
    def ends(self) -> npt.NDArray[np.uint64]:
        """For each document the index behind its last token, checked. Raise `CorruptData` if a block is damaged."""
        if self.documents:
            self._file.check(self._layout.ends, self._layout.stop)
        return self._ends
