"""The position of a run as JSON: what it takes to continue, and what it must fit."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import xxhash

from thresher.core import InputError
from thresher.shards.loader.loader_values import MAX_SEQUENCES, shown

FORMAT = "thresher-loader@1"
MAX_MIX_LENGTH = 120


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
    def mix_text(mix: Mapping[str, float] | Sequence[Mapping[str, Any]] | None) -> str:
        """Return a mix, or phases with their mixes, as a short text: itself, or its digest."""
        text = json.dumps(mix, sort_keys=True)
        return text if len(text) <= MAX_MIX_LENGTH else f"xxh3:{xxhash.xxh3_128_hexdigest(text.encode())}"


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


def from_state(state: Mapping[str, Any], identity: Identity, end: int | None) -> Position:
    """Return the position of a state in a run of `end` sequences (None: without end).

    Raise `InputError`, which names the field, if the state belongs to another run, stands behind the end of this one,
    or is no state.
    """
    remedy = "give what state_dict() returned"
    if not isinstance(state, Mapping) or state.get("format") != FORMAT:
        raise InputError(f"state: its field format is not {FORMAT!r}; {remedy}")
    known = to_state(identity, Position())
    if others := [name for name in state if name not in known]:
        raise InputError(f"state: there is no field {shown(others[0])}; {remedy}")
    if missing := [name for name in known if name not in state]:
        raise InputError(f"state: its field {missing[0]} is missing; {remedy}")
    for name, value in asdict(identity).items():
        if type(state[name]) is not type(value) or state[name] != value:
            raise InputError(
                f"state: {name} is {shown(state[name])} and the loader has {value!r}; make the loader with the {name} "
                "of the run that it continues"
            )
    sequences, last = (_count(name, state[name]) for name in ("sequences", "last"))
    if last > sequences:
        raise InputError(f"state: last is {last}, more than the {sequences} sequences before it; {remedy}")
    if end is not None and sequences > end:
        raise InputError(
            f"state: sequences is {sequences}, and the run has {end}; make the loader with the epochs "
            "and max_sequences of the run that it continues"
        )
    return Position(sequences=sequences, last=last)


def to_worker_state(start: Mapping[str, Any], steps: int) -> dict[str, Any]:
    """Return the state of a worker of PyTorch: the state at which it began, and the steps that it gave since."""
    return {"start": start, "given": steps}


def from_worker_state(state: Mapping[str, Any]) -> tuple[Mapping[str, Any], int]:
    """Return what `to_worker_state` joined; the start is not checked. Raise `InputError` for anything else."""
    if not isinstance(state, Mapping) or state.keys() != {"start", "given"}:
        raise InputError(
            "state of a worker: its fields are not start and given; give what state_dict() of the same kind of "
            "DataLoader returned"
        )
    return state["start"], _count("given", state["given"])


def _count(name: str, value: object) -> int:
    if type(value) is not int or not 0 <= value <= MAX_SEQUENCES:
        raise InputError(
            f"state: {name} is {shown(value)}, which is no count; give what state_dict() returned"
        )
    return value
