"""Small inputs share an archive file: each is found in it again, and one that is refused leaves no trace."""

import random
from pathlib import Path

import pytest

from thresher.core import CorruptData, InputError
from thresher.storage.archive.reseal import reseal
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.inputs import shared_archive
from thresher.storage.inputs.entry import InputRecord, UnusableRecord
from thresher.storage.inputs.made_records import VolumeSize
from thresher.storage.inputs.origin import Origin, passed_over
from thresher.storage.inputs.shared_archive import SharedArchive, inputs_of, is_shared, seal_unsealed
from thresher.storage.manifest import load_manifest, manifests
from thresher.storage.warc import cdxj
from thresher.storage.warc.records import read_records
from thresher.storage.warc.validator import check_record


def origin(number, **more):
    fields = {
        "name": f"in/{number}.txt",
        "stem": f"in--{number}.txt",
        "identity": f"sha256:{number:064x}",
        "reader": "text@1",
        "options": {},
    }
    return Origin(**{**fields, **more})


def entry(number, place=0, **more):
    fields = {
        "uri": f"file:in/{number}.txt",
        "mime": "text/plain; charset=utf-8",
        "payload": f"Text {number}, record {place}.".encode(),
        "facts": {"from": f"in/{number}.txt"},
    }
    return InputRecord(place=place, **{**fields, **more})


BAD = UnusableRecord(place=1, reason="no_text", detail="line 2: no text in it")


@pytest.fixture
def files(tmp_path: Path):
    return DirectoryStore(tmp_path / "data")


def sealed(files, *numbers, source="s"):
    """The Manifest of a shared file of such inputs; the second of each three has two records and one that is bad."""
    with SharedArchive(source) as small:
        for number in numbers:
            items = [entry(number), BAD, entry(number, 2)] if number % 3 == 1 else [entry(number)]
            assert small.add(origin(number), iter(items))
        return small.seal(files)


def records(files, manifest, **more):
    name = manifest.outputs[0].name
    with files.open(name) as file:
        return list(read_records(file, name=name, **more))


def test_the_records_of_all_lie_in_one_file_behind_the_list(files: DirectoryStore):
    manifest = sealed(files, 0, 1, 2)
    info, inputs, *rest = records(files, manifest)
    assert (info.type, inputs.type, inputs.mime) == ("warcinfo", "metadata", "application/x-ndjson")
    assert [(each.type, each.payload, each.facts["from"]) for each in rest] == [
        ("resource", b"Text 0, record 0.", "in/0.txt"),
        ("resource", b"Text 1, record 0.", "in/1.txt"),
        ("resource", b"Text 1, record 2.", "in/1.txt"),
        ("resource", b"Text 2, record 0.", "in/2.txt"),
    ]
    assert len({each.record_id for each in rest}) == 4
    with files.open(manifest.outputs[1].name) as file:
        assert sorted(row.offset for row in cdxj.read(file, name="index")) == [each.offset for each in rest]
    assert manifest.recipe["ingested"] == "3 inputs"
    assert is_shared(manifest)
    assert passed_over(manifest.counts) == {"no_text": 1}


def test_the_list_says_of_each_input_what_it_was_and_what_became_of_it(files: DirectoryStore):
    manifest = sealed(files, 0, 1)
    found = [
        (one.name, one.origin, one.reading_options, one.counts)
        for one in inputs_of(files, manifest.outputs[0].name)
    ]
    how = {"reader": "text@1", "options": {}}
    assert found == [
        ("in/0.txt", f"sha256:{0:064x}", how, {"resource": 1}),
        ("in/1.txt", f"sha256:{1:064x}", how, {"resource": 2, "passed_over.no_text": 1}),
    ]


def test_every_record_keeps_the_rules_of_our_own(files: DirectoryStore):
    seen = []
    records(files, sealed(files, 0, 1, 2), on_member=seen.append)
    assert len(seen) == 6
    for member in seen:
        check_record(member.data)


def test_the_same_inputs_give_the_same_bytes_and_others_another_name(tmp_path: Path):
    one, two = DirectoryStore(tmp_path / "one"), DirectoryStore(tmp_path / "two")
    first = sealed(one, 0, 1)
    assert sealed(two, 0, 1) == first
    assert {name: one.read(name) for name in one.list()} == {name: two.read(name) for name in two.list()}
    assert sealed(one, 0, 1) == first
    assert sealed(one, 0, 2).part != first.part


@pytest.mark.parametrize(
    ("items", "rows", "said"),
    [
        ([], False, "no record in it can be used; it holds none"),
        ([BAD], False, "no record in it can be used; line 2: no text in it"),
        (
            [entry(1), BAD, BAD],
            True,
            "more bad rows than good ones (2 of 3); the first: line 2: no text in it",
        ),
    ],
)
def test_what_is_refused_leaves_nothing_in_it(tmp_path: Path, items, rows, said):
    with SharedArchive("s") as small:
        small.add(origin(0), iter([entry(0)]))
        with pytest.raises(InputError) as caught:
            small.add(origin(1, rows=rows), iter(items))
        assert str(caught.value) == f"ingest in/1.txt: {said}"
        small.add(origin(2), iter([entry(2)]))
        assert small.seal(DirectoryStore(tmp_path / "one")) == sealed(DirectoryStore(tmp_path / "two"), 0, 2)


def test_what_is_not_small_after_all_leaves_nothing_in_it(
    files: DirectoryStore, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(shared_archive, "LARGEST", 2_000)
    with SharedArchive("s", VolumeSize(records=3)) as small:
        assert small.add(origin(0), iter([entry(0)]))
        assert not small.add(origin(1), (entry(1, place) for place in range(4)))
        noise = random.Random(1).randbytes(3_000)
        assert not small.add(origin(1), (entry(1, place, payload=noise) for place in range(3)))
        assert [one.name for one in small.listed] == ["in/0.txt"]
        assert small.seal(files).counts == {"warcinfo": 1, "metadata": 1, "resource": 1}


def test_it_is_full_by_records_by_bytes_and_by_inputs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shared_archive, "MAX_INPUTS", 2)
    for size, fits in ((VolumeSize(records=3), 2), (VolumeSize(records=1), 1), (VolumeSize(bytes=1), 1)):
        with SharedArchive("s", size) as small:
            count = 0
            while not small.is_full:
                assert small.add(origin(count), iter([entry(count)]))
                count += 1
            assert count == fits


def test_a_seal_that_is_lost_is_made_again_from_the_file_alone(files: DirectoryStore):
    manifest = sealed(files, 0, 2)
    name = f"manifests/archive/{manifest.part}.json"
    files.delete(name)
    assert reseal(files, manifest.outputs[0].name) == manifest == load_manifest(files, name)


def test_a_file_that_was_published_and_not_sealed_is_sealed(files: DirectoryStore):
    manifest = sealed(files, 0, 2)
    files.delete(f"manifests/archive/{manifest.part}.json")
    files.delete(manifest.outputs[1].name)
    files.put("warc/s/shared-0000.warc.gz", b"somebody's own")
    seal_unsealed(files, "s")
    assert list(manifests(files, "archive")) == [manifest]


def test_a_list_that_cannot_be_read_is_said(files: DirectoryStore):
    manifest = sealed(files, 0, 2)
    name = manifest.outputs[0].name
    data = files.read(name)
    at = records(files, manifest)[1].offset + 100
    files.delete(name)
    files.put(name, data[:at] + b"\xff\xff\xff" + data[at + 3 :])
    with pytest.raises(CorruptData, match=rf"{name} has no list of its inputs that can be read; .*verify"):
        list(inputs_of(files, name))
