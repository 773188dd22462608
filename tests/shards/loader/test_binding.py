"""Every byte that a loader uses is the one that the manifest names: swapped, planted and damaged files are found."""

import logging
import shutil

import numpy as np
import pytest

from tests.shards.loader.made_export import documents_of, make_export
from thresher.core import CorruptData, InputError, ThresherError
from thresher.shards.formats.packing_plan import write_plan
from thresher.shards.loader.exact_loader import Loader

LENGTH = 32
WEB = "tokens/web/shard-0000"


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """An export with a packing plan; its shards have the same numbers of documents and tokens."""
    root = tmp_path_factory.mktemp("export")
    make_export(
        root, {"web": documents_of("web", 120, sizes=(9, 10))}, shard_documents=40, plan_length=LENGTH
    )
    return root


@pytest.fixture
def export(original, tmp_path):
    shutil.copytree(original, tmp_path / "out")
    return tmp_path / "out"


def rows(export, cache, **options):
    options = {"length": LENGTH, "batch_size": 1, "cache": cache, **options}
    return [row for batch in Loader(export, **options) for row in batch["input_ids"].tolist()]


def plans_of(cache):
    return sorted((cache / "plans").glob("*.plan"))


@pytest.mark.parametrize("packing", ["best-fit", "concat", "none"])
def test_swapped_shards_are_refused(export, tmp_path, packing):
    first, second = export / f"{WEB}0.tokens", export / f"{WEB}1.tokens"
    assert first.stat().st_size == second.stat().st_size
    kept = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(kept)
    with pytest.raises(CorruptData, match=r"shard-0000[01]\.tokens: .*not what the manifest names"):
        rows(export, tmp_path, packing=packing)


def test_a_shard_of_another_export_is_refused(export, tmp_path):
    make_export(
        tmp_path / "other", {"web": documents_of("web", 40, sizes=(9, 10), seed=1)}, shard_documents=40
    )
    shutil.copy(tmp_path / "other" / f"{WEB}0.tokens", export / f"{WEB}0.tokens")
    with pytest.raises(CorruptData, match=r"shard-00000\.tokens: .*not what the manifest names"):
        rows(export, tmp_path)


def test_a_planted_plan_in_the_export_is_refused(export, tmp_path):
    plan = export / f"{WEB}0.best-fit-{LENGTH}.plan"
    for other in (export / f"{WEB}1.best-fit-{LENGTH}.plan", None):
        if other is None:  # right in every way, but not the plan that was sealed
            with plan.open("wb") as file:
                ends = np.arange(9, 9 * 40 + 1, 9).astype(np.uint64)
                write_plan(file, np.concatenate((ends[:-2], ends[-1:], ends[-1:])), LENGTH, "ab" * 32)
        else:
            shutil.copy(other, plan)
        with pytest.raises(
            CorruptData, match=rf"shard-00000\.best-fit-{LENGTH}\.plan: .*run `thresher verify"
        ):
            rows(export, tmp_path)


def test_the_number_of_sequences_is_that_of_the_manifest_and_no_plan_is_opened_for_it(export, tmp_path):
    expected = Loader(export, length=LENGTH, batch_size=1, cache=tmp_path).sequences
    for plan in export.glob("tokens/web/*.plan"):
        plan.unlink()
    loader = Loader(export, length=LENGTH, batch_size=1, cache=tmp_path)
    assert loader.sequences == expected
    with pytest.raises(CorruptData, match=r"\.plan is missing"):
        next(iter(loader))


OTHER = 24
"""A length for which the export has no plan."""


@pytest.mark.parametrize(
    "damage", ["flip", "cut", "empty", "of another shard", "of another length", "no plan"]
)
def test_a_cached_plan_that_is_wrong_is_made_again(export, tmp_path, damage, caplog):
    cache = tmp_path / "cache"
    expected = rows(export, cache, length=OTHER)
    first, second, _ = plans_of(cache)
    good = first.read_bytes()
    rows(export, cache, length=OTHER + 1)
    wrong = {
        "flip": good[:4200] + bytes([good[4200] ^ 1]) + good[4201:],
        "cut": good[:-1],
        "empty": b"",
        "of another shard": second.read_bytes(),
        "of another length": next(cache.glob(f"plans/{first.name[:64]}*-{OTHER + 1}.plan")).read_bytes(),
        "no plan": b"x" * 10_000,
    }[damage]
    first.write_bytes(wrong)
    with caplog.at_level(logging.WARNING):
        assert rows(export, cache, length=OTHER) == expected
    assert first.read_bytes() == good
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith(f"{first} is deleted and made again: it is damaged, or of another shard")


def test_a_plan_that_is_damaged_while_it_is_mapped_is_made_again(export, tmp_path, caplog):
    expected = rows(export, tmp_path, length=OTHER)
    loader = Loader(export, length=OTHER, batch_size=1, cache=tmp_path)
    for plan in plans_of(tmp_path):  # the loader has read their headers, and no block
        with plan.open("r+b") as file:
            file.seek(4096 + 8)
            file.write(b"\xff")
    with caplog.at_level(logging.WARNING):
        assert [row for batch in loader for row in batch["input_ids"].tolist()] == expected
    assert len(caplog.records) == 3


def test_two_times_the_same_export_is_refused(export, tmp_path):
    shutil.copytree(export, tmp_path / "copy")
    for other in (export, str(export), tmp_path / "copy"):
        with pytest.raises(InputError, match="are the same export; give it once, and epochs for more of it"):
            Loader([export, other], length=LENGTH, batch_size=1, cache=tmp_path / "cache")


def everything(export, cache):
    """All that a loader tells of the first shard: its rows, and where a token of it came from."""
    loader = Loader(export, length=LENGTH, batch_size=1, cache=cache, shuffle="none")
    found = [batch["input_ids"].tolist() for batch in loader]
    state = loader.state_dict() | {"sequences": 1, "last": 1}
    return found, loader.trace(state, row=0, position=0)


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("manifest.json", 11),
        (f"{WEB}0.tokens", 3),
        (f"{WEB}0.best-fit-{LENGTH}.plan", 3),
        (f"{WEB}0.refs.parquet", 61),
        pytest.param(f"{WEB}0.refs.parquet", 11, marks=pytest.mark.slow),
    ],
)
def test_a_flip_anywhere_is_refused_in_one_line(export, tmp_path, name, step):
    """Steps that are odd visit every place of a word of 8 bytes. The zeros of a header are visited more coarsely."""
    good = (export / name).read_bytes()
    everything(export, tmp_path / "cache")
    zeros = range(110, 4090) if name.endswith((".tokens", ".plan")) else range(0)
    for offset in range(0, len(good), step):
        if offset in zeros and offset % 100 > step:
            continue
        (export / name).write_bytes(good[:offset] + bytes([good[offset] ^ 4]) + good[offset + 1 :])
        with pytest.raises(ThresherError) as error:
            everything(export, tmp_path / "cache")
        assert "\n" not in str(error.value)
        assert "verify" in str(error.value) or name == "manifest.json" or "version" in str(error.value)
