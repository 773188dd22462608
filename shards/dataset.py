"""`Dataset`: the `manifest.json` of an export directory, which seals a finished dataset.

It names every other file of the directory with its SHA-256 and holds its own digest, so that any changed byte is found.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

import msgspec

from thresher.core import CorruptData

FORMAT = "thresher-export@4"
Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SideFile:
    """A file of the export directory that is not a shard: the report, a README, an index."""

    name: str
    bytes: Count
    sha256: str
    frame_sha256: str | None = None
    """Of a packing plan: the SHA-256 of its header and checksums, which a reader compares when it opens the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardFile:
    """One shard and its contents."""

    name: str
    """Path relative to the export directory: `data/shard-00000.parquet`."""
    bytes: Count
    sha256: str
    documents: Count
    tokens: Count
    """Token ids without padding."""
    format: str = "parquet"
    """The value of `--format`."""
    frame_sha256: str | None = None
    """Of a shard of token ids: the SHA-256 of its header and checksums, which a reader compares when it opens the file.
    """
    source: str | None = None
    """The component of the mix that all documents of the shard belong to; None if it holds documents of several."""
    sequences: Count = 0
    """Packed sequences; 0 if documents are not packed."""
    placed_tokens: Count = 0
    """Tokens in sequences; the others were cut off."""
    cut_documents: Count = 0
    """Documents that are not whole in one sequence."""
    data_bytes: Count = 0
    """Bytes of its rows before compression, as Arrow holds them."""
    companions: tuple[SideFile, ...] = ()
    """Files that belong to this shard alone, such as its index."""
    text_bytes: Count | None = None
    """UTF-8 bytes of the texts in a dataset without tokens; None in others."""
    loss_tokens: Count | None = None
    """Tokens that bear loss in a dataset of conversations; None in others."""

    @property
    def rows(self) -> int:
        """Rows of the shard: documents, or packed sequences in a format of rows."""
        return self.documents if self.source is not None else self.sequences or self.documents

    @property
    def files(self) -> tuple["ShardFile | SideFile", ...]:
        """All files of the shard."""
        return (self, *self.companions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A finished dataset: its recipe, and every file with its digest."""

    fingerprint: str
    recipe: Mapping[str, Any]
    shards: tuple[ShardFile, ...]
    files: tuple[SideFile, ...]
    mix: tuple[Mapping[str, Any], ...] = ()
    """What each source contributes."""
    schema: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    """For each format name, type and nullability of the columns of a row. Empty if rows have the usual columns of
    tokenized documents.
    """
    contents: Mapping[str, Mapping[str, Count]] = field(default_factory=dict)
    """Documents by `language` and by `license`, as often as they occur; the rarest ones together as `(others)`. If the
    tokenizer has special tokens, also by the first name of one in a text (`special_token`), empty for none.
    """
    left_out: Mapping[str, Count] = field(default_factory=dict)
    """Documents of a dataset of conversations that are not in it, by reason
    (`shards.chat.conversation_encoder.REASONS`).
    """

    @property
    def documents(self) -> int:
        """Number of documents in the dataset; a repeated document counts as often as it occurs."""
        return count_documents(self.shards)

    @property
    def tokens(self) -> int | None:
        """Number of tokens in the dataset; None if it was exported without a tokenizer."""
        return None if self.recipe.get("tokenizer", "") is None else count_tokens(self.shards)

    @property
    def text_bytes(self) -> int | None:
        """UTF-8 bytes of the texts in a dataset without tokens; None in others, and if the texts were left out."""
        return count_text_bytes(self.shards)

    @property
    def loss_tokens(self) -> int | None:
        """Tokens that bear loss in a dataset of conversations; None in others."""
        return count_loss_tokens(self.shards)

    @property
    def special_token_texts(self) -> int | None:
        """Number of documents whose text has the name of a special token; None if there is no special token."""
        found = self.contents.get("special_token")
        return None if found is None else sum(count for name, count in found.items() if name)

    @property
    def rows(self) -> Mapping[str, Mapping[str, int]]:
        """What the reader of each format counts: `documents`, or the `sequences` that documents are packed into.

        `thresher.Loader` packs documents by itself: a dataset with packing has, as `tokens`, the sequences of one epoch
        with the same length and packing. Its formats may differ, because shards of `tokens` are packed one by one.
        """
        unit = "documents" if self.recipe.get("packing") is None else "sequences"
        found: dict[str, dict[str, int]] = {}
        for shard in self.shards:
            counts = found.setdefault(shard.format, {unit: 0})
            counts[unit] += getattr(shard, unit)
        return found

    def to_json(self) -> bytes:
        """Return the bytes of the file; equal datasets give equal bytes."""
        body = {
            "format": FORMAT,
            "fingerprint": self.fingerprint,
            "documents": self.documents,
            "tokens": self.tokens,
            **({} if self.text_bytes is None else {"text_bytes": self.text_bytes}),
            "rows": self.rows,
            **({} if self.loss_tokens is None else {"loss_tokens": self.loss_tokens}),
            "shards": [shard_body(shard) for shard in self.shards],
            "files": [asdict(file) for file in self.files],
            "mix": list(self.mix),
            "recipe": self.recipe,
            **({"schema": dict(self.schema)} if self.schema else {}),
            **({"contents": dict(self.contents)} if self.contents else {}),
            **({"left_out": dict(self.left_out)} if self.left_out else {}),
        }
        sealed = {**body, "digest": _digest(body)}
        return (json.dumps(sealed, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()

    @staticmethod
    def from_json(data: bytes, where: str) -> "Dataset":
        """Return the dataset that `to_json` wrote. Raise `CorruptData`, which names `where`, for any other bytes."""
        remedy = "run `thresher verify OUT --repair`, then the same export again"
        try:
            body = json.loads(data)
            if body["format"] != FORMAT:
                raise CorruptData(
                    f"{where}: format {body['format']!r} is not {FORMAT!r}; export into another directory"
                )
            digest = body.pop("digest")
            dataset = msgspec.convert(body, Dataset)
        except (ValueError, KeyError, TypeError, AttributeError, msgspec.MsgspecError) as error:
            raise CorruptData(f"{where}: not the manifest of an export ({error!r}); {remedy}") from None
        if digest != _digest(body):
            raise CorruptData(f"{where} was changed after it was sealed; {remedy}")
        return dataset


def count_documents(shards: Sequence[ShardFile]) -> int:
    """Return the number of documents in a dataset. Every format holds the whole dataset, so one format is counted."""
    return sum(shard.documents for shard in _of_one_format(shards))


def count_tokens(shards: Sequence[ShardFile]) -> int:
    """Return the number of tokens in a dataset. Every format holds the whole dataset, so one format is counted."""
    return sum(shard.tokens for shard in _of_one_format(shards))


def count_text_bytes(shards: Sequence[ShardFile]) -> int | None:
    """Return the bytes of text in a dataset without tokens; None in others."""
    return _sum([shard.text_bytes for shard in _of_one_format(shards)])


def count_loss_tokens(shards: Sequence[ShardFile]) -> int | None:
    """Return the number of tokens that bear loss in a dataset of conversations; None in others."""
    return _sum([shard.loss_tokens for shard in _of_one_format(shards)])


def _sum(counts: Sequence[int | None]) -> int | None:
    return None if None in counts else sum(each or 0 for each in counts)


def _of_one_format(shards: Sequence[ShardFile]) -> Iterator[ShardFile]:
    return (shard for shard in shards if shard.format == shards[0].format)


def counted_shards(count: int) -> str:
    """Return a number of shards for people."""
    return f"{count:,} shard" if count == 1 else f"{count:,} shards"


def shard_body(shard: ShardFile) -> dict[str, Any]:
    """Return a shard as plain JSON."""
    body = asdict(shard)
    for name in ("text_bytes", "loss_tokens"):
        if body[name] is None:
            del body[name]
    return body


def shard_file(body: Mapping[str, Any]) -> ShardFile:
    """Return the shard that `dataclasses.asdict` turned into a mapping."""
    return ShardFile(**{**body, "companions": tuple(SideFile(**file) for file in body["companions"])})


def _digest(body: Mapping[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
