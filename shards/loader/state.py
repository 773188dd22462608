"""The position of a run as JSON: what it takes to continue, and what it must fit."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import xxhash

from core import InputError

FORMAT = "thresher-loader@1"
LONGEST_MIX = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What decides the order of a run. A state is valid for a loader with the same identity."""

    dataset: str
    length: int
    packing: str
    shuffle: str
    seed: int
    mix: str

    @staticmethod
    def mix_text(mix: Mapping[str, float] | None) -> str:
        """Return a mix as a short text: itself, or its digest."""
        text = json.dumps(mix, sort_keys=True)
        return text if len(text) <= LONGEST_MIX else f"xxh3:{xxhash.xxh3_128_hexdigest(text.encode())}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where a run stands."""

    sequences: int = 0
    """Sequences that all ranks together have received."""
    last: int = 0
    """Those of them in the last step."""


def to_state(identity: Identity, position: Position) -> dict[str, Any]:
    """Return a state that `json.dumps` takes."""
    return {"format": FORMAT, **asdict(identity), **asdict(position)}


def from_state(state: Mapping[str, Any], identity: Identity) -> Position:
    """Return the position of a state. Raise `InputError`, which names the field, if it belongs to another run."""
    if not isinstance(state, Mapping) or state.get("format") != FORMAT:
        raise InputError(f"state: its field format is not {FORMAT!r}; give what state_dict() returned")
    for name, value in asdict(identity).items():
        if state.get(name) != value:
            raise InputError(
                f"state: {name} is {state.get(name)!r} and the loader has {value!r}; make the loader with the {name} "
                "of the run that it continues"
            )
    numbers = [state.get(name) for name in ("sequences", "last")]
    for name, number in zip(("sequences", "last"), numbers, strict=True):
        if type(number) is not int or number < 0:
            raise InputError(
                f"state: {name} is {number!r}, which is no count; give what state_dict() returned"
            )
    return Position(sequences=state["sequences"], last=state["last"])
