"""A run is kept once, read back equal, and harms nobody when it is damaged."""

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.storage.manifest_samples import ran
from thresher.core import CorruptData, InputError
from thresher.storage import run as runs
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import body_digest

NAME = "runs/process/20231114/run-1.json"
GOLDEN = b"""{
 "already": 2,
 "bytes_read": 1099511627776,
 "bytes_written": 10,
 "cpu_s": 1.5,
 "digest": "93793f8ed180a8f5b084d22b2d9f7764feb78a5bee82fd6c09b90b24255f5000",
 "ended_ms": 1700000002001,
 "engine": "local",
 "format": "thresher-run@2",
 "host": "here",
 "id": "run-1",
 "made": 1,
 "message": "",
 "outcome": "done",
 "peak_rss": 1073741824,
 "quarantined": 0,
 "redone": 0,
 "sources": [
  "main"
 ],
 "started_ms": 1700000000001,
 "step": "process",
 "version": 1,
 "wall_s": 2.0,
 "worker_s": 4.0
}
"""


def with_digest(data):
    """The file of somebody who knows how a run says its digest; as it is where it is no JSON object."""
    try:
        body = json.loads(data)
        del body["digest"]
        return json.dumps({**body, "digest": body_digest(body)}).encode()
    except (ValueError, KeyError, TypeError, RecursionError):
        return data


@pytest.fixture
def store(tmp_path: Path):
    return DirectoryStore(tmp_path / "data")


def test_the_stored_bytes_are_these(store: DirectoryStore):
    assert runs.put(store, ran(1))
    assert store.read(NAME) == GOLDEN


def test_what_was_put_is_loaded_equal(store: DirectoryStore):
    runs.put(store, ran(1))
    assert runs.load(store, NAME) == ran(1)


def test_a_run_lies_under_the_day_on_which_it_began_in_utc():
    assert runs.run_name(ran(1, started_ms=0)) == "runs/process/19700101/run-1.json"
    assert runs.run_name(ran(1, started_ms=runs.LAST_MS)) == "runs/process/99991231/run-1.json"


def test_the_first_of_an_id_stays(store: DirectoryStore):
    assert runs.put(store, ran(1))
    assert not runs.put(store, ran(1, made=99))
    assert runs.load(store, NAME).made == 1


def test_runs_come_by_name_and_by_step(store: DirectoryStore):
    for run in (ran(2), ran(1), ran(3, "dedup"), ran(4, started_ms=0)):
        runs.put(store, run)
    assert [run.id for run in runs.runs(store)] == ["run-3", "run-4", "run-1", "run-2"]
    assert [run.id for run in runs.runs(store, "process")] == ["run-4", "run-1", "run-2"]
    assert list(runs.runs(store, "proc")) == []


@pytest.mark.parametrize(
    ("name", "data"),
    [
        (NAME, b""),
        (NAME, b"{}"),
        (NAME, b"[]"),
        (NAME, b"\xff"),
        (NAME, b"[" * 100_000),
        (NAME, GOLDEN[:-3]),
        (NAME, GOLDEN.replace(b"run@2", b"run@1")),
        (NAME, GOLDEN.replace(b'"made": 1', b'"made": -1')),
        (NAME, GOLDEN.replace(b'"made": 1', b'"made": true')),
        (NAME, GOLDEN.replace(b'"made": 1', b'"made": 9223372036854775808')),
        (NAME, GOLDEN.replace(b"1.5", b"NaN")),
        (NAME, GOLDEN.replace(b"1.5", b"1e999")),
        (NAME, GOLDEN.replace(b'"done"', b'"well"')),
        (NAME, GOLDEN.replace(b'"done"', b"[]")),
        (NAME, GOLDEN.replace(b'"host": "here"', b'"host": null')),
        (NAME, GOLDEN.replace(b' "host": "here",\n', b"")),
        (NAME, GOLDEN.replace(b'"host"', b'"guest"')),
        (NAME, GOLDEN.replace(b"1700000000001", b"999999999999999999")),
        ("runs/process/20231114/run-9.json", GOLDEN),
        ("runs/process/readme.txt", b"hello"),
    ],
)
@pytest.mark.parametrize("says_its_digest", [False, True])
def test_a_damaged_run_is_named_and_passed_over(store: DirectoryStore, name, data, says_its_digest):
    store.put(name, with_digest(data) if says_its_digest else data)
    runs.put(store, ran(2))
    assert [run.id for run in runs.runs(store)] == ["run-2"]
    with pytest.raises(
        CorruptData, match=rf"\A{name} is no run [^\n]*`thresher verify --repair` deletes it\Z"
    ):
        runs.load(store, name)


def test_no_changed_bit_goes_unseen(store: DirectoryStore):
    for place, byte in enumerate(GOLDEN):
        store.delete(NAME)
        store.put(NAME, GOLDEN[:place] + bytes([byte ^ 1]) + GOLDEN[place + 1 :])
        with pytest.raises(CorruptData):
            runs.load(store, NAME)


@pytest.mark.parametrize("field", [field.name for field in fields(runs.Run)])
def test_a_field_of_another_kind_is_refused_by_name(store: DirectoryStore, field):
    with pytest.raises(InputError, match=field):
        runs.put(store, replace(ran(1), **{field: object()}))
    assert list(store.list()) == []


@pytest.mark.parametrize(
    "wrong", [{"id": "a/b"}, {"id": ""}, {"id": ".x"}, {"step": "../x"}, {"step": "a@1"}]
)
def test_what_cannot_be_a_name_is_refused(store: DirectoryStore, wrong):
    with pytest.raises(InputError, match="cannot be part of a name"):
        runs.put(store, replace(ran(1), **wrong))


@given(
    st.lists(st.text(), max_size=3).map(tuple),
    st.text(),
    st.floats(min_value=0, allow_nan=False, allow_infinity=False),
    st.integers(0, (1 << 63) - 1),
    st.integers(0, runs.LAST_MS),
    st.sampled_from(["done", "failed", "interrupted"]),
)
def test_any_run_round_trips(
    tmp_path_factory: pytest.TempPathFactory, sources, message, seconds, count, started, outcome
):
    store = DirectoryStore(tmp_path_factory.mktemp("root"))
    run = ran(
        1,
        sources=sources,
        message=message,
        cpu_s=seconds,
        made=count,
        started_ms=started,
        outcome=outcome,
    )
    assert runs.put(store, run)
    assert list(runs.runs(store)) == [run]
    assert json.loads(store.read(runs.run_name(run)))["id"] == "run-1"
