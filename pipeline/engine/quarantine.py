"""The quarantine: parts that cannot be made, set aside with their reason so that the others go on.

A mark lies at `quarantine/<step>/<part>.json`. It counts as long as the part would be made from the same recipe and the
same stored objects as when it was set aside. It ends when the part is made, when an input is put again, or when the
user asks for a new attempt.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from thresher.core import CorruptData
from thresher.pipeline.engine.step import Part, Step
from thresher.storage.store import Store

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
    """The traceback, if there is one."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Stamp of each stored input (`Store.stamp`) by name; empty for a missing input."""


def put_mark(store: Store, step: Step, part: Part, reason: str, detail: str) -> QuarantineMark:
    """Put a part into quarantine."""
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
    """Return the mark of a part, if it counts: same recipe, same inputs. Otherwise return None."""
    name = _name(step.name, part.name)
    if not store.exists(name):
        return None
    try:
        mark = _read(store, name)
    except CorruptData:  # the reason is unknown, so the part is tried again
        return None
    is_same = mark.fingerprint == part.fingerprint(step) and mark.inputs == _stamps(store, part)
    return mark if is_same else None


def marked_parts(store: Store, step_name: str) -> frozenset[str]:
    """Return the names of all parts of a step (named without version) that have a mark, whether it counts or not."""
    prefix = f"{DIRECTORY}/{step_name}/"
    return frozenset(name.removeprefix(prefix).removesuffix(".json") for name in store.list(prefix))


def remove_mark(store: Store, step_name: str, part: str) -> None:
    """Remove the mark of a part."""
    store.delete(_name(step_name, part))


def marks(store: Store, step_name: str, source: str) -> Iterator[QuarantineMark]:
    """Yield all readable marks of a step (named without version) and a source."""
    for name in store.list(f"{DIRECTORY}/{step_name}/{source}/"):
        with suppress(CorruptData):
            yield _read(store, name)


def remove_marks(store: Store, step_name: str, source: str) -> int:
    """Remove the marks of a source, so that its parts are tried again. Return how many there were."""
    names = list(store.list(f"{DIRECTORY}/{step_name}/{source}/"))
    for name in names:
        store.delete(name)
    return len(names)


def _stamps(store: Store, part: Part) -> dict[str, str]:
    found = {}
    for span in part.inputs:
        try:
            found[span.name] = store.stamp(span.name)
        except CorruptData:  # it is missing; if it comes back, the stamp changes
            found[span.name] = ""
    return found


def _name(step_name: str, part: str) -> str:
    return f"{DIRECTORY}/{step_name}/{part}.json"


def _read(store: Store, name: str) -> QuarantineMark:
    try:
        return QuarantineMark(**json.loads(store.read(name)))
    except (ValueError, TypeError) as error:
        raise CorruptData(
            f"{name} is not a valid quarantine mark ({error}); delete it and run its step again"
        ) from None
