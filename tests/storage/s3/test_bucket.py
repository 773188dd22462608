"""A bucket gives the true answer whatever becomes of requests and replies, and one line where there is none."""

import hashlib
import itertools
import multiprocessing
import os
import pickle
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.storage.conftest import MIN_PART, QUICK
from tests.storage.faulty_proxy import (
    Answer,
    CorruptReply,
    CorruptRequest,
    CutHead,
    CutReply,
    Delay,
    LoseReply,
    LoseRequest,
    scripted,
)
from tests.storage.s3server import BUCKET, READER, running_server
from thresher.core import CorruptData, InputError, Unavailable
from thresher.storage.request_retry import RetryPolicy
from thresher.storage.s3.read import BLOCK
from thresher.storage.s3.s3_store import S3Store

SPAWN = multiprocessing.get_context("spawn")
IMPATIENT = RetryPolicy(total_ms=1000, first_ms=5, longest_ms=50)
"""For servers that answer nothing at all: a loaded machine may take longer than this for any answer."""
LARGE = 2 * MIN_PART + 1000


@pytest.fixture
def bucket(bucket_at, proxy):
    """Through the proxy, with what is asked once behind it."""
    bucket = bucket_at(proxy.endpoint)
    bucket.put("first", b"")
    return bucket


@pytest.fixture
def large(tmp_path: Path):
    path = tmp_path / "large"
    path.write_bytes(os.urandom(LARGE))
    return path


def uploads(server, bucket):
    prefix = bucket.uri.removeprefix(f"s3://{BUCKET}/")
    return server.client().list_multipart_uploads(Bucket=BUCKET, Prefix=prefix).get("Uploads", [])


def asked(proxy, method, path=""):
    return [request for request in proxy.seen if request.method == method and path in request.path]


def test_a_put_whose_reply_is_lost_is_ours(bucket, bucket_at, proxy):
    proxy.plan = scripted(LoseReply(), method="PUT")
    assert bucket.put("name", b"mine") is True
    assert bucket_at().put("name", b"other") is False
    assert bucket.put("name", b"mine") is False
    assert bucket.read("name") == b"mine"


@pytest.mark.parametrize("count", [1, 2, 3])
def test_whatever_number_of_replies_is_lost(bucket, proxy, count):
    proxy.plan = scripted(*[LoseReply()] * count, method="PUT")
    assert bucket.put("name", b"mine") is True
    proxy.plan = scripted(*[LoseReply()] * count)
    assert bucket.put("name", b"mine") is False


def test_a_put_that_comes_second_after_a_lost_request_is_told_so(bucket, bucket_at, proxy):
    other = bucket_at()

    def plan(request):
        if request.method == "PUT" and other.put("name", b"other"):
            return LoseRequest()
        return None

    proxy.plan = plan
    assert bucket.put("name", b"mine") is False
    assert bucket.read("name") == b"other"


@pytest.mark.parametrize(
    "fault", [LoseReply(), pytest.param(CorruptRequest(), marks=pytest.mark.slow)], ids=repr
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "uploads"),
        ("PUT", "partNumber=1"),
        ("PUT", "partNumber=3"),
        ("POST", "uploadId"),
        ("HEAD", ""),
    ],
)
def test_an_upload_bears_any_fault(server, bucket, bucket_at, proxy, large, fault, method, path):
    bucket.put_file(large, "first large")
    proxy.plan = scripted(fault, method=method, path=path)
    assert bucket.put_file(large, "name") is True
    proxy.plan = scripted()
    assert bucket_at().put_file(large, "name") is False
    assert bucket.read("name") == large.read_bytes()
    bucket.sweep(0)
    assert uploads(server, bucket) == []


FAULTS = [
    Answer(500, "InternalError"),
    Answer(503, "SlowDown"),
    Answer(503, "ServiceUnavailable", retry_after_s=1),
    Answer(429, "TooManyRequests"),
    Answer(400, "RequestTimeout"),
    Answer(409, "ConditionalRequestConflict"),
    LoseRequest(),
    LoseReply(),
    CutReply(),
    CutHead(),
    CorruptRequest(),
]


@pytest.mark.parametrize("fault", FAULTS, ids=repr)
def test_every_fault_passes(bucket, proxy, fault):
    proxy.plan = scripted(fault, fault, method="PUT")
    assert bucket.put("name", b"0123456789") is True
    if not isinstance(fault, CorruptRequest):
        proxy.plan = scripted(fault, fault)
    assert bucket.read("name") == b"0123456789"
    assert bucket.size("name") == 10
    assert list(bucket.list("n")) == ["name"]
    bucket.delete("name")
    assert not bucket.exists("name")
    assert bucket.unavailable_since_ms() is None


def test_a_reply_whose_head_was_cut_off_is_no_reply(bucket, proxy):
    bucket.put("name", b"0123456789")
    proxy.plan = scripted(CutHead(), method="HEAD")
    assert bucket.size("name") == 10
    proxy.plan = scripted(CutHead(), method="GET")
    assert bucket.read("name") == b"0123456789"
    proxy.plan = scripted(CutHead(), method="GET")
    assert list(bucket.list("n")) == ["name"]
    proxy.plan = scripted(LoseReply(), CutHead(), path="/name")
    assert bucket.put("name", b"0123456789") is False


def test_a_body_changed_on_the_way_is_refused_by_the_server_and_sent_again(bucket, proxy, large):
    proxy.plan = scripted(CorruptRequest(), method="PUT", path="partNumber=2")
    assert bucket.put_file(large, "name") is True
    assert len(asked(proxy, "PUT", "partNumber=2")) == 2
    assert bucket.read("name") == large.read_bytes()


def test_a_whole_read_sees_a_changed_byte_and_reads_again(bucket, proxy):
    bucket.put("name", b"x" * 1000)
    proxy.plan = scripted(CorruptReply(), method="GET")
    assert bucket.read("name") == b"x" * 1000
    proxy.plan = scripted(*[CorruptReply()] * 10, method="GET")
    with pytest.raises(CorruptData, match="name is not what was stored: its SHA-256 differs"):
        bucket.read("name")


def test_an_open_object_read_to_its_end_sees_a_changed_byte(bucket, proxy):
    bucket.put("name", b"x" * 1_000_000)
    proxy.plan = scripted(CorruptReply(), method="GET")
    with bucket.open("name") as file, pytest.raises(CorruptData, match="SHA-256 differs"):
        hashlib.file_digest(file, "sha256")


def test_an_object_replaced_while_it_is_read_is_an_error_and_no_mix(bucket):
    bucket.put("name", b"x" * 1_000_000)
    with bucket.open("name") as file:
        assert file.read(10) == b"x" * 10
        bucket.delete("name")
        bucket.put("name", b"y" * 1_000_000)
        file.seek(900_000)
        with pytest.raises(CorruptData, match="was replaced or deleted while it was read"):
            file.read(10)


def test_reading_in_order_reads_ahead_and_jumping_brings_little(bucket, proxy, large):
    bucket.put_file(large, "name")
    proxy.seen.clear()
    with bucket.open("name") as file:
        while file.read(10_000):
            pass
    assert len(asked(proxy, "GET")) < 8
    proxy.seen.clear()
    with bucket.open("name") as file:
        for offset in (9_000_000, 5_000_000, 1_000_000):
            file.seek(offset)
            file.read(100)
    assert len(asked(proxy, "GET")) == 3


class Blocks(dict[str, bytes]):
    """The simplest cache."""

    def get(self, key, fetch):  # type: ignore[override]
        if key not in self:
            self[key] = fetch()
        return self[key]


def test_a_cache_keeps_aligned_blocks_by_entity_tag(bucket_at, proxy, tmp_path: Path):
    path = tmp_path / "large"
    path.write_bytes(os.urandom(BLOCK + 1000))
    cache = Blocks()
    bucket = bucket_at(proxy.endpoint, cache=cache)
    bucket.put_file(path, "name")
    for _ in range(2):
        proxy.seen.clear()
        with bucket.open("name") as file:
            file.seek(BLOCK - 5)
            assert file.read(10) == path.read_bytes()[BLOCK - 5 : BLOCK + 5]
    assert asked(proxy, "GET") == []
    etag = bucket.stamp("name").strip('"')
    where = f"{bucket.uri.removeprefix('s3://')}/name/{etag}"
    assert sorted(cache) == [f"{where}/0/{BLOCK}", f"{where}/{BLOCK}/1000"]


def test_the_server_that_is_silent_is_waited_for_and_seen_to_be(bucket, proxy):
    proxy.refuse()
    started = time.time_ns() // 1_000_000
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(bucket.read, "first")
        while bucket.unavailable_since_ms() is None:
            time.sleep(0.01)
        assert bucket.unavailable_since_ms() >= started - 50
        proxy.accept()
        assert reading.result(30) == b""
    assert bucket.unavailable_since_ms() is None


def test_patience_ends_in_one_line_naming_the_endpoint(bucket_at):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        endpoint = f"http://user:hidden@127.0.0.1:{nobody.getsockname()[1]}"
        with pytest.raises(Unavailable) as caught:
            bucket_at(endpoint, patience=IMPATIENT).exists("name")
    said = str(caught.value)
    assert "\n" not in said
    assert "hidden" not in said
    assert f"at http://127.0.0.1:{endpoint.rpartition(':')[2]} has not answered for 1 s" in said
    assert "correct AWS_ENDPOINT_URL_S3" in said


def test_what_was_begun_by_a_process_that_was_answered_is_patient_from_the_start(bucket_at, proxy):
    bucket = pickle.loads(pickle.dumps(bucket_at(proxy.endpoint, patience=replace(QUICK, total_ms=60_000))))
    proxy.refuse()
    with ThreadPoolExecutor(1) as pool, pytest.MonkeyPatch.context() as patched:
        patched.setattr("thresher.storage.s3.requests.FIRST_REPLY_MS", 50)
        reading = pool.submit(bucket.exists, "name")
        while (bucket.unavailable_since_ms() or time.time_ns()) > time.time_ns() // 1_000_000 - 300:
            time.sleep(0.01)
        proxy.accept()
        assert reading.result(30) is False
    bucket.close()


@pytest.mark.parametrize(
    ("environment", "bucket", "kind", "said"),
    [
        ({"AWS_SECRET_ACCESS_KEY": "wrongsecret"}, BUCKET, InputError, "does not accept the credentials"),
        ({"AWS_ACCESS_KEY_ID": "nobody"}, BUCKET, InputError, "does not accept the credentials"),
        ({"AWS_PROFILE": "nobody"}, BUCKET, InputError, "nobody"),
        ({}, "no-such-bucket", InputError, "there is no such bucket"),
        (READER, BUCKET, Unavailable, "access refused"),
        (
            {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_EC2_METADATA_DISABLED": "true"},
            BUCKET,
            InputError,
            "no credentials for",
        ),
    ],
)
def test_what_is_set_wrong_is_one_line(
    server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, environment, bucket, kind, said
):
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    made = S3Store(bucket, "p", endpoint=server.endpoint, patience=QUICK)
    with pytest.raises(kind, match=said) as caught:
        made.put("name", b"")
    made.close()
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value).replace("AWS_SECRET_ACCESS_KEY", "").lower()


def test_the_endpoint_comes_from_the_usual_variables(server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", server.endpoint)
    bucket = S3Store.at(f"s3://{BUCKET}/{os.urandom(6).hex()}", patience=QUICK)
    assert bucket.put("name", b"x")
    assert bucket.read("name") == b"x"
    bucket.close()
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "no url")
    with pytest.raises(InputError, match="correct AWS_ENDPOINT_URL_S3"):
        S3Store(BUCKET).exists("name")


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("s3:bucket", "names no bucket"),
        ("s3://", "names no bucket"),
        ("s3://b/x", "names no bucket"),
        ("s3://bücket/x", "names no bucket"),
        ("http://bucket/x", "is no address of a bucket"),
        ("s3://bucket/x?y=1", "is no address of a bucket"),
        ("s3://[bucket/x", "is no address of a bucket"),
        ("s3://host:9000/bucket", "names a server: set AWS_ENDPOINT_URL_S3"),
        ("s3://key:hidden@bucket/x", "holds credentials"),
        ("s3://bucket/a/../b", "is no name"),
        ("s3://bucket/.hidden", "is no name"),
    ],
)
def test_other_addresses_are_refused_in_one_line(uri, said):
    with pytest.raises(InputError, match=said) as caught:
        S3Store.at(uri)
    assert "\n" not in str(caught.value)
    assert "hidden@" not in str(caught.value)


@pytest.mark.parametrize("uri", ["s3://bucket", "s3://bucket/", "s3://bucket/a/b", "s3://bucket/a/b/"])
def test_an_address_is_shown_as_one_would_write_it(uri):
    assert S3Store.at(uri).uri == uri.rstrip("/")
    assert repr(S3Store.at(uri)) == f"<S3 store at {uri.rstrip('/')}>"


def test_a_prefix_may_be_any_name(server):
    bucket = S3Store(BUCKET, f"é ü/{os.urandom(6).hex()}", endpoint=server.endpoint, patience=QUICK)
    assert bucket.put("name", b"x")
    assert list(bucket.list()) == ["name"]
    bucket.close()


def test_what_is_found_out_of_the_server_bears_faults(bucket_at, proxy, large):
    bucket = bucket_at(proxy.endpoint)
    proxy.plan = scripted(CorruptRequest(), method="POST", path="uploadId")
    assert bucket.put_file(large, "name") is True
    assert bucket_at().put_file(large, "name") is False


def test_no_keys_travel_in_a_pickle(bucket):
    bucket.read("first")
    assert b"threshersecret" not in pickle.dumps(bucket)


def test_a_forked_process_makes_its_own_connection(bucket_at):
    bucket = bucket_at()
    bucket.put("name", b"x")
    child = os.fork()
    if child == 0:
        done = False
        try:
            done = bucket.read("name") == b"x" and bucket.put("child", b"y")
        finally:
            os._exit(0 if done else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert bucket.read("child") == b"y"


def test_an_open_object_ends_with_its_bucket(bucket, large):
    bucket.put_file(large, "name")
    file = bucket.open("name")
    bucket.close()
    with pytest.raises(ValueError, match="was closed"):
        file.read()
    assert bucket.read("name") == large.read_bytes()


def adopt(bucket, path):
    bucket.put_file(Path(path), "name")


def test_killed_in_the_middle_of_an_upload_leaves_nothing_but_what_sweep_removes(
    server, bucket, proxy, large, tmp_path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # the node's spool holds what other tests killed
    proxy.plan = lambda request: Delay(30) if "partNumber=3" in request.path else None
    process = SPAWN.Process(target=adopt, args=(bucket, str(large)))
    process.start()
    while not asked(proxy, "PUT", "partNumber=3"):
        time.sleep(0.05)
    process.kill()
    process.join()
    assert not bucket.exists("name")
    assert list(bucket.list()) == ["first"]
    assert bucket.sweep() == 0
    assert len(uploads(server, bucket)) == 1
    assert bucket.sweep(0) == 1
    assert uploads(server, bucket) == []
    proxy.plan = scripted()
    assert bucket.put_file(large, "name") is True


def test_an_upload_given_up_is_aborted(server, bucket, proxy, large, monkeypatch: pytest.MonkeyPatch):
    bucket.put_file(large, "first large")
    real, asked_for_part = time.monotonic_ns, itertools.count(1)

    def plan(request):
        if "partNumber=2" not in request.path:
            return None
        if next(asked_for_part) == 3:  # patience ends here, however long the other requests take
            monkeypatch.setattr(time, "monotonic_ns", lambda: real() + QUICK.total_ms * 1_000_000)
        return Answer(500, "InternalError")

    proxy.plan = plan
    with pytest.raises(Unavailable, match=r"not answered for 60 s \(InternalError, status 500"):
        bucket.put_file(large, "name")
    assert uploads(server, bucket) == []


def test_a_server_killed_and_started_again_is_ridden_out(keys, tmp_path: Path):
    with running_server(tmp_path / "s3") as server:
        bucket = S3Store(BUCKET, "p", endpoint=server.endpoint, patience=QUICK)
        acknowledged, stop = {}, threading.Event()

        def write(writer):
            number = 0
            while not stop.is_set() or number < 3:
                name = f"{writer}/{number}"
                assert bucket.put(name, name.encode() * 100)
                acknowledged[name] = name.encode() * 100
                number += 1

        with ThreadPoolExecutor(4) as pool:
            writers = [pool.submit(write, each) for each in range(4)]
            while len(acknowledged) < 20 and not any(writer.done() for writer in writers):
                time.sleep(0.01)
            server.kill()
            server.start()
            stop.set()
            for writer in writers:
                writer.result()
        assert {name: bucket.read(name) for name in bucket.list()} == acknowledged
        bucket.close()
