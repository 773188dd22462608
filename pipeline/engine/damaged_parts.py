"""Finds sealed parts whose stored results are no longer what was sealed, and unseals them, so that they are made again.

This is for working files, which a command can always make again: nothing is lost by deleting a seal. The engine itself
never deletes one.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from thresher.core import CorruptData
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.terminal.progress import Progress
from thresher.storage.manifest import load_manifest, manifest_name
from thresher.storage.sealed_reading import check_sealed
from thresher.storage.store import Store

THREADS = 8
"""Hashing releases Python's lock, and a bucket answers many requests at once."""


def unseal_damaged(store: Store, step: Step, parts: Sequence[Part], progress: Progress) -> int:
    """Unseal every part whose Manifest or outputs are missing or damaged, or were made from something else. Return how
    many. All outputs are read and hashed.
    """
    sealed = set(store.list(f"manifests/{step.name}/"))
    there = [part for part in parts if manifest_name(step.name, part.name) in sealed]
    if not there:
        return 0
    damaged = 0
    progress.start("check", total=len(there))
    with ThreadPoolExecutor(THREADS) as pool:
        for part, intact in zip(there, pool.map(partial(_is_intact, store, step), there), strict=True):
            if not intact:
                store.delete(manifest_name(step.name, part.name))
                damaged += 1
            progress.advance(part.name)
    progress.stop()
    return damaged


def _is_intact(store: Store, step: Step, part: Part) -> bool:
    try:
        manifest = load_manifest(store, manifest_name(step.name, part.name))
        if manifest.fingerprint != part.fingerprint(step):
            return False
        if {output.name for output in manifest.outputs} != set(part.writes):
            return False
        for output in manifest.outputs:
            check_sealed(part.stores.get(output.name, store), output)
    except CorruptData:
        return False
    return True
