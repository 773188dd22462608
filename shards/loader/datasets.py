"""Open exports: their manifests, and the shards of token ids that they hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import xxhash

from core import InputError
from shards.dataset import Dataset, ShardFile, SideFile
from shards.formats import tokens
from storage.directory_store import DirectoryStore
from storage.location import SCHEMES, open_store
from storage.store import Store

MANIFEST_FILE = "manifest.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderShard:
    """One shard that a loader reads."""

    store: Store
    file: ShardFile
    source: str
    side_files: dict[str, SideFile]
    """Files of the same export by name: packing plans and document references are among them."""

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

    @property
    def sources(self) -> dict[str, tuple[int, ...]]:
        """The shards of each source by number, sources in the order of their first shard."""
        found: dict[str, list[int]] = {}
        for number, shard in enumerate(self.shards):
            found.setdefault(shard.source, []).append(number)
        return {source: tuple(numbers) for source, numbers in found.items()}


def open_data(locations: Sequence[str | Path]) -> LoaderData:
    """Return the shards of the exports at these directories or addresses.

    Raise `InputError` if there is no finished export, if it has no shards of the format `tokens`, or if the exports
    have different tokenizers.
    """
    if not locations:
        raise InputError("Loader([]): give at least one export directory")
    fingerprints, shards = [], []
    tokenizers: dict[str, str | Path] = {}
    for location in locations:
        store = dataset_store(location)
        if not store.exists(MANIFEST_FILE):
            raise InputError(f"{location}: has no {MANIFEST_FILE}, so no export was finished there")
        dataset = Dataset.from_json(store.read(MANIFEST_FILE), f"{store.uri}/{MANIFEST_FILE}")
        beside = (file for shard in dataset.shards for file in shard.companions)
        side_files = {file.name: file for file in (*dataset.files, *beside)}
        found = [
            LoaderShard(store=store, file=file, source=file.source or "", side_files=side_files)
            for file in dataset.shards
            if file.format == tokens.FORMAT
        ]
        if not found:
            raise InputError(f"{location}: has no shards of tokens; export with `--format {tokens.FORMAT}`")
        shards += found
        fingerprints.append(dataset.fingerprint)
        tokenizers.setdefault(str(dataset.recipe.get("tokenizer", {}).get("sha256")), location)
    if len(tokenizers) > 1:
        first, second, *_ = tokenizers.values()
        raise InputError(f"{first} and {second} have different tokenizers; export both with the same one")
    return LoaderData(
        fingerprint=xxhash.xxh3_128_hexdigest("\n".join(fingerprints).encode()), shards=tuple(shards)
    )


def dataset_store(location: str | Path) -> Store:
    """Return the store of an export: a directory, or an address such as `s3://bucket/out`."""
    if isinstance(location, str) and location.partition(":")[0] in SCHEMES:
        return open_store(location, Path.cwd(), key="Loader")
    if "://" in str(location):
        raise InputError(
            f"Loader({str(location)!r}): give a directory, or an address of {' or '.join(SCHEMES)}"
        )
    return DirectoryStore(Path(location).absolute())
