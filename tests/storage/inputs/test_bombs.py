"""Bytes made to cost more than they are: a million streams, records that break off at the end, archives that fill a
disk.

CPU time is bounded generously: what is quadratic takes minutes for these.
"""

import bz2
import gzip
import hashlib
import io
import json
import struct
import tempfile
import zipfile
from collections import deque
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
import zstandard

from tests.attacks import cpu_limit
from tests.expect import expect
from thresher.core import InputError
from thresher.storage.inputs import wacz_input
from thresher.storage.inputs.decompression import ALWAYS_ALLOWED_BYTES, DecompressedStream, decompress
from thresher.storage.inputs.input_kinds import detect_kind, input_kinds, read_items
from thresher.storage.warc.members import members
from thresher.storage.warc.payload import decode_chunked, decode_content

LIMIT = 64 << 20
SIZE = 4 << 20
EMPTY = {"gzip": gzip.compress(b"", mtime=0), "zstd": zstandard.compress(b""), "bzip2": bz2.compress(b"")}
LAST: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstandard.compress,
    "bzip2": bz2.compress,
}
MEMBER_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
BEGIN = b"WARC/1.0\r\n"


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_a_body_of_empty_streams_takes_time_in_proportion(name):
    body = EMPTY[name] * (SIZE // len(EMPTY[name])) + LAST[name](b"the end")
    with cpu_limit(10):
        assert decode_content(body, name, LIMIT) == (b"the end", None)


@pytest.mark.parametrize("name", ["gzip", "zstd", "bzip2"])
def test_a_file_of_empty_streams_takes_time_in_proportion(name):
    data = EMPTY[name] * (SIZE // len(EMPTY[name])) + LAST[name](b"the end")
    with cpu_limit(15):
        stream = expect(DecompressedStream, decompress(io.BytesIO(data), name="x"))
        assert stream.read(LIMIT) == b"the end"


def test_a_body_of_tiny_chunks_takes_time_in_proportion():
    with cpu_limit(10):
        assert decode_chunked(b"1\r\nx\r\n" * (SIZE // 6) + b"0\r\n\r\n", LIMIT) == (b"x" * (SIZE // 6), None)


@pytest.mark.parametrize(
    "data",
    [
        EMPTY["gzip"] * (SIZE // 20),
        pytest.param(b"\x1f\x8b\x08" * (SIZE // 3), marks=pytest.mark.slow),
        (MEMBER_HEAD + b"\0" + struct.pack("<HH", 60_000, 5_535) + BEGIN) * (SIZE // 25),
        pytest.param(BEGIN * (SIZE // len(BEGIN)), marks=pytest.mark.slow),
        (BEGIN + b"Content-Length: 999999999\r\n\r\n") * (SIZE // 39),
    ],
    ids=["empty members", "magics", "members that break off", "heads without end", "lengths beyond the end"],
)
def test_an_archive_of_beginnings_takes_time_in_proportion(tmp_path: Path, data):
    path = tmp_path / "x.warc"
    path.write_bytes(data)
    with path.open("rb") as file, cpu_limit(20):
        found = list(members(file, 0, None, 1 << 20, name="x"))
    assert sum(each.length for each in found) == len(data)
    assert all(each.problem or not each.data for each in found)


def test_damage_beyond_the_bound_is_one_stretch_and_what_is_whole_before_it_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("thresher.storage.warc.members.SPENT_AT_LEAST", 1_000)
    whole = gzip.compress(BEGIN + b"Content-Length: 0\r\n\r\n\r\n\r\n", mtime=0)
    broken = (MEMBER_HEAD + b"\0" + struct.pack("<HH", 60_000, 5_535) + BEGIN) * 2_000
    found = list(members(io.BytesIO(whole * 3 + broken), 0, None, 1 << 20, name="x"))
    assert [each.problem for each in found[:3]] == [None] * 3
    assert len(found) < 50
    assert found[-1].length > len(broken) / 2


@pytest.fixture
def spooled(monkeypatch: pytest.MonkeyPatch):
    """Bytes written to temporary files."""
    written = [0]
    made = tempfile.TemporaryFile
    for module in ("wacz_input", "input_kinds", "warc_input"):
        monkeypatch.setattr(
            f"thresher.storage.inputs.{module}.TemporaryFile", lambda: _Counting(made(), written)
        )
    return written


class _Counting:
    def __init__(self, file, written):
        self._file, self._written = file, written

    def write(self, data):
        self._written[0] += len(data)
        return self._file.write(data)

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        self._file.__enter__()
        return self

    def __exit__(self, *error):
        return self._file.__exit__(*error)


def test_a_wacz_that_swells_is_refused_before_anything_is_unpacked(tmp_path: Path, spooled):
    zeros, digest = bytes(1 << 20), hashlib.sha256()
    with zipfile.ZipFile(tmp_path / "b.wacz", "w", zipfile.ZIP_DEFLATED) as package:
        with package.open("archive/x.warc", "w") as file:
            for _ in range(300):
                file.write(zeros)
                digest.update(zeros)
        resource = {"path": "archive/x.warc", "hash": f"sha256:{digest.hexdigest()}"}
        package.writestr("datapackage.json", json.dumps({"resources": [resource]}))
    with (tmp_path / "b.wacz").open("rb") as file, pytest.raises(InputError, match=r"more than 100 times"):
        list(wacz_input.read(file, "b.wacz"))
    assert spooled == [0]


@pytest.mark.slow
def test_a_packed_table_that_swells_fills_no_disk(tmp_path: Path, spooled):
    path = tmp_path / "p.parquet.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(b"PAR1")
        for _ in range(600):
            file.write(bytes(1 << 20))
    with path.open("rb") as file, pytest.raises(InputError, match=r"more than 100 times"):
        list(read_items(file, path.name, detect_kind(file, path.name, input_kinds())))
    assert (
        ALWAYS_ALLOWED_BYTES <= spooled[0] <= ALWAYS_ALLOWED_BYTES + (2 << 20)
        or spooled[0] <= 100 * path.stat().st_size
    )


def arrow(table):
    made = io.BytesIO()
    with pa.ipc.new_file(made, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as file:
        file.write_table(table)
    return made.getvalue()


@pytest.mark.parametrize(
    "column",
    [
        pa.DictionaryArray.from_arrays(pa.array([0] * 200_000, pa.int32()), pa.array(["x" * (4 << 20)])),
        pa.RunEndEncodedArray.from_arrays(pa.array([2_000_000_000], pa.int32()), pa.array(["x" * 10_000])),
    ],
    ids=["dictionary", "run"],
)
def test_a_table_whose_rows_stand_for_more_than_it_has_is_refused(column):
    data = arrow(pa.table({"text": column}))
    assert len(data) < 10_000
    file = io.BytesIO(data)
    rows = read_items(file, "a.arrow", detect_kind(file, "a.arrow", input_kinds()))
    with cpu_limit(60), pytest.raises(InputError, match=r"more than 100 times"):
        deque(rows, maxlen=0)
