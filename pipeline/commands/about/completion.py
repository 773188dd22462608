"""What a shell completes: names of sources, crawls, verdict sets, presets and topics.

A completion is read from directories, within a fraction of a second. It starts no server and asks none: names in object
storage are not completed, nor are crawls that have only seeds. It never fails, because its messages would stand in the
line that the user types.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

from thresher.core import InputError

PRESET_NAMES = ("none", "gopher", "c4", "fineweb", "fineweb2", "refinedweb", "dclm")
"""The names of `filters.rules.presets.PRESETS`, whose rules take .1 s to import. A test holds the two together."""


def complete_sources(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of crawls and ingests that have archived something."""
    return _folders(context, "manifests/archive", incomplete)


def complete_crawls(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of crawls that have a log."""
    return _folders(context, "log", incomplete)


def complete_verdict_sets(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of the sets of verdicts that `thresher judge` made."""
    return _folders(context, "manifests/judge", incomplete)


def complete_judge_settings(incomplete: str) -> list[str]:
    """Return `preset=NAME` for each preset."""
    return _beginning((f"preset={name}" for name in PRESET_NAMES), incomplete)


def complete_topics(context: typer.Context, incomplete: str) -> list[str]:
    """Return the topics of guides and the names of commands."""
    from thresher.pipeline.commands.about.guides import topics

    commands: Any = context.find_root().command
    return _beginning({*topics(), *commands.commands}, incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))


def _folders(context: typer.Context, folder: str, incomplete: str) -> list[str]:
    """Return the names of the folders in a folder of the storage that begin as the incomplete name does."""
    with suppress(OSError, ValueError, InputError):
        root = _storage(_project_directory(context))
        if root is not None:
            return _beginning((path.name for path in (root / folder).iterdir() if path.is_dir()), incomplete)
    return []


def _project_directory(context: typer.Context) -> Path:
    given = [context.params.get("project"), context.find_root().params.get("project")]
    return next((Path(each) for each in given if each not in {None, Path()}), Path())


def _storage(project: Path) -> Path | None:
    """Return the directory that holds the storage; None if it is no directory.

    `configuration.load` would check all of thresher.toml, and take .1 s.
    """
    from thresher.pipeline.configuration import FILE, ProjectConfig
    from thresher.storage.directory_store import DirectoryStore
    from thresher.storage.location import open_store

    match tomllib.loads((project / FILE).read_text(encoding="utf-8")):
        case {"project": {"storage": str(address)}}:
            pass
        case _:
            address = str(ProjectConfig.__dataclass_fields__["storage"].default)
    if not address.startswith("file:"):
        return None
    store = open_store(address, project)
    return store.root if isinstance(store, DirectoryStore) else None
