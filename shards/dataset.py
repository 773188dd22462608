"""`Dataset`: the `manifest.json` of an export directory, the seal of a finished dataset.

It names every other file of the directory with its SHA-256, and carries the digest of itself: a change to any byte is found.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from core import CorruptData

FORMAT = "thresher-parquet@2"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardFile:
    """One shard and what it holds."""

    name: str
    """Relative to the export directory: `data/shard-00000.parquet`."""
    bytes: int
    sha256: str
    documents: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SideFile:
    """Another file of the export directory: the report, the README."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A finished dataset: its recipe, and every file with its digest."""

    fingerprint: str
    recipe: Mapping[str, Any]
    shards: tuple[ShardFile, ...]
    files: tuple[SideFile, ...]

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
            "files": [asdict(file) for file in self.files],
            "recipe": self.recipe,
        }
        sealed = {**body, "digest": _digest(body)}
        return (json.dumps(sealed, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()

    @staticmethod
    def from_json(data: bytes, where: str) -> "Dataset":
        """Read back what `to_json` wrote. `where` is named in the CorruptData that anything else raises."""
        remedy = "run `thresher verify OUT --repair`, then the same export again"
        try:
            body = json.loads(data)
            if body["format"] != FORMAT:
                raise CorruptData(
                    f"{where}: format {body['format']!r} is not {FORMAT!r}; export into another directory"
                )
            digest = body.pop("digest")
            dataset = Dataset(
                fingerprint=body["fingerprint"],
                recipe=body["recipe"],
                shards=tuple(ShardFile(**shard) for shard in body["shards"]),
                files=tuple(SideFile(**file) for file in body["files"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CorruptData(f"{where}: not the manifest of an export ({error!r}); {remedy}") from None
        if digest != _digest(body):
            raise CorruptData(f"{where} was changed after it was sealed; {remedy}")
        return dataset


def _digest(body: Mapping[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
