"""Garbage: outputs of attempts that were never sealed, and that nobody will seal.

An output exists before the seal of its part, so it may belong to a part that is being made right now. An attempt puts
its outputs when it has made all of them, and seals at once. Therefore an unsealed output older than `GRACE_MS` is
garbage, with one exception: a running attempt may have found an equal output of an old attempt and kept it. So call
`collect` only when nothing else runs.
"""

from collections.abc import Iterator
from itertools import chain

from thresher.core import CorruptData
from thresher.pipeline.dedup_index import index_state
from thresher.pipeline.steps.cuts import cut_results
from thresher.storage.store import Store

GRACE_MS = 3_600_000
STEP_OF_DIRECTORY = {
    "documents": "process",
    "verdicts": "process",
    "measurements": "process",
    "signatures": "process",
    "dropped_signatures": "process",
    "screened": "process",
    "screens": "screen",
    "judged_verdicts": "judge",
    "judged_signatures": "judge",
    "annotations": "annotate",
    "dedup": "dedup",
    "commoncrawl": "commoncrawl",
    "columns": "archive",
}
"""Step whose parts have outputs in a directory, under the name of the part."""
JSON = ".json"


def unsealed_outputs(store: Store, grace_ms: int = GRACE_MS) -> Iterator[str]:
    """Yield the names of outputs older than `grace_ms` whose part is not sealed."""
    for directory, step in STEP_OF_DIRECTORY.items():
        # Names of parts are some hundred bytes for a thousand documents: memory can hold them.
        sealed = {
            seal.removeprefix(f"manifests/{step}/").removesuffix(JSON)
            for seal in store.list(f"manifests/{step}/")
        }
        for name in store.list(f"{directory}/"):
            part = _part(name.removeprefix(f"{directory}/"))
            if part not in sealed and _age_ms(store, name) >= grace_ms:
                yield name
    for name in chain(index_state.unsealed(store), cut_results.unsealed(store)):
        if _age_ms(store, name) >= grace_ms:
            yield name


def collect(store: Store, grace_ms: int = GRACE_MS) -> int:
    """Delete garbage, and return how many outputs. An output whose part was sealed in between stays."""
    removed = 0
    for name in unsealed_outputs(store, grace_ms):
        directory, _, part = _part(name).partition("/")
        step = STEP_OF_DIRECTORY.get(directory)
        if step is None or not store.exists(f"manifests/{step}/{part}{JSON}"):
            store.delete(name)
            removed += 1
    return removed


def _part(output: str) -> str:
    """Return a name without the suffix of its format."""
    return output.removesuffix(".parquet").removesuffix(".bloom").removesuffix(".stale")


def _age_ms(store: Store, name: str) -> int:
    try:
        return store.age_ms(name)
    except CorruptData:  # deleted since it was listed
        return 0
