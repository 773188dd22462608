"""The quarantine: parts that cannot be made, put aside with their reason so that the others go on.

A mark lies at `quarantine/<step>/<part>.json`. It counts as long as the part would be made as it was when it was put aside:
from the same recipe and from the same stored objects. It ends when the part is made, when an input is put anew, or when the
user asks for a new attempt.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from core import CorruptData
from pipeline.engine.step import Part, Step
from storage.store import Store

DIRECTORY = "quarantine"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineMark:
    """A part that was given up."""

    step: str
    part: str
    fingerprint: str
    reason: str
    """One line: what went wrong, and how often."""
    detail: str = ""
    """The traceback, where there is one."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Name and stamp of each stored input (`Store.stamp`); an empty stamp for one that is missing."""


def put_mark(store: Store, step: Step, part: Part, reason: str, detail: str) -> QuarantineMark:
    """Put a part aside."""
    mark = QuarantineMark(
        step=str(step),
        part=part.name,
        fingerprint=part.fingerprint(step),
        reason=reason,
        detail=detail,
        inputs=_stamps(store, part),
    )
    name = _name(step.name, part.name)
    store.delete(name)
    store.put(name, (json.dumps(asdict(mark), sort_keys=True, indent=1) + "\n").encode())
    return mark


def find_mark(store: Store, step: Step, part: Part) -> QuarantineMark | None:
    """The mark of a part, if it was put aside as it would be made now, from the same objects."""
    name = _name(step.name, part.name)
    if not store.exists(name):
        return None
    try:
        mark = _read(store, name)
    except CorruptData:  # nobody knows why it was put aside: it is tried again
        return None
    is_same = mark.fingerprint == part.fingerprint(step) and mark.inputs == _stamps(store, part)
    return mark if is_same else None


def marked_parts(store: Store, step_name: str) -> frozenset[str]:
    """Names of all parts of a step (named without version) that have a mark, whether it counts or not."""
    prefix = f"{DIRECTORY}/{step_name}/"
    return frozenset(name.removeprefix(prefix).removesuffix(".json") for name in store.list(prefix))


def remove_mark(store: Store, step_name: str, part: str) -> None:
    """Remove the mark of a part."""
    store.delete(_name(step_name, part))


def marks(store: Store, step_name: str, source: str) -> Iterator[QuarantineMark]:
    """All marks of a step (named without version) and a source that can be read."""
    for name in store.list(f"{DIRECTORY}/{step_name}/{source}/"):
        with suppress(CorruptData):
            yield _read(store, name)


def remove_marks(store: Store, step_name: str, source: str) -> int:
    """Let the parts of a source be tried again; returns how many."""
    names = list(store.list(f"{DIRECTORY}/{step_name}/{source}/"))
    for name in names:
        store.delete(name)
    return len(names)


def _stamps(store: Store, part: Part) -> dict[str, str]:
    found = {}
    for span in part.inputs:
        try:
            found[span.name] = store.stamp(span.name)
        except CorruptData:  # it is missing; putting it back is a change
            found[span.name] = ""
    return found


def _name(step_name: str, part: str) -> str:
    return f"{DIRECTORY}/{step_name}/{part}.json"


def _read(store: Store, name: str) -> QuarantineMark:
    try:
        return QuarantineMark(**json.loads(store.read(name)))
    except (ValueError, TypeError) as error:
        raise CorruptData(
            f"{name} is no mark of the quarantine ({error}); delete it and run its step again"
        ) from None
