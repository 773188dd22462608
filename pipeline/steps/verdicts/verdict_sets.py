"""`judged_parts`: the tables of each processed part, with the verdicts of one set.

The set without a name has the verdicts that `process` made. Every other set was made by `judge`, and has tables of its
own for verdicts and for the signatures of the documents that it keeps.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from thresher.core import InputError
from thresher.storage.manifest import Manifest, Output, load_manifest, manifest_name, manifests
from thresher.storage.store import Store

PROCESS, JUDGE = "process", "judge"
"""Names of the two steps that make verdicts."""
VERDICTS, SIGNATURES = "judged_verdicts", "judged_signatures"
"""Folders of the tables of a named set."""
READ = ("measurements", "verdicts", "signatures", "dropped_signatures")
"""Tables of `process` that a part of a named set is made from."""
SET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPart:
    """The tables of a part of `process`, with the verdicts of one set."""

    name: str
    """Name of the part of `process`."""
    tables: Mapping[str, Output]
    """By folder. `verdicts` and `signatures` are those of the set."""
    counts: Mapping[str, int]
    """Records and bytes by stage."""
    recipe: Mapping[str, Any]
    """Of the step that made the verdicts."""

    @property
    def documents(self) -> Output:
        """Every extracted text."""
        return self.tables["documents"]

    @property
    def measurements(self) -> Output:
        """What the rules measured of every document that does not refuse its use."""
        return self.tables["measurements"]

    @property
    def verdicts(self) -> Output:
        """A verdict for each record."""
        return self.tables["verdicts"]

    @property
    def signatures(self) -> Output:
        """Signatures of the documents that the set keeps."""
        return self.tables["signatures"]


def check_set_name(name: str) -> str:
    """Return the name of a set. Raise `InputError` if it is none."""
    if not SET_NAME.fullmatch(name):
        raise InputError(
            f"{name!r} is no name of a set of verdicts; use letters, digits, '_' and '-', at most 64, the first one a"
            " letter or a digit"
        )
    return name


def judged_parts(store: Store, source: str, verdict_set: str = "") -> Iterator[JudgedPart]:
    """Yield the processed parts of a source with the verdicts of a set, in the order of the archive.

    Raise `InputError` if the set does not cover a part, was made of other results of `process`, or does not exist.
    """
    sealed = set(store.list(f"manifests/{JUDGE}/{verdict_set}/{source}/")) if verdict_set else set()
    if verdict_set and not sealed and verdict_set not in (known := sorted(set_names(store))):
        raise InputError(
            f"no set of verdicts has the name {verdict_set!r}; known are: {', '.join(known) or 'none'};"
            f" `thresher judge --name {verdict_set}` makes it"
        )
    for made in manifests(store, PROCESS, source):
        tables = outputs_by_folder(made)
        if not verdict_set:
            yield JudgedPart(name=made.part, tables=tables, counts=made.counts, recipe=made.recipe)
            continue
        seal = manifest_name(JUDGE, f"{verdict_set}/{made.part}")
        judged = load_manifest(store, seal) if seal in sealed else None
        if judged is None or not {tables[each].sha256 for each in READ} <= {
            each.sha256 for each in judged.inputs
        }:
            problem = "does not cover" if judged is None else "was made of earlier results of"
            redo = "" if judged is None else " --redo"
            raise InputError(
                f"the set of verdicts {verdict_set!r} {problem} {made.part}; "
                f"run `thresher judge {source} --name {verdict_set}{redo}` with its thresholds"
            )
        own = outputs_by_folder(judged)
        chosen = {**tables, "verdicts": own[VERDICTS], "signatures": own[SIGNATURES]}
        yield JudgedPart(name=made.part, tables=chosen, counts=judged.counts, recipe=judged.recipe)


def set_names(store: Store) -> set[str]:
    """Return the names of the sets of verdicts that cover a part."""
    prefix = f"manifests/{JUDGE}/"
    return {name.removeprefix(prefix).partition("/")[0] for name in store.list(prefix)}


def delete_set(store: Store, source: str, verdict_set: str) -> None:
    """Delete the verdicts of a source in a set, seals first, because no half-deleted result may seem complete."""
    for folder in (f"manifests/{JUDGE}", SIGNATURES, VERDICTS, f"quarantine/{JUDGE}"):
        for name in list(store.list(f"{folder}/{verdict_set}/{source}/")):
            store.delete(name)


def outputs_by_folder(manifest: Manifest) -> dict[str, Output]:
    """Return the outputs of a part by the first folder of their names."""
    return {output.name.partition("/")[0]: output for output in manifest.outputs}
