"""A shard of tokens gives back what was written, and no damaged byte of it is ever used."""

import hashlib
import io
import itertools
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.core import CorruptData, InputError
from thresher.shards.formats import checked_file
from thresher.shards.formats.tokens import TokensShard, TokensWriter, id_bytes_of, refs_name, shard_path

DOCUMENTS = st.lists(st.lists(st.integers(0, 65_535), max_size=30), max_size=20)


def written(path, batches, id_bytes=2):
    with path.open("wb") as file:
        writer = TokensWriter(file, id_bytes=id_bytes)
        for documents in batches:
            ids = np.array([one for document in documents for one in document], np.uint32)
            writer.write(ids, np.cumsum([len(document) for document in documents], dtype=np.int64))
        return writer.close()  # the frame digest


def texts_of(shard):
    starts = [0, *shard.ends.tolist()]
    return [shard.ids(start, stop).tolist() for start, stop in itertools.pairwise(starts)]


@given(batches=st.lists(DOCUMENTS, max_size=4), id_bytes=st.sampled_from([2, 4]))
def test_every_document_comes_back_in_order(tmp_path_factory, batches, id_bytes):
    path = tmp_path_factory.mktemp("shard") / "a.tokens"
    frame = written(path, batches, id_bytes)
    shard = TokensShard.open(path)
    documents = [document for batch in batches for document in batch]
    assert texts_of(shard) == documents
    assert (shard.documents, shard.tokens) == (len(documents), sum(map(len, documents)))
    assert TokensShard.open(path, frame).tokens == shard.tokens
    assert shard.ids(0, shard.tokens).dtype.itemsize == id_bytes


def test_the_bytes_do_not_depend_on_the_batches(tmp_path):
    documents = [[1, 2, 3], [], [65_535] * 7]
    written(tmp_path / "one", [documents])
    written(tmp_path / "many", [[document] for document in documents])
    assert (tmp_path / "one").read_bytes() == (tmp_path / "many").read_bytes()


def test_the_layout_is_the_documented_one(tmp_path):
    frame = written(tmp_path / "a", [[[1, 2], [3]]])
    data = (tmp_path / "a").read_bytes()
    assert frame == hashlib.sha256(data[:4096] + data[4120:]).hexdigest()
    assert not any(data[64:96])  # it belongs to no other file
    assert data[:16] == b"THRTOKEN" + (2).to_bytes(4, "little") + (2).to_bytes(4, "little")
    assert np.frombuffer(data, "<u8", 6, 16).tolist() == [2, 3, 4096, 4104, 4120, 1 << 20]
    assert np.frombuffer(data, "<u2", 3, 4096).tolist() == [1, 2, 3]
    assert np.frombuffer(data, "<u8", 2, 4104).tolist() == [2, 3]
    assert len(data) == 4120 + 8


def test_any_damaged_byte_is_found_and_named(tmp_path):
    path = tmp_path / "a.tokens"
    written(path, [[[1, 2, 3], [4] * 40]])
    good = path.read_bytes()
    for offset in [*range(80), 2000, 4095, *range(4096, len(good))]:
        path.write_bytes(good[:offset] + bytes([good[offset] ^ 16]) + good[offset + 1 :])
        with pytest.raises(CorruptData, match=str(path)) as error:
            texts_of(TokensShard.open(path))
        assert "offset" in str(error.value) or "version" in str(error.value)


def test_another_shard_with_the_same_counts_is_refused(tmp_path):
    frame = written(tmp_path / "a", [[[1, 2, 3]]])
    other = written(tmp_path / "b", [[[1, 2, 4]]])
    assert frame != other
    with pytest.raises(CorruptData, match=r"b: .*not what the manifest names: damaged, or another file"):
        TokensShard.open(tmp_path / "b", frame)


def test_a_mapping_keeps_no_file_open(tmp_path):
    written(tmp_path / "a", [[[1, 2, 3]]])
    before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    shards = [TokensShard.open(tmp_path / "a") for _ in range(100)]
    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) < before + 50
    assert all(shard.ids(0, 3).tolist() == [1, 2, 3] for shard in shards)
    with pytest.raises(ValueError, match="read-only"):
        shards[0].ids(0, 3)[0] = 7


def test_a_mapping_ends_with_the_last_array_that_uses_it(tmp_path):
    path = tmp_path / "a-name-of-its-own.tokens"
    written(path, [[[1, 2, 3]]])
    ids = TokensShard.open(path).ids(1, 3)
    assert path.name in Path("/proc/self/maps").read_text()
    assert ids.tolist() == [2, 3]
    del ids
    assert path.name not in Path("/proc/self/maps").read_text()


def test_a_shard_cut_off_anywhere_is_refused(tmp_path):
    path = tmp_path / "a.tokens"
    written(path, [[[1, 2, 3], [4] * 40]])
    good = path.read_bytes()
    for size in [0, 1, 64, 4095, *range(4096, len(good))]:
        path.write_bytes(good[:size])
        with pytest.raises(CorruptData, match=str(path)):
            TokensShard.open(path)
    path.write_bytes(good + b"\0")
    with pytest.raises(CorruptData, match="header says"):
        TokensShard.open(path)
    path.unlink()
    with pytest.raises(CorruptData, match="missing"):
        TokensShard.open(path)


def test_damage_is_named_by_the_block_and_the_other_blocks_are_usable(tmp_path):
    path = tmp_path / "large.tokens"
    tokens = 3 * checked_file.BLOCK_BYTES // 2
    written(path, [[list(range(1000)) * (tokens // 1000)]])
    data = bytearray(path.read_bytes())
    offset = 4096 + checked_file.BLOCK_BYTES + 12_345
    data[offset] ^= 1
    path.write_bytes(data)
    shard = TokensShard.open(path)
    edge = checked_file.BLOCK_BYTES // 2
    assert shard.ids(0, edge)[-1] == (edge - 1) % 1000
    for start, stop in ((edge, edge + 1), (edge - 1, edge + 1), (0, shard.tokens)):
        with pytest.raises(CorruptData, match=rf"offset {4096 + 2 * edge} and {4096 + 4 * edge}"):
            shard.ids(start, stop)
    assert shard.ids(2 * edge, 2 * edge + 1)[0] == 2 * edge % 1000
    assert shard.ends.tolist() == [shard.tokens]


def test_an_id_that_does_not_fit_is_refused():
    writer = TokensWriter(io.BytesIO(), id_bytes=2)
    with pytest.raises(InputError, match="65536 does not fit 2 bytes"):
        writer.write(np.array([65_536], np.uint32), np.array([1]))


@pytest.mark.parametrize("ends", [[1], [3], [2, 1, 2], []])
def test_ends_that_do_not_divide_the_ids_are_refused(ends):
    writer = TokensWriter(io.BytesIO(), id_bytes=2)
    with pytest.raises(ValueError, match="ends"):
        writer.write(np.array([1, 2], np.uint32), np.array(ends, np.int64))


def test_a_size_of_ids_that_no_vocabulary_has_is_refused():
    with pytest.raises(ValueError, match="id_bytes is 3"):
        TokensWriter(io.BytesIO(), id_bytes=3)


def test_the_width_of_an_id_follows_the_vocabulary():
    assert [id_bytes_of(n) for n in (256, 65_536, 65_537)] == [2, 2, 4]


def test_names():
    assert shard_path("web", 7) == "tokens/web/shard-00007.tokens"
    assert refs_name(shard_path("web", 7)) == "tokens/web/shard-00007.refs.parquet"


def test_writing_holds_a_batch_and_eight_bytes_a_document(tmp_path):
    ids, ends = np.arange(100_000, dtype=np.uint32) % 50_000, np.arange(100, 100_001, 100)
    with (tmp_path / "a").open("wb") as file:
        writer = TokensWriter(file, id_bytes=4)
        writer.write(ids, ends)
        tracemalloc.start()
        for _ in range(200):
            writer.write(ids, ends)
        held, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert held < 200 * len(ends) * 8 * 1.5
    assert peak < held + 4 * ids.nbytes


def test_a_block_is_checked_once(tmp_path, monkeypatch):
    path = tmp_path / "large.tokens"
    tokens = 3 * checked_file.BLOCK_BYTES // 2
    written(path, [[list(range(1000)) * (tokens // 1000)]])
    shard = TokensShard.open(path)
    checked = []
    check = checked_file.Blocks.check
    monkeypatch.setattr(
        checked_file.Blocks,
        "check",
        lambda *given: (checked.append(given[1]), check(*given)),  # type: ignore[func-returns-value]
    )
    for _ in range(2):
        shard.check(0, 10)
        shard.check_spans(np.array([5, 2000]), np.array([10, tokens // 2]))
        shard.check_spans(np.array([tokens - 1000]), np.array([0]))
        assert shard.ends.tolist() == [shard.tokens]
    assert checked == [0, 1, 2]
