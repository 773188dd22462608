"""`Run`: the record of one run of one step: what it did and what it cost.

1. A run is put once, when it has ended, under `runs/<step>/<day on which it started, UTC>/<id>.json`.
2. It decides nothing. No part depends on it, and a damaged or deleted run only removes a line from a report. It carries
   the digest of itself, so that a reader notices damage.
3. Clocks and machines stand here, so that Manifests need none.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from thresher.core import CorruptData, InputError
from thresher.storage.manifest import body_digest, to_plain_json
from thresher.storage.store import Store

FORMAT = "thresher-run@2"
RUNS = "runs/"
Outcome = Literal["done", "failed", "interrupted"]
PART_OF_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
LAST_MS = 253_402_300_799_999
"""The end of the year 9999: the last day whose name has eight digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Hold the facts of one run of one step on one engine."""

    id: str
    """Differs from the ids of all other runs of the step."""
    step: str
    """Name without version."""
    version: int
    started_ms: int
    """Milliseconds since 1970, UTC, as all times here."""
    ended_ms: int
    host: str
    engine: str
    """`local` or `ray`."""
    sources: tuple[str, ...]
    made: int
    """Parts that this run sealed."""
    already: int
    """Parts that were sealed before."""
    redone: int
    """Attempts that were lost with a worker process or a node, and repeated."""
    quarantined: int
    """Parts that were given up; the outputs lack what entered them."""
    cpu_s: float
    """CPU seconds of all processes, user and system."""
    wall_s: float
    worker_s: float
    """Seconds that workers were held, summed over the workers."""
    bytes_read: int
    """Bytes of archives: the ranges that parts were made from."""
    bytes_written: int
    """Bytes written to storage."""
    peak_rss: int
    """Resident bytes of the largest worker after a part; 0 if no part was made."""
    outcome: Outcome
    message: str = ""
    """Why the run failed, in one line."""


def run_name(run: Run) -> str:
    """Return the name of the stored object, such as `runs/process/20260102/4f1c.json`."""
    day = datetime.fromtimestamp(run.started_ms / 1000, UTC)
    return f"{RUNS}{run.step}/{day:%Y%m%d}/{run.id}.json"


def put(store: Store, run: Run) -> bool:
    """Store the run, durably. Return True if it is stored now, False if a run of that id was stored before; that one
    stays unchanged.

    Raise `InputError` if a field does not hold what `Run` says.
    """
    wrong = _wrong(run)
    if wrong:
        raise InputError(f"run {run.id!r} cannot be kept: {wrong}")
    body = to_plain_json({"format": FORMAT, **asdict(run)})
    sealed = {**body, "digest": body_digest(body)}
    return store.put(
        run_name(run), (json.dumps(sealed, sort_keys=True, indent=1, allow_nan=False) + "\n").encode()
    )


def load(store: Store, name: str) -> Run:
    """Return the run stored under `name`. Raise `CorruptData` if it is missing or was changed after it was put."""
    try:
        run = _from_json(json.loads(store.read(name)))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        detail = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CorruptData(f"{name} is no run ({detail}); `thresher verify --repair` deletes it") from error
    if run_name(run) != name:
        raise CorruptData(
            f"{name} is no run (it is of {run_name(run)}); `thresher verify --repair` deletes it"
        )
    return run


def runs(store: Store, step: str = "") -> Iterator[Run]:
    """Yield all runs of a step, or of every step, in the order of their names. Skip damaged ones."""
    for name in store.list(f"{RUNS}{step}/" if step else RUNS):
        try:
            run = load(store, name)
        except CorruptData:
            continue
        yield run


def _from_json(body: Any) -> Run:
    if body.pop("digest") != body_digest(body):
        raise ValueError("it was changed after it was put")
    if body.pop("format") != FORMAT:
        raise ValueError(f"its format is not {FORMAT!r}")
    run = Run(**{**body, "sources": tuple(body["sources"])})
    wrong = _wrong(run)
    if wrong:
        raise ValueError(wrong)
    return run


def _wrong(run: Run) -> str:
    """Return a sentence about the first field with a wrong value; empty if all are right."""
    for field in fields(run):
        value = getattr(run, field.name)
        if not _FITS[field.type](value):
            return f"{field.name} is {str(value)[:100]!r}"
    if not all(PART_OF_NAME.fullmatch(name) for name in (run.id, run.step)):
        return f"id {run.id[:100]!r} or step {run.step[:100]!r} cannot be part of a name"
    if run.started_ms > LAST_MS:
        return f"started_ms is {run.started_ms}"
    return ""


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _is_seconds(value: object) -> bool:
    return type(value) in {int, float} and 0 <= value < math.inf  # type: ignore[operator]


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _are_texts(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(each, str) for each in value)


def _is_outcome(value: object) -> bool:
    return value in get_args(Outcome)


_FITS: dict[Any, Any] = {
    int: _is_count,
    float: _is_seconds,
    str: _is_text,
    tuple[str, ...]: _are_texts,
    Outcome: _is_outcome,
}
