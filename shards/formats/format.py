"""`Format`: what the export must know of a shard format, and `ShardWriter`, which makes the files of one shard.

A writer gets the rows of its shard in order, as Arrow tables of bounded size, and streams them into files that cannot
seek. The same rows in the same order give the same bytes, however they are divided into tables.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Protocol

import pyarrow as pa

from thresher.shards.card_facts import CardFacts
from thresher.shards.dataset import ShardFile


class ShardWriter(Protocol):
    """Writes the files of one shard."""

    def write(self, rows: pa.Table) -> None:
        """Append rows that have at least the columns of the shard, or those of `shard_rows.RowColumns.exact`."""
        ...

    def close(self) -> str | None:
        """Write what follows the last row. The caller closes the files. Return the frame digest of the shard if its
        format has one (`shards.formats.checked_file`).
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSize:
    """Sums over some rows, from which a format estimates its bytes."""

    rows: int = 0
    tokens: int = 0
    text_bytes: int = 0
    column_bytes: int = 0
    """Bytes of the columns that the user named."""

    def __add__(self, other: "RowSize") -> "RowSize":
        return RowSize(
            rows=self.rows + other.rows,
            tokens=self.tokens + other.tokens,
            text_bytes=self.text_bytes + other.text_bytes,
            column_bytes=self.column_bytes + other.column_bytes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One shard format."""

    name: str
    """The value of `--format`."""
    directory: str
    """Folder of the shards in the export directory. It holds only files of this format."""
    file_names: Callable[[int, int], tuple[str, ...]]
    """Names of the files of shard `number` of `count`, relative to the folder; the first one is the shard itself."""
    open: Callable[[Sequence[BinaryIO], pa.Schema, int, RowSize], ShardWriter]
    """Return the writer of a shard: its files, the columns of its rows, the bytes of a token id (2 or 4), and what it
    will hold. The last one is exact if `counts_first` is set, and empty otherwise.
    """
    bytes_of: Callable[[RowSize, int], int]
    """Return the bytes that rows take before compression, given the bytes of a token id."""
    is_by_source: bool = False
    """Whether a shard holds rows of one source only, in a folder that has the name of the source."""
    counts_first: bool = False
    """Whether a shard can only be begun if its tokens are counted."""
    needs_tokens: bool = False
    """Whether the format has a place for token ids alone, so that nothing can be written without a tokenizer."""
    holds_text: bool = True
    """Whether the shards hold the texts, unless the user leaves them out."""
    shard_bytes: int = 10**9
    """Bytes of a shard before compression, unless the user gives another number."""
    side_files: Callable[[Sequence[ShardFile], pa.Schema, CardFacts], Mapping[str, bytes]] | None = None
    """Return the files that describe all shards, by path in the export directory, given the columns and what is
    known of the dataset.
    """
