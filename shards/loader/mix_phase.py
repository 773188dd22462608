"""`MixPhase`: one part of a run, and the mix in it.

Phases follow each other: a curriculum, or the last part of a training run with better texts (annealing). A source goes
on in each phase where it stood in the one before, so no phase repeats what another one gave.
"""

import math
import numbers
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from thresher.core import InputError
from thresher.shards.loader.loader_values import MAX_SEQUENCES, shown, whole

KEYS = ("until", "shares", "temperature")
MAX_PHASES = 1_000
MAX_TEMPERATURE = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class MixPhase:
    """The mix of the sequences before number `until`, and after those of the phase before."""

    until: int | None = None
    """Number of the first sequence behind the phase; None for the end of the run."""
    shares: Mapping[str, float] | None = None
    """Share of each source, names in their order."""
    temperature: float | None = None
    """Instead of shares: a source of n sequences has the share n ** (1 / temperature). With 1 it follows the sizes, and
    with more, small sources come more often (Arivazhagan et al. 2019, arXiv:1907.05019).
    """

    def weights(self, sizes: Mapping[str, int]) -> dict[str, float]:
        """Return the weight of each source of the phase, given the sequences of all sources."""
        if self.shares is not None:
            return dict(self.shares)
        assert self.temperature is not None, "`checked_phases` has seen to it"
        return {name: size ** (1 / self.temperature) for name, size in sizes.items() if size}

    @property
    def described(self) -> dict[str, Any]:
        """The phase as JSON, for the identity of a run."""
        return {
            "until": self.until,
            **({"temperature": self.temperature} if self.shares is None else {"shares": dict(self.shares)}),
        }


def checked_shares(value: object, name: str = "mix") -> Mapping[str, float]:
    """Return the shares of a mix, names in their order. Raise `InputError` for anything else."""
    if not isinstance(value, Mapping) or not value:
        raise InputError(
            f"{name}={shown(value)}: give a dict with a share above 0 for each of one or more sources"
        )
    shares = {}
    for source, share in value.items():
        is_number = isinstance(share, numbers.Real) and not isinstance(share, bool)
        if not isinstance(source, str) or not is_number or not _is_positive(share):
            raise InputError(
                f"{name}: {shown(source)} has the share {shown(share)}; give each source's name a number above 0"
            )
        shares[source] = float(share)
    return dict(sorted(shares.items()))


def checked_phases(value: object, max_sequences: int | None) -> tuple[MixPhase, ...]:
    """Return the phases of a list, or of the list `phase` in a TOML file. Raise `InputError`, which names the phase,
    for anything else.
    """
    given = _read(Path(value)) if isinstance(value, str | Path) else value
    if not isinstance(given, list | tuple) or not 1 <= len(given) <= MAX_PHASES:
        raise InputError(
            f"phases={shown(given)}: give a list of dicts with {', '.join(KEYS)}, or a TOML file that has [[phase]]"
        )
    phases = [
        _checked(each, f"phases[{number}]", max_sequences, is_last=number == len(given) - 1)
        for number, each in enumerate(given)
    ]
    _check_order([each.until for each in phases if each.until is not None], max_sequences)
    return tuple(phases)


def _read(path: Path) -> object:
    try:
        body = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"phases={str(path)!r}: cannot be read as TOML ({reason})") from None
    if body.keys() != {"phase"}:
        raise InputError(f"phases={str(path)!r}: give a file that has [[phase]] and nothing else")
    return body["phase"]


def _checked(given: object, name: str, max_sequences: int | None, *, is_last: bool) -> MixPhase:
    if not isinstance(given, Mapping) or not set(given) <= set(KEYS):
        raise InputError(f"{name}={shown(given)}: give a dict of {', '.join(KEYS)}")
    if ("shares" in given) == ("temperature" in given):
        raise InputError(f"{name}: give either shares or temperature")
    if ("until" in given) == is_last:
        wanted = "the last phase lasts to the end of the run; leave until out" if is_last else "give until"
        raise InputError(f"{name}: {wanted}")
    return MixPhase(
        until=None if is_last else _until(given["until"], name, max_sequences),
        shares=checked_shares(given["shares"], f"{name}: shares") if "shares" in given else None,
        temperature=_temperature(given["temperature"], name) if "temperature" in given else None,
    )


def _until(value: object, name: str, max_sequences: int | None) -> int:
    if not isinstance(value, str):
        return whole(f"{name}: until", value, 1, MAX_SEQUENCES)
    try:
        part = float(value.removesuffix("%")) / 100 if value.endswith("%") else math.nan
    except ValueError:
        part = math.nan
    if not 0 < part < 1:
        raise InputError(f"{name}: until={shown(value)}: give a number of sequences, or a part such as '80%'")
    if max_sequences is None:
        raise InputError(
            f"{name}: until={shown(value)} is a part of the run; give its length as max_sequences"
        )
    return round(max_sequences * part)


def _temperature(value: Any, name: str) -> float:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not 1 <= value <= MAX_TEMPERATURE:
        raise InputError(
            f"{name}: temperature={shown(value)}: give a number from 1, as the sizes are, upwards"
        )
    return float(value)


def _check_order(ends: Sequence[int], max_sequences: int | None) -> None:
    """Raise `InputError` if a phase has no sequence."""
    edges = [0, *ends, *([] if max_sequences is None else [max_sequences])]
    for number, (begin, end) in enumerate(pairwise(edges)):
        if begin >= end:
            raise InputError(
                f"phases[{number}]: it begins at sequence {begin} and ends at {end}, so it has none"
            )


def _is_positive(share: Any) -> bool:
    try:
        return 0 < float(share) < math.inf
    except OverflowError:
        return False
