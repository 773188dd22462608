"""The options of a loader, checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core import InputError
from core.settings import parse_size
from shards.loader.epoch_order import SHUFFLES
from shards.packing import PACKINGS

LARGEST_SEED = (1 << 63) - 1


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
    epochs: int | None
    shuffle: str
    drop_last: bool
    pad_id: int
    cache: Path
    cache_bytes: int

    @property
    def step(self) -> int:
        """Sequences of one step over all ranks."""
        return self.batch_size * self.world_size


def check_options(options: LoaderOptions) -> None:
    """Raise `InputError`, which names the option, if one of them is impossible."""
    for name, least in (("length", 1), ("batch_size", 1), ("world_size", 1), ("rank", 0), ("seed", 0)):
        value = getattr(options, name)
        if type(value) is not int or value < least:
            raise InputError(f"{name}={value!r}: give a whole number of at least {least}")
    if options.rank >= options.world_size:
        raise InputError(f"rank={options.rank}: ranks of world_size={options.world_size} go from 0")
    if options.seed > LARGEST_SEED:
        raise InputError(f"seed={options.seed}: give a number of at most 63 bits")
    if options.epochs is not None and (type(options.epochs) is not int or options.epochs < 1):
        raise InputError(
            f"epochs={options.epochs!r}: give a whole number of at least 1, or None for a run without end"
        )
    for name, known in (("packing", PACKINGS), ("shuffle", SHUFFLES)):
        if getattr(options, name) not in known:
            raise InputError(f"{name}={getattr(options, name)!r}: give one of {', '.join(known)}")
    if options.mix is not None and not (options.mix and all(share > 0 for share in options.mix.values())):
        raise InputError(f"mix={dict(options.mix)!r}: give a share above 0 for each of one or more sources")


def size_of(text: str | int) -> int:
    """Return the bytes of `cache_size`. Raise `InputError` if it is not a size."""
    if isinstance(text, int):
        return text
    try:
        return parse_size(text)
    except ValueError as error:
        raise InputError(f"cache_size={text!r}: {error}") from None
