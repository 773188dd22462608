"""Outputs that no Manifest names are garbage once they are so old that no writer can still seal them."""

import os
import time

from hypothesis import given
from hypothesis import strategies as st

from thresher.pipeline.integrity.garbage import STEP_OF_DIRECTORY, collect, unsealed_outputs
from thresher.storage.directory_store import DirectoryStore

HOUR_MS = 3_600_000
NAMES = st.sets(st.text("ab-.1", min_size=1, max_size=3).filter(lambda name: name[0] != "."), max_size=6)


@given(put=NAMES, sealed=NAMES)
def test_what_is_sealed_stays_and_all_else_is_garbage(tmp_path_factory, put, sealed):
    store = DirectoryStore(tmp_path_factory.mktemp("store"))
    for directory, step in STEP_OF_DIRECTORY.items():
        for part in put:
            store.put(f"{directory}/main/{part}.parquet", b"x")
        for part in sealed:
            store.put(f"manifests/{step}/main/{part}.json", b"{}")
    expected = {
        f"{directory}/main/{part}.parquet" for directory in STEP_OF_DIRECTORY for part in put - sealed
    }
    assert set(unsealed_outputs(store, 0)) == expected
    assert collect(store, 0) == len(expected)
    assert {name for name in store.list() if not name.startswith("manifests/")} == {
        f"{directory}/main/{part}.parquet" for directory in STEP_OF_DIRECTORY for part in put & sealed
    }


def test_what_may_still_be_sealed_stays(tmp_path):
    store = DirectoryStore(tmp_path)
    for name in ("old", "new"):
        store.put(f"documents/main/{name}.parquet", b"x")
    past = time.time() - 2 * 3600
    os.utime(store.path("documents/main/old.parquet"), (past, past))
    assert collect(store) == 1
    assert list(store.list()) == ["documents/main/new.parquet"]
    assert store.age_ms("documents/main/new.parquet") < HOUR_MS
