"""The files that `[filters]` names for signals: put into the storage once, under their digests, and loaded by workers.

A worker process loads models before it is confined, because their libraries read files by path (`load_models`). What
needs no path is read when the first text is measured.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from core import CorruptData, InputError
from filters.signals.pseudonyms import MIN_KEY_BYTES
from filters.signals.signal_rules import signal_rules
from filters.signals.signal_settings import SignalSettings
from filters.text import Rule
from pipeline.configuration import FiltersConfig
from pipeline.engine.part_store import PartStore
from pipeline.engine.step import Preparation
from storage.store import Store

PREFIX = "signals"
"""Folder of the files in the storage."""


def stored_filters(store: Store, directory: Path, filters: FiltersConfig) -> FiltersConfig:
    """Put the files of `filters` into the storage, and return `filters` with their names there and with the secret.

    Paths are relative to `directory`. Raise `InputError` if a file cannot be read or is not what its key names.
    """
    settings = filters.signals
    return replace(filters, signals=replace(settings, key=_secret(directory, settings.mask_key)))


def load_models(store: PartStore, names: Sequence[str]) -> None:
    """Load models for this process. Raise `CorruptData` if one is not as it was put."""


def recipe(settings: SignalSettings) -> list[dict[str, Any]]:
    """Return every rule with all its parameters, for fingerprints."""
    return [{"rule": rule.name, **rule.recipe} for rule in signal_rules(settings, _unread)]


@lru_cache(maxsize=1)
def loaded_rules(store: PartStore, settings: SignalSettings) -> tuple[Rule, ...]:
    """Return the rules of a worker. Equal settings get the same rules, with what they have loaded."""
    return signal_rules(settings, lambda name: _intact(name, store.read(name)))


def file_names(settings: SignalSettings) -> tuple[str, ...]:
    """Return the names of all stored files, but those of models."""
    return ()


def preparation(settings: SignalSettings) -> Preparation | None:
    """Return what a worker process loads before it is confined."""
    return None


def _unread(name: str) -> bytes:
    raise AssertionError(name)


def _secret(directory: Path, written: str) -> bytes:
    """Return the secret that `filters.mask_key` names; empty if it is not set."""
    if not written:
        return b""
    kind, _, variable = written.partition(":")
    if kind == "env":
        secret = os.environ.get(variable, "").encode()
        problem = f"the environment variable {variable} has"
    else:
        try:
            secret = (directory / written).read_bytes().strip()
        except OSError as error:
            raise InputError(
                f"filters.mask_key = {written!r}: cannot be read ({error.strerror}); name a file, or env:VARIABLE"
            ) from None
        problem = "the file has"
    if len(secret) < MIN_KEY_BYTES:
        raise InputError(
            f"filters.mask_key = {written!r}: {problem} {len(secret)} bytes; a secret has at least {MIN_KEY_BYTES},"
            " such as those of `openssl rand -hex 32`"
        )
    return secret


def _put(store: Store, name: str, data: bytes) -> str:
    """Put `data` under its digest in the folder and with the suffix of `name`. Return the name of the object."""
    folder, _, suffix = name.partition(".")
    full = f"{PREFIX}/{folder}-{hashlib.sha256(data).hexdigest()}.{suffix}"
    if not store.put(full, data) and store.read(full) != data:
        store.delete(full)
        store.put(full, data)
    return full


def _intact(name: str, data: bytes) -> bytes:
    if hashlib.sha256(data).hexdigest() not in name:
        raise CorruptData(f"{name} is damaged; run `thresher process` again, which puts it again")
    return data
