"""`Manifest`: the seal of a finished part.

1. A part is complete if and only if its Manifest is stored. The Manifest is put after everything that it names.
2. The fingerprint covers the step, its recipe and its inputs. The same fingerprint means the same bytes.
3. Another fingerprint under the same step and part is refused; the error names the first field that differs.
4. A Manifest carries the digest of itself, so a reader notices any change to it.
5. A Manifest holds no clock and no machine: the same work seals to the same bytes anywhere.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from thresher.core import Conflict, CorruptData, InputError
from thresher.storage.store import Readable, Staged, Store

JSON: TypeAlias = "str | int | float | bool | Sequence[JSON] | Mapping[str, JSON] | None"

FORMAT = "thresher-manifest@1"
SHOWN_VALUE = 200
"""Characters of a differing value that a message shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """What the part was made from: an object, or the records of it that begin in the bytes from `first` to `end`."""

    name: str
    sha256: str
    first: int = 0
    end: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One object that belongs to the part."""

    name: str
    bytes: int
    sha256: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What was made, from what, how, and what became of everything that entered."""

    step: str
    """`name@version`."""
    part: str
    """`source/part`; of the steps `judge` and `annotate` `set/source/part`, after the set of verdicts or the
    annotation.
    """
    fingerprint: str
    recipe: Mapping[str, JSON]
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    counts: Mapping[str, int]

    def to_bytes(self) -> bytes:
        """Return the stored form: JSON with sorted keys, one line a field, a line break at the end."""
        body = {
            "format": FORMAT,
            "step": self.step,
            "part": self.part,
            "fingerprint": self.fingerprint,
            "recipe": to_plain_json(self.recipe),
            "inputs": [asdict(each) for each in self.inputs],
            "outputs": [asdict(each) for each in self.outputs],
            "counts": dict(self.counts),
        }
        sealed = {**body, "digest": body_digest(body)}
        return (json.dumps(sealed, sort_keys=True, indent=1, allow_nan=False) + "\n").encode()


def fingerprint(step: str, recipe: Mapping[str, JSON], inputs: Sequence[Input]) -> str:
    """Return the SHA-256, in hexadecimal digits, of what decides the bytes of a part: canonical JSON of step, recipe
    and inputs. Raise `InputError`, which names the field of the recipe, if JSON cannot hold it.
    """
    made_of = {"step": step, "recipe": to_plain_json(recipe), "inputs": [asdict(each) for each in inputs]}
    text = json.dumps(made_of, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def recipe_difference(old: Mapping[str, JSON], new: Mapping[str, JSON]) -> str:
    """Return the first field, dotted and in sorted order, in which two recipes differ, with both values on one line:
    `filters.preset was "c4", is "gopher" now`. Return an empty text if they are the same.
    """
    for field, before, after in _differences("", to_plain_json(old), to_plain_json(new)):
        return f"{field} was {before}, is {after} now"
    return ""


def manifest_name(step_name: str, part: str) -> str:
    """Return where the Manifest of a part lies: `manifests/process/main/part-x.json` (`step_name` has no version)."""
    return f"manifests/{step_name}/{part}.json"


def seal(store: Store, manifest: Manifest) -> None:
    """Declare the part complete, durably. Do nothing if it is sealed already.

    Raise `Conflict` if it was sealed from another recipe or other inputs, or if the fingerprint is not that of its
    recipe and inputs.
    """
    name = manifest_name(manifest.step.partition("@")[0], manifest.part)
    if manifest.fingerprint != fingerprint(manifest.step, manifest.recipe, manifest.inputs):
        raise Conflict(
            f"{name} would be sealed with a fingerprint that is not that of its step, recipe and inputs"
        )
    if store.put(name, manifest.to_bytes()):
        return
    there = load_manifest(store, name)
    if there.fingerprint != manifest.fingerprint:
        raise Conflict(
            f"{name} was sealed otherwise: {recipe_difference(_made_of(there), _made_of(manifest))}; "
            "restore that, or give "
            "the step a new version"
        )


def load_manifest(store: Store, name: str) -> Manifest:
    """Return the Manifest stored under `name`. Raise `CorruptData` if it is missing or not as it was sealed."""
    try:
        body = json.loads(store.read(name))
        digest_said = body.pop("digest", "")
        manifest = _from_json(body)
        expected = fingerprint(manifest.step, manifest.recipe, manifest.inputs)
    except (ValueError, KeyError, TypeError, AttributeError, InputError) as error:
        detail = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CorruptData(
            f"{_one_line(name)} is no Manifest ({detail}); run `thresher verify --repair`"
        ) from error
    if manifest.fingerprint != expected or digest_said != body_digest(body):
        raise CorruptData(
            f"{_one_line(name)} was changed after it was sealed; run `thresher verify --repair`"
        )
    return manifest


def manifests(store: Store, step_name: str, source: str = "") -> Iterator[Manifest]:
    """Yield every sealed part of a step, of one source or of all, in the order of their names."""
    prefix = f"manifests/{step_name}/{source}/" if source else f"manifests/{step_name}/"
    for name in store.list(prefix):
        yield load_manifest(store, name)


def digest(path: Path) -> str:
    """Return the SHA-256 of a local file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stored_digest(store: Readable, name: str) -> str:
    """Return the SHA-256 of a stored object, in hexadecimal digits."""
    with store.open(name) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def put_output(store: Store, name: str, rows: int, write: Callable[[Path], object]) -> Output:
    """Put the file that `write` writes as an output of a part that is not sealed yet. It replaces the bytes of an
    earlier attempt that was never sealed.
    """
    with store.stage(name) as staged:
        write(staged.path)
        sha256 = digest(staged.path)
        publish_output(store, staged, sha256)
        return Output(name=name, bytes=staged.path.stat().st_size, sha256=sha256, rows=rows)


def publish_output(store: Store, staged: Staged, sha256: str) -> None:
    """Publish a staged output of that digest, in place of other bytes under the name that were never sealed."""
    # Equal bytes are left alone: another command may have sealed them in the meantime.
    if not staged.publish() and not _holds(store, staged.name, sha256):
        store.delete(staged.name)
        staged.publish()


def body_digest(body: Mapping[str, Any]) -> str:
    """Return the SHA-256, in hexadecimal digits, of canonical JSON of a body: the digest that a JSON file carries of
    itself.
    """
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _holds(store: Store, name: str, sha256: str) -> bool:
    try:
        return stored_digest(store, name) == sha256
    except CorruptData:  # the storage itself finds it damaged, or it is gone
        return False


def to_plain_json(value: JSON, field: str = "") -> Any:
    """Return the value as JSON will give it back (tuples become lists).

    Raise `InputError`, which names the field, if JSON cannot hold it.
    """
    match value:
        case float() if not math.isfinite(value):
            raise InputError(f"{field or 'value'} is {value}, which JSON cannot hold")
        case str() | bool() | int() | float() | None:
            return value
        case Mapping():
            for key in value:
                if not isinstance(key, str):
                    raise InputError(
                        f"{field or 'value'} has the key {key!r}, which is no text, as JSON keys are"
                    )
            return {
                key: to_plain_json(each, f"{field}.{key}" if field else key) for key, each in value.items()
            }
        case list() | tuple():
            return [
                to_plain_json(each, f"{field}.{index}" if field else str(index))
                for index, each in enumerate(value)
            ]
        case _:
            raise InputError(f"{field or 'value'} is a {type(value).__name__}, which JSON cannot hold")


def _one_line(name: str) -> str:
    """Return a name from storage as a message may show it: whoever put a line break into it broke the message."""
    return name.replace("\n", "\\n").replace("\r", "\\r")


def _made_of(manifest: Manifest) -> dict[str, JSON]:
    inputs = [{**asdict(each)} for each in manifest.inputs]
    return {"inputs": inputs, "recipe": manifest.recipe, "step": manifest.step}


def _differences(field: str, old: Any, new: Any) -> Iterator[tuple[str, str, str]]:
    """Yield the fields that differ, with both values as JSON; `absent` stands for a value that only the other
    side has.
    """
    if isinstance(old, list) and isinstance(new, list):
        old, new = dict(enumerate(old)), dict(enumerate(new))
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            inner = f"{field}.{key}" if field else str(key)
            yield from _differences(inner, old.get(key, _ABSENT), new.get(key, _ABSENT))
    elif _shown(old) != _shown(new):
        yield field, _cut(_shown(old)), _cut(_shown(new))


_ABSENT = object()


def _shown(value: Any) -> str:
    return "absent" if value is _ABSENT else json.dumps(value, sort_keys=True)


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_VALUE else f"{text[:SHOWN_VALUE]}..."


def _from_json(body: Any) -> Manifest:
    if body["format"] != FORMAT:
        raise ValueError(f"its format is {body['format']!r}, not {FORMAT!r}")
    manifest = Manifest(
        step=body["step"],
        part=body["part"],
        fingerprint=body["fingerprint"],
        recipe=body["recipe"],
        inputs=tuple(Input(**each) for each in body["inputs"]),
        outputs=tuple(Output(**each) for each in body["outputs"]),
        counts=body["counts"],
    )
    texts = (manifest.step, manifest.part, manifest.fingerprint)
    numbers = (
        *manifest.counts.values(),
        *(number for each in manifest.outputs for number in (each.bytes, each.rows)),
    )
    if not all(isinstance(text, str) for text in texts) or not all(type(number) is int for number in numbers):
        raise TypeError("a field has another type")
    return manifest
