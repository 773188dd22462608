"""A file that counts only as a whole is read whole, or not at all."""

import bz2
import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from thresher.core import InputError
from thresher.storage.inputs.whole_file import open_whole, plain_name

TEXT = b"".join(b"%d %s\n" % (number, os.urandom(9).hex().encode()) for number in range(20_000))
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "zst": zstandard.ZstdCompressor().compress,
}


def whole(path: Path) -> bytes:
    with open_whole(path) as file:
        return file.read()


def test_a_plain_file_is_its_bytes(tmp_path: Path):
    for name, data in (("empty", b""), ("text", TEXT)):
        (tmp_path / name).write_bytes(data)
        assert whole(tmp_path / name) == data


@pytest.mark.parametrize("kind", PACKED)
def test_compressed_files_are_unpacked_also_in_several_members_and_under_any_name(tmp_path: Path, kind: str):
    (tmp_path / "file").write_bytes(PACKED[kind](TEXT) + PACKED[kind](b"more\n"))
    assert whole(tmp_path / "file") == TEXT + b"more\n"
    assert plain_name(f"texts.jsonl.{kind}") == "texts.jsonl"


@pytest.mark.parametrize("kind", PACKED)
def test_a_file_that_is_cut_off_or_damaged_is_refused(tmp_path: Path, kind: str):
    packed = PACKED[kind](TEXT)
    for length in (len(packed) // 2, len(packed) - 1):
        (tmp_path / "cut").write_bytes(packed[:length])
        with pytest.raises(
            InputError, match=r"cut: the compressed data are (cut off|damaged); get the file again"
        ):
            whole(tmp_path / "cut")


def test_what_cannot_be_opened_is_one_line(tmp_path: Path):
    for path, problem in ((tmp_path, "Is a directory"), (tmp_path / "none", "No such file")):
        with pytest.raises(InputError, match=f"cannot be read .{problem}"):
            whole(path)
