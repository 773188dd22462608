"""A run is a file that NumPy opens, and a reader finds the rows of its keys by the fences and reads few others."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.core import CorruptData
from thresher.filters.dedup.dedup_rows import row_types
from thresher.filters.dedup.zsets import SIGN, total
from thresher.pipeline.dedup_index.index_runs import (
    BLOCK_BYTES,
    rows_of_keys,
    rows_of_range,
    run_ref,
    write_rows,
)
from thresher.storage.directory_store import DirectoryStore

TYPES = row_types(1, 112)


class MemoryRuns:
    """Runs by name, and the bytes that were read."""

    def __init__(self):
        self.files = {}
        self.bytes_read = 0

    def read_spans(self, name, spans):
        data = b"".join(self.files[name][at : at + length] for at, length in spans)
        self.bytes_read += len(data)
        return data

    def open(self, name):
        return io.BytesIO(self.files[name])

    def put(self, name, rows):
        file = io.BytesIO()
        write_rows(file, rows)
        self.files[name] = file.getvalue()
        return run_ref(self, name, len(rows), rows.dtype)  # type: ignore[arg-type]


def rows_of(dtype, keys):
    rows = np.zeros(len(keys), dtype)
    rows[dtype.names[0]] = keys
    rows[dtype.names[1]] = np.arange(len(keys))
    rows[SIGN] = 1
    return total(rows)


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from([TYPES.bands, TYPES.documents]),
    st.lists(st.lists(st.integers(0, 300), max_size=400), min_size=1, max_size=3),
    st.lists(st.integers(0, 310), max_size=40),
    st.tuples(st.integers(0, 310), st.integers(0, 310)),
)
def test_the_rows_of_keys_and_of_ranges_are_found_in_all_runs(dtype, runs, keys, edges):
    store = MemoryRuns()
    refs = [store.put(f"run-{at}", rows_of(dtype, each)) for at, each in enumerate(runs)]
    every = total(*(rows_of(dtype, each) for each in runs))
    first = every[dtype.names[0]]
    wanted = np.unique(np.array(keys, np.uint64))
    np.testing.assert_array_equal(rows_of_keys(store, refs, wanted, dtype), every[np.isin(first, wanted)])
    inside = (first >= edges[0]) & (first < edges[1])
    found = rows_of_range(store, refs, range(*edges), dtype) if edges[0] < edges[1] else every[:0]
    np.testing.assert_array_equal(found, every[inside])


def test_the_cost_of_few_keys_is_theirs_and_not_that_of_the_run():
    store = MemoryRuns()
    keys = np.sort(np.random.default_rng(1).integers(0, 2**63, 20_000, dtype=np.uint64))
    run = store.put("run", rows_of(TYPES.documents, keys))
    assert len(rows_of_keys(store, [run], keys[::2000], TYPES.documents)) == 10
    fences = len(store.files["run"]) // BLOCK_BYTES * 20
    assert store.bytes_read < 10 * 2 * BLOCK_BYTES + fences
    store.bytes_read = 0
    assert len(rows_of_keys(store, [run], keys[:1] - np.uint64(1), TYPES.documents)) == 0
    assert store.bytes_read == 0


def test_numpy_opens_a_run(tmp_path):
    rows = rows_of(TYPES.documents, list(range(50)))
    with (tmp_path / "run.npy").open("wb") as file:
        write_rows(file, rows)
    np.testing.assert_array_equal(np.load(tmp_path / "run.npy"), rows)
    ref = run_ref(DirectoryStore(tmp_path), "run.npy", len(rows), rows.dtype)
    assert (ref.first, ref.last) == (0, 49)


def test_every_flipped_byte_that_a_reader_takes_is_an_error():
    store = MemoryRuns()
    rows = rows_of(TYPES.bands, list(range(400)))
    run = store.put("run", rows)
    whole = store.files["run"]
    for at in range(0, len(whole), 7):
        flipped = bytearray(whole)
        flipped[at] ^= 1
        store.files["run"] = bytes(flipped)
        with pytest.raises(CorruptData, match="the index of deduplication is damaged: run"):
            rows_of_range(store, [run], range(1 << 64), TYPES.bands)
    for length in (0, 100, len(whole) // 2, len(whole) - 1):
        store.files["run"] = whole[:length]
        with pytest.raises(CorruptData, match="damaged: run"):
            rows_of_keys(store, [run], np.arange(400, dtype=np.uint64), TYPES.bands)
        with pytest.raises(CorruptData, match="damaged: run"):
            run_ref(store, "run", len(rows), rows.dtype)  # type: ignore[arg-type]
