"""Make the items of an input records, some of them ahead of time, and decide how their volume is compressed."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from thresher.storage.inputs.entry import CopiedRecord, InputRecord, Item, UnusableRecord
from thresher.storage.inputs.origin import Origin, record_of
from thresher.storage.warc.compression import Compression, gzip_member
from thresher.storage.warc.dictionary import train
from thresher.storage.warc.exchange_records import IngestedRecord

MAX_RECORDS, MAX_BYTES = 100_000, 256 << 20
SAMPLE_BYTES = 2 << 20
"""Bytes of records that a dictionary is made of."""
Made: TypeAlias = "IngestedRecord | bytes | UnusableRecord"
"""A record, a record that is a member already, or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeSize:
    """Limits of a volume: it is full when it reaches either. A single record may be larger than `bytes`."""

    records: int = MAX_RECORDS
    bytes: int = MAX_BYTES


DEFAULT_SIZE = VolumeSize()


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """How the records of a volume become members."""

    compression: Compression
    front: bytes
    """What stands before the first member."""
    pack: Callable[[bytes], bytes]


GZIP_PACKING = Packing(compression="gzip", front=b"", pack=gzip_member)


def packing_of(sample: Sequence[bytes]) -> Packing:
    """Return how a volume of a table is compressed that begins with these records.

    Rows share most of their head and many words, and gzip cannot see that record by record. So a volume that has
    `SAMPLE_BYTES` of records is Zstandard with a dictionary made of them, and takes half the bytes. A smaller one is
    gzip, which every tool reads.
    """
    if sum(map(len, sample)) < SAMPLE_BYTES:
        return GZIP_PACKING
    front, pack = train(sample)
    return Packing(compression="zstd", front=front, pack=pack)


class MadeRecords:
    """The records of an input in their order. Some are made before they are taken: a volume records whether anything
    follows it, and is compressed after a sample of its records.
    """

    def __init__(self, origin: Origin, items: Iterator[Item], size: VolumeSize) -> None:
        """`size` is that of the volumes that the records go into."""
        self.size = size
        self._origin, self._items = origin, items
        self._ready: deque[tuple[Item, Made]] = deque()
        self._fill()

    @property
    def is_more(self) -> bool:
        """Whether another item follows."""
        return bool(self._ready)

    @property
    def next_date_ms(self) -> int:
        """The date of the next record; 0 if it has none."""
        following = self._ready[0][0] if self._ready else None
        return following.date_ms if isinstance(following, InputRecord) else 0

    def take(self) -> tuple[Item, Made]:
        """Return the next item and its record. There must be one."""
        taken = self._ready.popleft()
        if not self._ready:
            self._fill()
        return taken

    def sample(self) -> list[bytes]:
        """Return the first records of the next volume, `SAMPLE_BYTES` of them or all."""
        data = [made.data for _, made in self._ready if isinstance(made, IngestedRecord)]
        total = sum(map(len, data))
        while total < SAMPLE_BYTES and len(data) < self.size.records and self._fill():
            made = self._ready[-1][1]
            if isinstance(made, IngestedRecord):
                data.append(made.data)
                total += len(made.data)
        return data

    def _fill(self) -> bool:
        item = next(self._items, None)
        if item is None:
            return False
        made: Made
        if isinstance(item, InputRecord):
            made = record_of(self._origin, item)
        else:
            made = item.member if isinstance(item, CopiedRecord) else item
        self._ready.append((item, made))
        return True
