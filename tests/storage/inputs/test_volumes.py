"""An input becomes sealed WARC files, the same ones however often it is killed; a refused input leaves none."""

import io
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastwarc.warc import ArchiveIterator

from thresher.core import InputError
from thresher.storage.archive.reseal import reindex, reseal
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.inputs.entry import HTTP_RESPONSE, CopiedRecord, InputRecord, UnusableRecord
from thresher.storage.inputs.made_records import VolumeSize
from thresher.storage.inputs.origin import Origin, passed_over
from thresher.storage.inputs.volumes import ingest_volumes
from thresher.storage.manifest import load_manifest, manifests
from thresher.storage.warc import cdxj
from thresher.storage.warc.records import read_records, record_at
from thresher.storage.warc.validator import check_record

ORIGIN = Origin(name="x.jsonl", stem="x.jsonl", identity="sha256:1", reader="jsonl@1", options={}, rows=True)
SMALL = VolumeSize(records=3)


def entry(place, **more):
    fields = {
        "uri": f"https://example.org/{place}",
        "mime": "text/plain; charset=utf-8",
        "payload": f"Text {place}.".encode(),
        "facts": {"id": f"ü  {place}"},
    }
    return InputRecord(place=place, **{**fields, **more})


ITEMS = [
    entry(0, date_ms=1_700_000_000_123),
    UnusableRecord(place=1, reason="no_text", detail="line=2: no text in it"),
    *map(entry, range(2, 7)),
    UnusableRecord(place=7, reason="broken_json", detail="line 8: Expecting value"),
    entry(8),
]


def made(items=ITEMS):
    return lambda first: iter([item for item in items if item.place >= first])


def only_from(expected):
    """The items, to be read from that number on and no other."""

    def read_from(first):
        assert first == expected
        return made()(first)

    return read_from


@pytest.fixture
def files(tmp_path: Path):
    return DirectoryStore(tmp_path / "data")


def stored(files):
    return {name: files.read(name) for name in files.list()}


def records(files, name):
    with files.open(name) as file:
        return list(read_records(file, name=name))


def test_an_entry_becomes_a_record_that_says_all_that_was_said(files: DirectoryStore):
    (manifest,) = ingest_volumes(files, "s", ORIGIN, made())
    info, first, *rest = records(files, manifest.outputs[0].name)
    assert (info.type, first.type, len(rest)) == ("warcinfo", "resource", 6)
    assert (first.url, first.mime, first.payload) == ("https://example.org/0", "text/plain", b"Text 0.")
    assert (first.date_ms, rest[0].date_ms) == (1_700_000_000_123, 0)
    assert first.facts == {"id": "ü  0"}
    with files.open(manifest.outputs[1].name) as file:
        rows = list(cdxj.read(file, name="index"))
    assert sorted((row.offset, row.url) for row in rows) == [
        (each.offset, each.url) for each in (first, *rest)
    ]


def test_every_record_keeps_the_rules_of_our_own(files: DirectoryStore):
    response = entry(9, mime=HTTP_RESPONSE, payload=b"HTTP/1.1 200 OK\r\n\r\nbody", peer="192.0.2.7")
    (manifest,) = ingest_volumes(files, "s", ORIGIN, made([*ITEMS, response]))
    name, seen = manifest.outputs[0].name, []
    with files.open(name) as file:
        found = list(read_records(file, name=name, on_member=seen.append))
    for member in seen:
        check_record(member.data)
    assert (found[-1].type, found[-1].status, found[-1].payload) == ("response", 200, b"body")


def test_what_is_passed_over_is_counted_by_its_reason(files: DirectoryStore):
    (manifest,) = ingest_volumes(files, "s", ORIGIN, made())
    assert manifest.counts["resource"] == 7
    assert passed_over(manifest.counts) == {"no_text": 1, "broken_json": 1}


def test_a_copied_record_is_there_byte_for_byte(files: DirectoryStore):
    (one,) = ingest_volumes(files, "one", ORIGIN, made([entry(0)]))
    data = files.read(one.outputs[0].name)
    record = records(files, one.outputs[0].name)[1]
    member = data[record.offset : record.offset + record.length]
    (two,) = ingest_volumes(files, "two", ORIGIN, made([CopiedRecord(place=0, member=member)]))
    assert files.read(two.outputs[0].name).endswith(member)
    assert two.counts == one.counts


def long_table(number=2_600):
    return [
        entry(
            place,
            payload=f"Text {place} of a table, in the words that all of its texts share. ".encode() * 12,
        )
        for place in range(number)
    ]


def test_a_larger_table_shares_a_dictionary_and_its_index_is_that_of_its_records(files: DirectoryStore):
    (manifest,) = ingest_volumes(files, "s", ORIGIN, made(long_table()))
    warc, index = manifest.outputs
    assert warc.name == "warc/s/x.jsonl-00000.warc.zst"
    found = records(files, warc.name)
    assert [each.payload for each in found[1:]] == [each.payload for each in long_table()]
    assert manifest.counts == {"warcinfo": 1, "resource": 2_600}
    middle = found[1_300]
    assert record_at(files, middle.ref) == middle
    assert reindex(files, manifest).outputs == (warc, index)
    with files.open(warc.name) as file:
        assert [each.reader.read() for each in ArchiveIterator(file)][1:] == [
            each.payload for each in long_table()
        ]
    before = stored(files)
    assert reseal(files, warc.name) == manifest
    assert stored(files) == before


def test_damage_in_a_table_with_a_dictionary_costs_the_records_that_it_touches(files: DirectoryStore):
    (manifest,) = ingest_volumes(files, "s", ORIGIN, made(long_table()))
    name = manifest.outputs[0].name
    whole, data = records(files, name), bytearray(files.read(name))
    for hurt in (2, 1_300):
        data[whole[hurt].offset : whole[hurt].offset + 20] = bytes(20)
    found = list(read_records(io.BytesIO(data), name=name))
    assert [at for at, each in enumerate(found) if each.problem] == [2, 1_300]
    assert [each for each in found if not each.problem] == [
        each for at, each in enumerate(whole) if at not in {2, 1_300}
    ]


def test_volumes_are_sealed_as_they_are_full_and_say_what_they_hold(files: DirectoryStore):
    found = list(ingest_volumes(files, "s", ORIGIN, made(), SMALL))
    assert [manifest.part for manifest in found] == [f"s/x.jsonl-0000{number}" for number in range(3)]
    assert [manifest.recipe["records"] for manifest in found] == [
        "000000000000-000000000004",
        "000000000004-000000000007",
        "000000000007-000000000009",
    ]
    assert [manifest.recipe["rest"] for manifest in found] == ["more", "more", "none"]
    assert list(ingest_volumes(files, "s", ORIGIN, made(), SMALL)) == []
    by_bytes = list(ingest_volumes(files, "t", ORIGIN, made(), VolumeSize(bytes=1)))
    assert [manifest.counts["resource"] for manifest in by_bytes] == [1] * 7


def test_it_goes_on_behind_the_last_volume_that_is_sealed(files: DirectoryStore, tmp_path: Path):
    whole = DirectoryStore(tmp_path / "whole")
    list(ingest_volumes(whole, "s", ORIGIN, made(), SMALL))
    for count in range(4):
        some = DirectoryStore(tmp_path / f"some-{count}")
        volumes = ingest_volumes(some, "s", ORIGIN, made(), SMALL)
        before = [next(volumes) for _ in range(min(count, 3))]
        rest = list(ingest_volumes(some, "s", ORIGIN, only_from([0, 4, 7, None][count]), SMALL))
        assert (len(before) + len(rest), stored(some)) == (3, stored(whole))


KILLED = """
import sys
from pathlib import Path
from thresher.storage.inputs.volumes import ingest_volumes
from tests.storage.inputs.killed_puts import kill_at_every_put
from tests.storage.inputs.test_volumes import ORIGIN, SMALL, made

sys.exit(kill_at_every_put(Path(sys.argv[1]), lambda store: list(ingest_volumes(store, "s", ORIGIN, made(), SMALL))))
"""


def test_killed_before_or_behind_every_file_it_comes_to_the_same_archive(tmp_path: Path):
    """Three volumes of three files each."""
    ran = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path], cwd=Path(__file__).parents[3], timeout=120, check=False
    )
    assert ran.returncode == 2 * 3 * 3 + 1
    whole = stored(DirectoryStore(tmp_path / "19"))
    assert len(whole) == 9
    for point in range(1, 19):
        files = DirectoryStore(tmp_path / str(point))
        list(ingest_volumes(files, "s", ORIGIN, made(), SMALL))
        assert stored(files) == whole


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([], "no record in it can be used; it holds none"),
        (ITEMS[1:2], "no record in it can be used; line=2: no text in it"),
        (
            [
                *ITEMS[:2],
                *(UnusableRecord(place=n, reason="no_text", detail=f"line {n}") for n in range(2, 9)),
            ],
            "more bad rows than good ones (8 of 9); the first: line=2: no text in it",
        ),
    ],
)
def test_what_is_refused_leaves_nothing_behind(files: DirectoryStore, items, said):
    with pytest.raises(InputError) as caught:
        list(ingest_volumes(files, "s", ORIGIN, made(items)))
    assert str(caught.value) == f"ingest x.jsonl: {said}"
    assert stored(files) == {}


def test_an_input_that_is_refused_late_takes_its_volumes_back(files: DirectoryStore):
    bad = [UnusableRecord(place=n, reason="no_text", detail=f"line {n}") for n in range(9, 30)]
    volumes = ingest_volumes(files, "s", ORIGIN, made([*ITEMS, *bad]), SMALL)
    next(volumes)
    assert stored(files)
    with pytest.raises(InputError, match="more bad rows"):
        list(volumes)
    assert stored(files) == {}


def test_another_input_or_another_way_to_read_it_is_refused_under_the_name(files: DirectoryStore):
    list(ingest_volumes(files, "s", ORIGIN, made()))
    before = stored(files)
    others: tuple[tuple[dict[str, Any], str], ...] = (
        ({"identity": "sha256:2"}, "s holds another file of that name; rename one of them"),
        (
            {"reader": "jsonl@2"},
            's holds it already, read with other options: reader was "jsonl@1", is "jsonl@2" now',
        ),
        ({"options": {"text": "body"}}, 'options.text was absent, is "body" now'),
    )
    for other, said in others:
        origin = replace(ORIGIN, **other)
        with pytest.raises(InputError) as caught:
            list(ingest_volumes(files, "s", origin, made()))
        assert said in str(caught.value)
    assert stored(files) == before


def test_a_head_that_would_be_too_long_for_readers_costs_its_record(files: DirectoryStore):
    long = entry(1, uri=f"https://example.org/{'x' * 40_000}")
    (manifest,) = ingest_volumes(files, "s", ORIGIN, made([entry(0), long]))
    assert passed_over(manifest.counts) == {"head_too_long": 1}


def test_a_seal_that_is_lost_is_made_again_from_the_file_alone(files: DirectoryStore):
    for manifest in list(ingest_volumes(files, "s", ORIGIN, made(), SMALL)):
        files.delete(f"manifests/archive/{manifest.part}.json")
        again = reseal(files, manifest.outputs[0].name)
        assert (again.fingerprint, again.recipe, again.outputs) == (
            manifest.fingerprint,
            manifest.recipe,
            manifest.outputs,
        )
    assert list(ingest_volumes(files, "s", ORIGIN, made(), SMALL)) == []
    assert [
        load_manifest(files, f"manifests/archive/{each.part}.json") for each in manifests(files, "archive")
    ]
