"""Open exports: their manifests, and the shards of token ids that they hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import xxhash

from thresher.core import CorruptData, InputError
from thresher.shards.dataset import Dataset, ShardFile, SideFile
from thresher.shards.formats import tokens
from thresher.shards.formats.checked_file import REMEDY
from thresher.shards.packed_rows import IdFormat
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.location import SCHEMES, open_store
from thresher.storage.store import Store

MANIFEST_FILE = "manifest.json"
ID_BYTES = {"uint16": 2, "uint32": 4}
"""Bytes of a token id by the `dtype` that the recipe of an export has."""


class Counted(Protocol):
    """What the header of a shard says."""

    @property
    def documents(self) -> int:
        """Number of documents."""
        ...

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        ...

    @property
    def id_bytes(self) -> int:
        """Bytes of a token id."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderShard:
    """One shard that a loader reads."""

    store: Store
    file: ShardFile
    source: str
    id_bytes: int
    """Bytes of a token id."""
    side_files: dict[str, SideFile]
    """Files of the same export by name: packing plans and document references are among them."""

    @property
    def frame_sha256(self) -> str:
        """The frame digest of the shard (`shards.formats.checked_file`)."""
        assert self.file.frame_sha256 is not None, "`open_data` has checked it"
        return self.file.frame_sha256

    @property
    def where(self) -> str:
        """The address of the shard, for messages."""
        return f"{self.store.uri}/{self.file.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderData:
    """All shards of one or several exports."""

    fingerprint: str
    """Identity of the exports, in their order."""
    shards: tuple[LoaderShard, ...]
    ids: IdFormat
    """How all shards hold token ids."""

    @property
    def sources(self) -> dict[str, tuple[int, ...]]:
        """The shards of each source by number, sources in the order of their first shard."""
        found: dict[str, list[int]] = {}
        for number, shard in enumerate(self.shards):
            found.setdefault(shard.source, []).append(number)
        return {source: tuple(numbers) for source, numbers in found.items()}


def open_data(locations: Sequence[str | Path]) -> LoaderData:
    """Return the shards of the exports at these directories or addresses.

    Raise `InputError` if there is no finished export, if it has no shards of the format `tokens`, if the exports have
    different tokenizers, or if two of them are the same; raise `CorruptData` if a manifest is damaged.
    """
    shards: list[LoaderShard] = []
    exports: dict[str, str | Path] = {}
    tokenizers: dict[str, str | Path] = {}
    is_marked: list[bool] = []
    for location in locations:
        store = dataset_store(location)
        dataset = _manifest(store, location)
        if (other := exports.get(dataset.fingerprint)) is not None:
            raise InputError(
                f"{other} and {location} are the same export; give it once, and epochs for more of it"
            )
        exports[dataset.fingerprint] = location
        shards += _shards(store, dataset, location)
        is_marked.append(dataset.recipe.get("messages") is not None)
        tokenizers.setdefault(str(dataset.recipe["tokenizer"].get("sha256")), location)
    if len(tokenizers) > 1:
        first, second, *_ = tokenizers.values()
        raise InputError(f"{first} and {second} have different tokenizers; export both with the same one")
    if len({shard.id_bytes for shard in shards}) > 1:
        raise InputError(
            "the exports have ids of 16 and of 32 bits; export all of them with --id-type int32 (an export of "
            "--messages always has 32)"
        )
    return LoaderData(
        fingerprint=xxhash.xxh3_128_hexdigest("\n".join(exports).encode()),
        shards=tuple(shards),
        ids=IdFormat(shards[0].id_bytes, any(is_marked)),
    )


def check_counts(shard: LoaderShard, found: "Counted", where: str) -> None:
    """Raise `CorruptData` if a shard does not hold what its manifest says."""
    sealed = (shard.file.documents, shard.file.tokens, shard.id_bytes)
    if (found.documents, found.tokens, found.id_bytes) != sealed:
        raise CorruptData(
            f"{where}: has {found.documents} documents and {found.tokens} tokens of {found.id_bytes} bytes where the "
            f"manifest says {sealed[0]}, {sealed[1]} and {sealed[2]}; {REMEDY}"
        )


def _manifest(store: Store, location: str | Path) -> Dataset:
    try:
        if not store.exists(MANIFEST_FILE):
            raise InputError(
                f"Loader({str(location)!r}): has no {MANIFEST_FILE}, so no export was finished there"
            )
        return Dataset.from_json(store.read(MANIFEST_FILE), f"{store.uri}/{MANIFEST_FILE}")
    except (OSError, ValueError) as error:  # no right to read it, a name that no file can have
        raise InputError(f"Loader({str(location)!r}): {getattr(error, 'strerror', None) or error}") from None


def _shards(store: Store, dataset: Dataset, location: str | Path) -> list[LoaderShard]:
    beside = (file for shard in dataset.shards for file in shard.companions)
    side_files = {file.name: file for file in (*dataset.files, *beside)}
    tokenizer = dataset.recipe.get("tokenizer", "")
    if tokenizer is None:
        raise InputError(
            f"Loader({str(location)!r}): it holds texts and no token ids; export with --tokenizer FILE --format tokens"
        )
    id_bytes = ID_BYTES.get(str(tokenizer.get("dtype")) if isinstance(tokenizer, dict) else "")
    if id_bytes is None:
        raise CorruptData(
            f"{store.uri}/{MANIFEST_FILE}: its recipe names no tokenizer with the type of its ids; export into another "
            "directory"
        )
    found = [
        LoaderShard(
            store=store, file=file, source=file.source or "", id_bytes=id_bytes, side_files=side_files
        )
        for file in dataset.shards
        if file.format == tokens.FORMAT
    ]
    if not found:
        raise InputError(
            f"Loader({str(location)!r}): has no shards of tokens; export with `--format {tokens.FORMAT}`"
        )
    for shard in found:
        if shard.file.frame_sha256 is None:
            raise CorruptData(
                f"{shard.where}: the manifest has no frame_sha256 of it; export into another directory"
            )
    return found


def dataset_store(location: str | Path) -> Store:
    """Return the store of an export: a directory, or an address such as `s3://bucket/out`."""
    if isinstance(location, str) and location.partition(":")[0] in SCHEMES:
        return open_store(location, Path.cwd(), key="Loader")
    if "://" in str(location):
        raise InputError(
            f"Loader({str(location)!r}): give a directory, or an address of {' or '.join(SCHEMES)}"
        )
    return DirectoryStore(Path(location).absolute())
