"""`Dataset`: the `manifest.json` of an export directory, the seal of a finished dataset."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from core import CorruptData

FORMAT = "thresher-parquet@1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardFile:
    """One shard and what it holds."""

    name: str
    bytes: int
    sha256: str
    documents: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A finished dataset: its recipe, and every shard with its digest."""

    fingerprint: str
    recipe: Mapping[str, Any]
    shards: tuple[ShardFile, ...]

    @property
    def documents(self) -> int:
        """Documents in all shards."""
        return sum(shard.documents for shard in self.shards)

    @property
    def tokens(self) -> int:
        """Tokens in all shards."""
        return sum(shard.tokens for shard in self.shards)

    def to_json(self) -> bytes:
        """The file's bytes; equal datasets give equal bytes."""
        body = {
            "format": FORMAT,
            "fingerprint": self.fingerprint,
            "documents": self.documents,
            "tokens": self.tokens,
            "shards": [asdict(shard) for shard in self.shards],
            "recipe": self.recipe,
        }
        return (json.dumps(body, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()

    @staticmethod
    def from_json(data: bytes, where: str) -> "Dataset":
        """Read back what `to_json` wrote. `where` is named in the CorruptData that anything else raises."""
        try:
            body = json.loads(data)
            if body["format"] != FORMAT:
                raise CorruptData(f"{where}: format {body['format']!r} is not {FORMAT!r}")
            return Dataset(
                fingerprint=body["fingerprint"],
                recipe=body["recipe"],
                shards=tuple(ShardFile(**shard) for shard in body["shards"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptData(f"{where}: not the manifest of an export ({error!r})") from None
