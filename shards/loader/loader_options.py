"""The options of a loader, checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thresher.core import InputError
from thresher.core.settings import parse_size
from thresher.shards.loader.epoch_order import SHUFFLES
from thresher.shards.loader.loader_values import MAX_SEED, MAX_SEQUENCES, shown, whole
from thresher.shards.loader.mix_phase import MixPhase, checked_phases, checked_shares
from thresher.shards.packing import MAX_LENGTH, PACKINGS
from thresher.storage.cache.block_cache import default_directory

MAX_POSITIONS = (1 << 31) - 1
"""Token positions of a batch, and sequences of a step: their numbers have 32 bits with a sign."""
MAX_RANKS = 1 << 24


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderOptions:
    """What a user asks of a loader."""

    length: int
    batch_size: int
    rank: int
    world_size: int
    seed: int
    packing: str
    mix: Mapping[str, float] | None
    """Share of each source, names in their order."""
    phases: tuple[MixPhase, ...]
    """The mixes of the run one after another; one that has the shares of `mix` alone; none if there is no mix."""
    epochs: int | None
    max_sequences: int | None
    shuffle: str
    drop_last: bool
    pad_id: int
    cache: Path
    cache_bytes: int

    @property
    def step(self) -> int:
        """Sequences of one step over all ranks."""
        return self.batch_size * self.world_size


def checked_options(given: Mapping[str, Any]) -> LoaderOptions:
    """Return the options of a loader as `Loader` takes them. Raise `InputError`, which names the option, if one is
    impossible.
    """
    mix = None if given["mix"] is None else checked_shares(given["mix"])
    max_sequences = _optional("max_sequences", given["max_sequences"], MAX_SEQUENCES)
    options = LoaderOptions(
        length=whole("length", given["length"], 1, MAX_LENGTH),
        batch_size=whole("batch_size", given["batch_size"], 1, MAX_POSITIONS),
        rank=whole("rank", given["rank"], 0, MAX_RANKS - 1),
        world_size=whole("world_size", given["world_size"], 1, MAX_RANKS),
        seed=whole("seed", given["seed"], 0, MAX_SEED),
        packing=_one_of("packing", given["packing"], PACKINGS),
        mix=mix,
        phases=_phases(mix, given["phases"], max_sequences),
        epochs=_optional("epochs", given["epochs"], MAX_POSITIONS),
        max_sequences=max_sequences,
        shuffle=_one_of("shuffle", given["shuffle"], SHUFFLES),
        drop_last=_flag("drop_last", given["drop_last"]),
        pad_id=whole("pad_id", given["pad_id"], 0, MAX_SEED),
        cache=_cache(given["cache"]),
        cache_bytes=_size("cache_size", given["cache_size"]),
    )
    if options.rank >= options.world_size:
        raise InputError(
            f"rank={options.rank}: ranks of world_size={options.world_size} go from 0 to {options.world_size - 1}"
        )
    for name, product in (("length", options.batch_size * options.length), ("world_size", options.step)):
        if product > MAX_POSITIONS:
            raise InputError(
                f"batch_size={options.batch_size} times {name}={getattr(options, name)} is {product}; "
                f"{MAX_POSITIONS} is the most"
            )
    return options


def checked_locations(datasets: object) -> list[str | Path]:
    """Return the locations of one or several exports. Raise `InputError` if they are none."""
    given = [datasets] if isinstance(datasets, str | Path) else datasets
    if not isinstance(given, list | tuple):
        raise InputError(
            f"Loader({shown(datasets)}): give an export directory, its address, or a list of them"
        )
    if not given:
        raise InputError("Loader([]): give at least one export directory")
    for location in given:
        if not isinstance(location, str | Path) or not str(location):
            raise InputError(f"Loader: {shown(location)} is no export directory and no address")
    return list(given)


def _one_of(name: str, value: object, known: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in known:
        raise InputError(f"{name}={shown(value)}: give one of {', '.join(known)}")
    return value


def _flag(name: str, value: object) -> bool:
    if type(value).__name__ not in ("bool", "bool_"):  # of Python, and of NumPy
        raise InputError(f"{name}={shown(value)}: give True or False")
    return bool(value)


def _phases(
    mix: Mapping[str, float] | None, given: object, max_sequences: int | None
) -> tuple[MixPhase, ...]:
    if given is None:
        return () if mix is None else (MixPhase(shares=mix),)
    if mix is not None:
        raise InputError("give either mix, for all of the run, or phases")
    return checked_phases(given, max_sequences)


def _optional(name: str, value: object, most: int) -> int | None:
    if value is None:
        return None
    try:
        return whole(name, value, 1, most)
    except InputError as error:
        raise InputError(f"{error}, or None for a run without end") from None


def _cache(value: object) -> Path:
    if value is None:
        return default_directory().with_name("shards")
    if not isinstance(value, str | Path) or not str(value):
        raise InputError(f"cache={shown(value)}: give a directory")
    return Path(value).absolute()


def _size(name: str, value: object) -> int:
    if not isinstance(value, str):
        return whole(name, value, 0, MAX_SEED)
    try:
        return parse_size(value)
    except ValueError as error:
        raise InputError(f"{name}={value!r}: {error}") from None
