"""What is read back from the working files of an export is what was sealed; whatever is damaged is made again."""

import json
import os
import shutil

import pytest

from tests.pipeline.steps.made_exports import (  # noqa: F401 - fixtures are imported by name
    BOOKS,
    FUNNEL,
    NEWS,
    PARTS,
    contents,
    exported,
    mix_of,
    processed,
)
from tests.storage.conftest import keys, server  # noqa: F401 - fixtures of these tests too
from tests.storage.s3server import BUCKET
from thresher.core import Conflict, InputError
from thresher.pipeline.engine.working_stages import WorkingStages
from thresher.pipeline.steps import export, export_directory, export_plan
from thresher.pipeline.steps.choice import choosing
from thresher.pipeline.steps.options.export_options import ExportOptions
from thresher.pipeline.terminal.progress import LineProgress
from thresher.shards.tokenizer import load_tokenizer_file

OPTIONS = {
    "formats": ("tokens", "parquet"),
    "mix": mix_of({**NEWS, "share": 1}, {**BOOKS, "share": 1, "repeat": 2}),
    "shard_bytes": 20_000,
}
KINDS = (
    *("lines", "runs", "selection", "encoded", "tokenizer.json"),
    *("manifests/select", "manifests/tokenize", "manifests/shard"),
)


@pytest.fixture(scope="module", autouse=True)
def slow_engine():
    """The ids of a mix by tokens are kept only with the slow engine."""
    with pytest.MonkeyPatch.context() as slow:
        slow.setattr(choosing, "is_fast_equal", lambda _: False)
        yield


@pytest.fixture(scope="module")
def made(processed, pool, tmp_path_factory):
    """The directory of an export that was killed after its last shard, and the files of one that was not."""
    store, removed = processed
    directory = tmp_path_factory.mktemp("unfinished")
    plan = export_plan.make_plan(
        store, list(PARTS), load_tokenizer_file(None), removed, ExportOptions(**OPTIONS)
    )
    out = export.open_directory(plan, str(directory / "out"))
    shards = export.make_shards(plan, out, pool=pool, progress=LineProgress())
    shutil.copytree(directory / "out", directory / "unfinished")
    export.finish(plan, out, shards, FUNNEL)
    return directory / "unfinished", contents(directory / "out")


@pytest.fixture
def unfinished(made, exported):
    """An export that was killed after its last shard, its working directory, and the files of one that was not."""
    before, expected = made
    out = exported.directory / "out"
    shutil.copytree(before, out)
    (work,) = (path.parent for path in out.rglob(".work/*/*/manifests"))
    return out, work, expected


def files_of(work, kind):
    found = [
        path for path in work.rglob("*") if path.is_file() and f"{path.relative_to(work)}".startswith(kind)
    ]
    assert found
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_byte_in_any_working_file_is_made_again(exported, unfinished, kind):
    _, work, expected = unfinished
    for number, path in enumerate(files_of(work, kind)):
        data = bytearray(path.read_bytes())
        data[int(len(data) * (0.1, 0.5, 0.98)[number % 3])] ^= 1
        path.write_bytes(data)
    assert contents(exported(**OPTIONS)) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_working_file_is_made_again(exported, unfinished, kind):
    _, work, expected = unfinished
    for path in files_of(work, kind):
        path.write_bytes(b"")
    assert contents(exported(**OPTIONS)) == expected


def test_an_edited_line_of_a_shard_does_not_reach_the_manifest(exported, unfinished):
    _, work, expected = unfinished
    for path in files_of(work, "lines"):
        line = json.loads(path.read_text())
        path.write_text(json.dumps({**line, "tokens": line["tokens"] + 1}, sort_keys=True))
    assert contents(exported(**OPTIONS)) == expected


@pytest.mark.parametrize("step", ["tokenize", "shard"])
def test_working_files_that_are_damaged_while_the_export_runs_are_made_again(
    exported, made, monkeypatch, step
):
    _, expected = made
    run, damaged = WorkingStages.run, []

    def damage_first(stages, now, *rest):
        if now.name == step and not damaged:
            kind = {"tokenize": "encoded", "shard": "runs"}[step]
            damaged.extend(files_of(stages.scratch.root, kind))
            for path in damaged:
                path.write_bytes(path.read_bytes()[:-40])
        return run(stages, now, *rest)

    monkeypatch.setattr(WorkingStages, "run", damage_first)
    assert contents(exported(**OPTIONS)) == expected
    assert damaged


@pytest.mark.parametrize("data", [None, b"", b"{}", b"no json", "flipped", b"[" * 100_000])
def test_an_unfinished_export_goes_on_without_its_claim(exported, unfinished, data):
    out, _, expected = unfinished
    claim = out / "recipe.json"
    if data is None:
        claim.unlink()
    elif data == "flipped":
        changed = bytearray(claim.read_bytes())
        changed[changed.index(b"sha256") + 12] ^= 1
        claim.write_bytes(changed)
    else:
        claim.write_bytes(data)
    assert contents(exported(**OPTIONS)) == expected


def test_files_whose_claim_is_damaged_are_left_to_their_owner(exported, unfinished):
    out, _, _ = unfinished
    (out / "recipe.json").write_bytes(b"damaged")
    before = contents(out)
    with pytest.raises(InputError, match=r"recipe\.json is missing or damaged"):
        exported(formats=("jsonl",))
    assert contents(out) == before


@pytest.mark.parametrize("data", [None, b"damaged"])
def test_a_finished_export_tells_by_its_manifest_whose_it_is(exported, data):
    out = exported()
    before = contents(out)
    (out / "recipe.json").unlink()
    if data is not None:
        (out / "recipe.json").write_bytes(data)
    with pytest.raises(Conflict, match="formats"):
        exported(formats=("jsonl",))
    exported()
    assert contents(out) == before


def test_a_claim_that_was_cut_off_before_anything_else_was_written_is_free(exported):
    (exported.directory / "out").mkdir()
    (exported.directory / "out" / "recipe.json").write_bytes(b"{")
    assert "manifest.json" in contents(exported(formats=("jsonl",)))


def test_staged_files_of_killed_exports_are_swept(exported, unfinished):
    out, work, expected = unfinished
    for directory in (out, work):
        (directory / ".staging").mkdir(exist_ok=True)
        (directory / ".staging" / "0123").write_bytes(bytes(100))
    swept = contents(exported(**OPTIONS))
    assert swept == {**expected, **{name: data for name, data in swept.items() if name == ".staging/gate"}}


def test_a_mix_without_documents_claims_nothing(exported):
    nothing = mix_of({"name": "none", "where": {"language": "xx"}, "share": 1}, {**NEWS, "share": 1})
    with pytest.raises(InputError, match="no kept document belongs to source 'none'"):
        exported(mix=nothing)
    assert not (exported.directory / "out").exists()
    (exported.directory / "out").mkdir()
    with pytest.raises(InputError, match="no kept document"):
        exported(mix=nothing)
    assert "manifest.json" in contents(exported(mix=mix_of({**NEWS, "share": 1})))


def test_a_command_that_waits_for_another_changes_nothing(exported):
    out = exported()
    before = contents(out)
    with (
        export_directory.write_lock(export_directory.output_store(str(out))),
        pytest.raises(Conflict, match="another command is writing"),
    ):
        exported()
    assert contents(out) == before


@pytest.mark.slow
def test_an_unfinished_export_in_a_bucket_goes_on_in_the_same_way(processed, pool, made, server, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
    store, removed = processed
    plan = export_plan.make_plan(
        store, list(PARTS), load_tokenizer_file(None), removed, ExportOptions(**OPTIONS)
    )
    address = f"s3://{BUCKET}/{os.urandom(6).hex()}"
    out = export.open_directory(plan, address)
    export.make_shards(plan, out, pool=pool, progress=LineProgress())
    work = f".work/{plan.fingerprint[:16]}"
    hidden = out.substore(work)
    for name in hidden.list():
        if any(f"/{kind}" in f"/{name}" for kind in KINDS):
            data = hidden.read(name)
            hidden.delete(name)
            hidden.put(name, data[:-3])
    out.delete("recipe.json")
    out.put("recipe.json", b"damaged")
    again = export.open_directory(plan, address)
    with export_directory.write_lock(again):
        shards = export.make_shards(plan, again, pool=pool, progress=LineProgress())
        export.finish(plan, again, shards, FUNNEL)
    expected = {name: data for name, data in made[1].items() if not name.startswith(".")}
    assert {name: out.read(name) for name in out.list()} == expected
    assert list(out.substore(".work").list()) == []
