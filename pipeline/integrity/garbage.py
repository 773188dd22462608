"""Garbage: outputs of attempts that were never sealed, and that nobody will seal any more.

An output lies there before the seal of its part, so it may be of a part that is being made right now. What is older
than `GRACE_MS` is not, for an attempt puts its outputs when it has made all of them and seals at once; but for one that
finds the equal output of an old attempt and leaves it there. So `collect` is for when nothing else runs.
"""

from collections.abc import Iterator

from core import CorruptData
from storage.store import Store

GRACE_MS = 3_600_000
STEP_OF_DIRECTORY = {
    "documents": "process",
    "verdicts": "process",
    "signatures": "process",
    "dedup": "dedup",
    "commoncrawl": "commoncrawl",
}
"""Directory to the step whose parts have outputs there, under the part's name."""
PARQUET, JSON = ".parquet", ".json"


def unsealed_outputs(store: Store, grace_ms: int = GRACE_MS) -> Iterator[str]:
    """Names of outputs whose part is not sealed, older than `grace_ms`."""
    for directory, step in STEP_OF_DIRECTORY.items():
        # Names of parts, some hundred bytes for a thousand documents, may be held.
        sealed = {
            seal.removeprefix(f"manifests/{step}/").removesuffix(JSON)
            for seal in store.list(f"manifests/{step}/")
        }
        for name in store.list(f"{directory}/"):
            part = name.removeprefix(f"{directory}/").removesuffix(PARQUET)
            if part not in sealed and _age_ms(store, name) >= grace_ms:
                yield name


def collect(store: Store, grace_ms: int = GRACE_MS) -> int:
    """Delete them; returns how many. One whose part was sealed meanwhile stays."""
    removed = 0
    for name in unsealed_outputs(store, grace_ms):
        directory, _, part = name.removesuffix(PARQUET).partition("/")
        if not store.exists(f"manifests/{STEP_OF_DIRECTORY[directory]}/{part}{JSON}"):
            store.delete(name)
            removed += 1
    return removed


def _age_ms(store: Store, name: str) -> int:
    try:
        return store.age_ms(name)
    except CorruptData:  # gone since it was listed
        return 0
