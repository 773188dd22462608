"""`listed_files`: the WACZ files of an archive that is split, as their list names them.

Lists of Browsertrix and of other tools have the same form: a JSON object with the profile `multi-wacz-package`, whose
resources each have a `path` beside the list and usually a `hash`.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thresher.core import InputError
from thresher.pipeline.wacz.wacz_split import PROFILE
from thresher.storage.manifest import digest

LIST_SUFFIX = ".json"
MAX_BYTES = 1 << 20
"""Largest list that is read: some thousand files."""


def listed_files(path: Path) -> tuple[Path, ...]:
    """Return the WACZ files that the list at `path` names, in its order; none if the file is no such list.

    Raise `InputError` if the list names a file that is not beside it or that has other bytes, or no file at all.
    """
    if path.suffix.lower() != LIST_SUFFIX or not path.is_file() or path.stat().st_size > MAX_BYTES:
        return ()
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return ()
    if not isinstance(found, dict) or found.get("profile") != PROFILE:
        return ()
    resources = found.get("resources")
    if not isinstance(resources, list) or not resources:
        raise InputError(f"{path} lists no WACZ file; get the list again")
    return tuple(_checked(path, resource) for resource in resources)


def _checked(path: Path, resource: Any) -> Path:
    """Return a file of the list, after comparing its bytes with the stated digest."""
    stated: Mapping[str, Any] = resource if isinstance(resource, dict) else {}
    name = stated.get("path") or stated.get("name")
    if not isinstance(name, str) or not name.endswith(".wacz") or "\0" in name:
        raise InputError(f"{path} lists {name!r}, which is no WACZ file; get the list again")
    file = path.parent / name
    if not file.is_file() or not file.resolve().is_relative_to(path.parent.resolve()):
        raise InputError(
            f"{path} lists {name}, which is not beside it; put all files of the list into one directory"
        )
    algorithm, _, expected = str(stated.get("hash") or "").rpartition(":")
    if algorithm == "sha256" and digest(file) != expected.lower():
        raise InputError(f"{file} is not as {path.name} has it (its sha256 differs); get the file again")
    return file
