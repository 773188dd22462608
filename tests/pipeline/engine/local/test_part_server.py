"""A worker process reads and writes nothing of the storage but its part, whatever it asks for."""

import errno
import os

import msgspec
import pytest

from tests.pipeline import hostile_work, work_functions
from thresher.core import CorruptData, ThresherError, Unavailable
from thresher.pipeline.engine import messages
from thresher.pipeline.engine.local.part_process import PartProcess
from thresher.pipeline.engine.local.part_server import PartServer
from thresher.pipeline.engine.messages import (
    ErrorMessage,
    FinishOutput,
    ObjectBytes,
    ObjectSize,
    OpenObject,
    OutputDigest,
    ReadObject,
    ReadSpans,
    SealPart,
    StampObject,
    WriteOutput,
)
from thresher.pipeline.engine.part_store import PartStore
from thresher.pipeline.engine.task import Task, TaskFailure, TaskSuccess, WorkerDeath
from thresher.storage.manifest import load_manifest, manifest_name

MOST = 1 << 20
NAME = "doubled/main/part-0.txt"
DONE = SealPart({"in": 5}, {NAME: 1}, 1.0, 2.0)


@pytest.fixture
def files(tmp_path):
    files = work_functions.RecordingStore(tmp_path)
    files.put("in/0", b"0123456789" * 100_000)
    files.put("other", b"of another part")
    return files


def task(files, work=work_functions.double):
    return Task(store=files, step=work_functions.STEP, part=work_functions.parts(1)[0], work=work)


@pytest.fixture
def server(files):
    with PartServer(task(files).assignment(), most_bytes=MOST) as server:
        yield server


def test_an_input_is_read_where_it_is_asked_for(server):
    assert server.respond(OpenObject("in/0")) == ObjectSize(1_000_000)
    assert server.respond(ReadObject("in/0", 7, 5)) == ObjectBytes(b"78901")
    assert server.respond(ReadObject("in/0", 999_995, 50)) == ObjectBytes(b"56789")
    assert server.respond(ReadObject("in/0", 1 << 40, 5)) == ObjectBytes(b"")


def test_spans_are_joined_up_to_the_size_of_a_message(server):
    wide = [(at, 3) for at in range(0, 900_000, 100_001)]
    close = [(7, 5), (9, 2), (9, 0), (20, 3), (999_995, 50), (1 << 40, 5), (0, 2)]
    for spans in (wide, close, [], [(0, messages.CHUNK_BYTES)] * 2):
        whole = b"".join((b"0123456789" * 100_000)[at : at + length] for at, length in spans)
        assert server.respond(ReadSpans("in/0", spans)) == ObjectBytes(whole[: messages.CHUNK_BYTES])


def test_any_number_of_spans_of_any_length_is_read(server):
    spans = [(at, 2) for at in range(0, 100_000, 10)] + [(0, 1_000_000)] * 3
    whole = b"".join((b"0123456789" * 100_000)[at : at + length] for at, length in spans)
    assert PartStore(server.respond).read_spans("in/0", spans) == whole
    assert PartStore(server.respond).read_spans("in/0", []) == b""


def test_it_reads_like_a_file(server):
    store = PartStore(server.respond)
    assert store.read("in/0") == b"0123456789" * 100_000
    with store.open("in/0") as file:
        file.seek(-3, os.SEEK_END)
        assert (file.read(), file.tell()) == (b"789", 1_000_000)
        file.seek(500_001)
        assert file.read(4) == b"1234"
    assert store.stamp("in/0") == store.stamp("in/0")


@pytest.mark.parametrize("name", ["other", "manifests/double/main/part-0.json", NAME, "../secret", ""])
@pytest.mark.parametrize(
    "ask",
    [OpenObject, StampObject, lambda name: ReadObject(name, 0, 1), lambda name: ReadSpans(name, [(0, 1)])],
)
def test_what_the_part_is_not_made_from_cannot_be_read(server, ask, name):
    answer = server.respond(ask(name))
    assert isinstance(answer, ErrorMessage)
    assert "which is none of its inputs" in answer.text


def test_nothing_is_there_before_it_is_sealed_and_all_of_it_is_after(server, files):
    store = PartStore(server.respond)
    output = store.write(NAME, 1, lambda file: file.write(b"a" * 500_000))
    assert not files.exists(NAME)
    assert server.seal(DONE) == (output,)
    assert files.read(NAME) == b"a" * 500_000
    assert load_manifest(files, manifest_name("double", "main/part-0")).outputs == (output,)


def test_what_is_not_sealed_leaves_nothing(files):
    with PartServer(task(files).assignment(), most_bytes=MOST) as server:
        server.respond(WriteOutput(NAME, b"x"))
    assert list(files.list("doubled/")) == []
    assert [path.name for path in (files.root / ".staging").iterdir()] == ["gate"]


@pytest.mark.parametrize("name", ["other", "manifests/double/main/part-0.json", "doubled/main/part-1.txt"])
def test_nothing_is_made_under_another_name(server, files, name):
    before = set(files.list())
    with pytest.raises(ThresherError, match="none of its outputs"):
        server.respond(WriteOutput(name, b"forged"))
    assert isinstance(server.respond(FinishOutput(name)), ErrorMessage)
    assert set(files.list()) == before


@pytest.mark.parametrize("rows", [{}, {"other": 1}, {NAME: 1, "other": 1}])
def test_a_part_without_its_outputs_is_not_sealed(server, files, rows):
    with pytest.raises(ThresherError, match="its worker made nothing"):
        server.seal(SealPart({}, rows, 0.0, 0.0))
    assert not files.exists(manifest_name("double", "main/part-0"))


def test_digests_are_not_what_the_worker_says(server):
    server.respond(WriteOutput(NAME, b"abc"))
    assert server.respond(FinishOutput(NAME)) == OutputDigest(
        3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )


def test_an_output_that_is_longer_than_memory_is_refused(server):
    for _ in range(2):
        server.respond(WriteOutput(NAME, b"x" * (MOST // 2)))
    with pytest.raises(ThresherError, match="more than 1,048,576 bytes"):
        server.respond(WriteOutput(NAME, b"x"))


def test_trouble_of_the_storage_is_raised_as_it_was(server, files):
    assert server.respond(ReadObject("gone", 0, 1)) == ErrorMessage(
        "Unavailable", "the storage does not answer"
    )
    error = server.work_error(ErrorMessage("Unavailable", "the storage does not answer"))
    assert type(error) is Unavailable


def test_a_missing_object_is_corrupt_data(server, files):
    files.delete("in/0")
    with pytest.raises(CorruptData, match="in/0 is missing"):
        PartStore(server.respond).read("in/0")


@pytest.mark.parametrize("kind", ["Unavailable", "InputError", "Conflict", "Interrupted", "SystemExit"])
def test_a_worker_cannot_say_that_the_run_is_wrong(server, kind):
    assert type(server.work_error(ErrorMessage(kind, "nothing is wrong"))) is ThresherError


def test_a_full_disk_ends_the_run_in_one_line(server, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    server.respond(WriteOutput(NAME, b"x"))
    monkeypatch.setattr(PartServer, "_write", full)
    with pytest.raises(Unavailable, match=r"no room left for the storage at .*: free some"):
        server.respond(WriteOutput(NAME, b"x"))


@pytest.mark.parametrize(
    "message",
    [
        ReadObject("in/0", -1, 5),
        ReadObject("in/0", 1 << 63, 5),
        ReadObject("in/0", 0, 1 << 30),
        ReadSpans("in/0", [(0, 1 << 30)]),
        ReadSpans("in/0", [(0, 1)] * 5_000),
        OpenObject("x" * 2_000),
        SealPart({"in": -1}, {}, 0.0, 0.0),
        SealPart({"\x1b[2J": 1}, {}, 0.0, 0.0),
        SealPart({}, {}, float("nan"), 0.0),
        SealPart({}, {}, 0.0, float("inf")),
        SealPart({str(n): n for n in range(200_000)}, {}, 0.0, 0.0),
    ],
)
def test_what_nobody_would_say_is_no_message(message):
    with pytest.raises(msgspec.MsgspecError):
        messages.decode_worker_message(messages.encode(message))


@pytest.fixture
def process(monkeypatch):
    monkeypatch.setattr("thresher.pipeline.engine.local.part_process.EXIT_TIMEOUT_S", 0.2)
    process = PartProcess(memory=512 << 20)
    yield process
    process.close()


def made(process, files, work):
    return process.make(task(files, work).assignment())


@pytest.mark.parametrize(
    "work",
    [hostile_work.send_noise, hostile_work.send_a_length_without_end, hostile_work.send_another_type],
)
def test_a_process_that_says_what_nobody_says_is_ended_and_the_next_is_not(process, files, work):
    assert isinstance(made(process, files, work), WorkerDeath)
    assert isinstance(made(process, files, work_functions.double), TaskSuccess)


def test_what_a_process_says_is_never_run(process, files, tmp_path):
    marker = tmp_path / "owned"
    one = task(files, hostile_work.send_a_pickle)
    betrayed = Task(
        store=files,
        step=one.step,
        part=type(one.part)(name="main/part-0", inputs=(), parameters=str(marker), writes=(NAME,)),
        work=one.work,
    )
    assert isinstance(process.make(betrayed.assignment()), WorkerDeath)
    assert not marker.exists()


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (hostile_work.claim_to_be_done, "its worker made nothing"),
        (hostile_work.seal_another_part, "none of its outputs"),
        (hostile_work.seal_what_it_did_not_make, "its worker made"),
        (hostile_work.fill_the_disk, "more than 536,870,912 bytes"),
        (hostile_work.read_another_part, "which is none of its inputs"),
    ],
)
def test_a_process_that_wants_more_than_its_part_has_made_nothing(process, files, work, said):
    before = {name for name in files.list() if not name.startswith(work_functions.NOTES)}
    ended = made(process, files, work)
    assert isinstance(ended, TaskFailure)
    assert said in str(ended.error)
    assert {name for name in files.list() if not name.startswith(work_functions.NOTES)} == before


def test_no_name_leads_out_of_the_storage(process, files):
    assert isinstance(made(process, files, hostile_work.climb_out_of_the_storage), TaskSuccess)


def test_what_it_says_to_people_is_cut_and_moves_no_cursor(process, files):
    ended = made(process, files, hostile_work.move_the_cursor)
    assert str(ended.error).startswith("ValueError: \ufffd[2J\ufffd]0;owned\ufffdx")
    assert len(str(ended.error)) < 5_000
    assert ended.detail.isprintable() or set(ended.detail) & {"\x1b", "\x07"} == set()


def test_it_ends_its_part_and_not_the_run(process, files):
    ended = made(process, files, hostile_work.claim_that_the_user_is_wrong)
    assert type(ended.error) is ThresherError
