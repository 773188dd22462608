"""A part is complete when its Manifest exists, and the Manifest names exactly its inputs and outputs."""

import json
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.storage.failing_calls import count_calls, failing_at
from thresher.core import Conflict, CorruptData, InputError
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import (
    JSON,
    Input,
    Manifest,
    Output,
    digest,
    fingerprint,
    load_manifest,
    manifest_name,
    manifests,
    recipe_difference,
    seal,
)

RECIPE: dict[str, JSON] = {
    "filters": {"preset": "fineweb", "languages": ["en"]},
    "extractor": "trafilatura@2.3.1",
}
INPUTS = (Input(name="warc/main/a.warc.gz", sha256="ab" * 32, first=0, end=4096),)

GOLDEN = b"""{
 "counts": {
  "keep": 2,
  "language/other": 1
 },
 "digest": "792c7e75f519838079c351a6b6412eb2fd2145fc7c09f32b701d8c01a85400d0",
 "fingerprint": "FINGERPRINT",
 "format": "thresher-manifest@1",
 "inputs": [
  {
   "end": 4096,
   "first": 0,
   "name": "warc/main/a.warc.gz",
   "sha256": "abababababababababababababababababababababababababababababababab"
  }
 ],
 "outputs": [
  {
   "bytes": 10,
   "name": "documents/main/part-x.parquet",
   "rows": 3,
   "sha256": "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"
  }
 ],
 "part": "main/part-x",
 "recipe": {
  "extractor": "trafilatura@2.3.1",
  "filters": {
   "languages": [
    "en"
   ],
   "preset": "fineweb"
  }
 },
 "step": "process@1"
}
"""
GOLDEN_FINGERPRINT = "b903e5626d66e4aef3d25229b9775f552e4def6439052978b88b47a0d1f45301"


@pytest.fixture
def files(tmp_path: Path):
    return DirectoryStore(tmp_path / "data")


def made(step="process@1", part="main/part-x", recipe=RECIPE, inputs=INPUTS, **more):
    return Manifest(
        step=step,
        part=part,
        fingerprint=fingerprint(step, recipe, inputs),
        recipe=recipe,
        inputs=inputs,
        outputs=(Output(name="documents/main/part-x.parquet", bytes=10, sha256="cd" * 32, rows=3),),
        counts={"language/other": 1, "keep": 2},
        **more,
    )


def test_the_stored_bytes_are_these(files: DirectoryStore):
    seal(files, made())
    stored = files.read("manifests/process/main/part-x.json")
    assert stored == GOLDEN.replace(b"FINGERPRINT", GOLDEN_FINGERPRINT.encode())


def test_what_was_sealed_is_loaded_equal(files: DirectoryStore):
    seal(files, made())
    assert load_manifest(files, manifest_name("process", "main/part-x")) == made()


def test_counts_may_be_a_counter(files: DirectoryStore):
    seal(files, replace(made(), counts=Counter(a=1)))
    assert load_manifest(files, manifest_name("process", "main/part-x")).counts == {"a": 1}


def test_a_change_to_any_field_is_found(files: DirectoryStore):
    stored = json.loads(made().to_bytes())
    for number, field in enumerate(stored):
        changed = {**stored, field: {"other": 1} if isinstance(stored[field], dict) else "other"}
        name = f"manifests/process/main/part-{number}.json"
        files.put(name, json.dumps(changed).encode())
        with pytest.raises(CorruptData, match=r"run `thresher verify --repair`"):
            load_manifest(files, name)


def test_sealing_twice_is_sealing(files: DirectoryStore):
    seal(files, made())
    before = files.read(manifest_name("process", "main/part-x"))
    seal(files, made())
    assert files.read(manifest_name("process", "main/part-x")) == before


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (
            made(recipe={**RECIPE, "filters": {"preset": "c4", "languages": ["en"]}}),
            'recipe.filters.preset was "fineweb", is "c4" now',
        ),
        (
            made(recipe={**RECIPE, "filters": {"preset": "fineweb", "languages": ["en", "de"]}}),
            'recipe.filters.languages.1 was absent, is "de" now',
        ),
        (made(recipe={}), 'recipe.extractor was "trafilatura@2.3.1", is absent now'),
        (made(step="process@2"), 'step was "process@1", is "process@2" now'),
        (
            made(inputs=(replace(INPUTS[0], end=5000),)),
            "inputs.0.end was 4096, is 5000 now",
        ),
    ],
)
def test_another_recipe_is_refused_naming_the_field_and_both_values(files: DirectoryStore, other, said):
    seal(files, made())
    with pytest.raises(Conflict, match=r"manifests/process/main/part-x.json was sealed otherwise") as caught:
        seal(files, other)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert load_manifest(files, manifest_name("process", "main/part-x")) == made()


def test_a_fingerprint_that_is_not_of_the_recipe_is_refused(files: DirectoryStore):
    with pytest.raises(Conflict, match="fingerprint that is not that of its step"):
        seal(files, replace(made(), fingerprint="0" * 64))


def test_the_fingerprint_depends_on_step_recipe_and_inputs_and_not_on_their_order():
    base = fingerprint("process@1", RECIPE, INPUTS)
    assert base == fingerprint("process@1", dict(reversed(RECIPE.items())), INPUTS)
    others = {
        fingerprint("process@2", RECIPE, INPUTS),
        fingerprint("process@1", {**RECIPE, "x": None}, INPUTS),
        fingerprint("process@1", RECIPE, ()),
        fingerprint("process@1", RECIPE, (replace(INPUTS[0], first=1),)),
    }
    assert len(others | {base}) == 5


def test_tuples_are_lists_and_nothing_else_is_folded():
    assert fingerprint("a@1", {"x": (1, 2)}, ()) == fingerprint("a@1", {"x": [1, 2]}, ())
    different: list[JSON] = [1, 1.0, "1", True, [1], {"1": 1}, None]
    assert len({fingerprint("a@1", {"x": value}, ()) for value in different}) == len(different)


@dataclass
class Thing:
    x: int = 1


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        ({"a": {"b": {1, 2}}}, "a.b is a set"),
        ({"a": [0, b"x"]}, "a.1 is a bytes"),
        ({"a": float("nan")}, "a is nan"),
        ({"a": {1: 2}}, "a has the key 1"),
        ({"a": Thing()}, "a is a Thing"),
    ],
)
def test_what_json_cannot_hold_is_refused_by_name(recipe, said):
    with pytest.raises(InputError) as caught:
        fingerprint("a@1", recipe, ())
    assert said in str(caught.value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
recipes = st.dictionaries(st.text(max_size=5), json_values, max_size=4)


@given(recipes, recipes)
def test_recipes_drift_exactly_when_their_fingerprints_differ(old, new):
    same = fingerprint("a@1", old, ()) == fingerprint("a@1", new, ())
    assert bool(recipe_difference(old, new)) != same


@given(recipes)
def test_any_recipe_round_trips(tmp_path_factory: pytest.TempPathFactory, recipe):
    files = DirectoryStore(tmp_path_factory.mktemp("root"))
    seal(files, made(recipe=recipe))
    assert load_manifest(files, manifest_name("process", "main/part-x")) == made(recipe=recipe)
    assert recipe_difference(recipe, json.loads(json.dumps(recipe))) == ""


def test_long_values_are_cut_in_messages():
    assert len(recipe_difference({"a": "x" * 10_000}, {"a": "y" * 10_000})) < 1000


def test_manifests_come_by_name_and_by_source(files: DirectoryStore):
    for part in ("b/2", "b/1", "a/1", "bb/1"):
        seal(files, made(part=part))
    seal(files, made(step="archive@1", part="a/1"))
    assert [each.part for each in manifests(files, "process")] == ["a/1", "b/1", "b/2", "bb/1"]
    assert [each.part for each in manifests(files, "process", "b")] == ["b/1", "b/2"]
    assert list(manifests(files, "dedup")) == []


def test_a_manifest_with_any_byte_changed_is_corrupt_or_the_same(tmp_path: Path):
    good = made().to_bytes()
    for at in range(0, len(good), 7):
        files = DirectoryStore(tmp_path / str(at))
        files.put("manifests/process/main/part-x.json", good[:at] + b"\xff" + good[at + 1 :])
        with pytest.raises(CorruptData) as caught:
            load_manifest(files, "manifests/process/main/part-x.json")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("cut", [0, 1, 100, -2])
def test_a_manifest_cut_short_is_corrupt(files: DirectoryStore, cut):
    files.put("manifests/x/y.json", made().to_bytes()[:cut])
    with pytest.raises(CorruptData, match=r"manifests/x/y.json is no Manifest"):
        load_manifest(files, "manifests/x/y.json")


def test_a_recipe_edited_by_hand_is_noticed(files: DirectoryStore):
    files.put("manifests/x/y.json", made().to_bytes().replace(b"fineweb", b"gopher!"))
    with pytest.raises(CorruptData, match="changed after it was sealed"):
        load_manifest(files, "manifests/x/y.json")


def test_killed_at_every_call_the_part_is_sealed_or_not(tmp_path: Path):
    count = count_calls(lambda: seal(DirectoryStore(tmp_path / "count"), made()))
    for number in range(count):
        files = DirectoryStore(tmp_path / str(number))
        with failing_at(number), suppress(OSError):
            seal(files, made())
        assert [each.part for each in manifests(files, "process")] in ([], ["main/part-x"])
        seal(files, made())
        assert list(manifests(files, "process")) == [made()]


def test_the_digest_of_a_file_is_its_sha256(tmp_path: Path):
    (tmp_path / "x").write_bytes(b"abc")
    assert digest(tmp_path / "x") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_name_with_a_line_break_stays_on_the_line_of_its_error(tmp_path):
    store = DirectoryStore(tmp_path)
    store.put("manifests/x/a\nb.json", b"{}")
    with pytest.raises(CorruptData, match=r"^manifests/x/a\\nb\.json is no Manifest") as error:
        load_manifest(store, "manifests/x/a\nb.json")
    assert "\n" not in str(error.value)
