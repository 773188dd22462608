"""The quarantine: parts that cannot be made, put aside with their reason so that the others go on.

A mark lies at `quarantine/<step>/<part>.json` until the part is asked for again. One of another fingerprint is of
work that nobody wants any more, and does not count.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass

from core import CorruptData
from pipeline.step import Part, Step
from storage.store import Store

DIRECTORY = "quarantine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A part that was given up."""

    step: str
    part: str
    fingerprint: str
    reason: str
    """One line: what went wrong, and how often."""
    detail: str = ""
    """The traceback, where there is one."""


def put(store: Store, step: Step, part: Part, reason: str, detail: str) -> Quarantined:
    """Put a part aside."""
    mark = Quarantined(
        step=str(step), part=part.name, fingerprint=part.fingerprint(step), reason=reason, detail=detail
    )
    name = _name(step.name, part.name)
    store.delete(name)
    store.put(name, (json.dumps(asdict(mark), sort_keys=True, indent=1) + "\n").encode())
    return mark


def find(store: Store, step: Step, part: Part) -> Quarantined | None:
    """The mark of a part, if it was put aside as it would be made now."""
    name = _name(step.name, part.name)
    if not store.exists(name):
        return None
    try:
        mark = _read(store, name)
    except CorruptData:  # nobody knows why it was put aside: it is tried again
        return None
    return mark if mark.fingerprint == part.fingerprint(step) else None


def marks(store: Store, step_name: str, source: str) -> Iterator[Quarantined]:
    """All marks of a step (named without version) and a source that can be read."""
    for name in store.list(f"{DIRECTORY}/{step_name}/{source}/"):
        with suppress(CorruptData):
            yield _read(store, name)


def release(store: Store, step_name: str, source: str) -> int:
    """Let the parts of a source be tried again; returns how many."""
    names = list(store.list(f"{DIRECTORY}/{step_name}/{source}/"))
    for name in names:
        store.delete(name)
    return len(names)


def _name(step_name: str, part: str) -> str:
    return f"{DIRECTORY}/{step_name}/{part}.json"


def _read(store: Store, name: str) -> Quarantined:
    try:
        return Quarantined(**json.loads(store.read(name)))
    except (ValueError, TypeError) as error:
        raise CorruptData(
            f"{name} is no mark of the quarantine ({error}); delete it and run its step again"
        ) from None
