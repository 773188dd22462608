"""Which shards an export makes: how many of each format and source, and which places of the order each of them has."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from thresher.shards.formats.format import Format, RowSize
from thresher.shards.formats.packing_plan import plan_name
from thresher.shards.formats.registry import FORMATS
from thresher.shards.formats.shard_rows import RowColumns
from thresher.shards.order import BY_SOURCE, MIXED, split
from thresher.shards.packer import Packing

PACKED_COLUMNS = 3
"""Columns of numbers that a packed row has for each token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardSpec:
    """One shard to make."""

    format: str
    number: int
    """Its number among the shards of its format and source."""
    count: int
    """Number of shards of its format and source."""
    source: str | None
    places: range
    """Places of its rows in the order of its format."""

    def names(self, packing: Packing | None) -> tuple[str, ...]:
        """Return the files of the shard, relative to the export directory. The first one is the shard itself."""
        kind = FORMATS[self.format]
        directory = kind.directory if self.source is None else f"{kind.directory}/{self.source}"
        names = tuple(f"{directory}/{name}" for name in kind.file_names(self.number, self.count))
        if kind.is_by_source and packing is not None and packing.kind == "best-fit":
            names += (plan_name(names[0], packing.length),)
        return names


class ShardSize(NamedTuple):
    """What decides how many rows a shard has."""

    bytes: int | None
    """Bytes of a shard before compression; None for those that suit its format."""
    id_bytes: int
    columns: RowColumns
    packing: Packing | None


def order_of(kind: Format) -> str:
    """Return the order in which a format has its rows."""
    return BY_SOURCE if kind.is_by_source else MIXED


def shards_of(
    kind: Format, source: str | None, size: RowSize, places: range, wanted: ShardSize
) -> Iterator[ShardSpec]:
    """Yield the shards of the rows at some places, which have that size together."""
    packs = wanted.packing is not None and not kind.is_by_source
    # A packed row has a position and a segment for each token, and a labelled one a label.
    columns = PACKED_COLUMNS if packs and kind.holds_text else 1
    if wanted.columns.has_labels and not kind.is_by_source:
        columns += 1
    has_text = wanted.columns.has_text and kind.holds_text and not packs
    size = RowSize(
        rows=size.rows,
        tokens=size.tokens * columns,
        text_bytes=size.text_bytes if has_text else 0,
        column_bytes=0 if packs else size.column_bytes,
    )
    most = wanted.bytes or kind.shard_bytes
    count = min(max(1, -(-kind.bytes_of(size, wanted.id_bytes) // most)), max(len(places), 1))
    for number, each in enumerate(split(places, count)):
        yield ShardSpec(format=kind.name, number=number, count=count, source=source, places=each)
