"""Hundreds of ranges at the same time, in one thread: what the server and the link do to them, and what ends them."""

import asyncio
import os
import pickle
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.crawler.authority import Authority
from tests.expect import expect
from tests.loop_thread import LoopThread
from tests.storage.conftest import QUICK
from tests.storage.faulty_proxy import (
    Answer,
    CorruptReply,
    CutHead,
    CutReply,
    Delay,
    Drip,
    LoseReply,
    LoseRequest,
    scripted,
)
from tests.storage.s3.test_in_flight import LONG_S, SPAWN, closed, drip, wait_until
from tests.storage.s3server import BUCKET, READER
from thresher.core import CorruptData, InputError, Unavailable
from thresher.storage.loop_thread import READ_AHEAD_REQUESTS
from thresher.storage.request_retry import RetryPolicy
from thresher.storage.s3.s3_store import S3Store
from thresher.storage.store import ByteRange

DATA = bytes(range(256)) * 40
THREADED_RANGES = 16
MANY = THREADED_RANGES + 4
"""More than boto3 reads here: these are read by aioboto3."""
EXPECTED = [DATA[number : number + 10] for number in range(MANY)]
IMPATIENT = RetryPolicy(total_ms=1000, first_ms=5, longest_ms=50)


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("thresher.storage.s3.range_reads.THREADED_RANGES", THREADED_RANGES)


@pytest.fixture
def bucket(bucket_at, proxy):
    """Through the proxy, with an object and what is asked once behind it."""
    bucket = bucket_at(proxy.endpoint)
    bucket.put("name", DATA)
    assert read(bucket) == EXPECTED
    return bucket


def ranges(count, length=10):
    return [ByteRange(name="name", first=number, length=length) for number in range(count)]


def read(bucket, count=MANY):
    return list(bucket.read_ranges(ranges(count)))


def read_at_last(impatient):
    """What it reads, though a busy machine may exhaust its patience."""
    deadline = time.monotonic() + LONG_S
    while True:
        try:
            return read(impatient)
        except Unavailable:
            assert time.monotonic() < deadline


@pytest.mark.parametrize(
    "fault",
    [
        Answer(500, "InternalError"),
        Answer(503, "SlowDown"),
        Answer(429, "TooManyRequests", retry_after_s=0),
        Answer(400, "RequestTimeout"),
        LoseRequest(),
        LoseReply(),
        CutReply(),
        CutHead(),
    ],
    ids=repr,
)
@pytest.mark.parametrize("count", [3, MANY], ids=["boto3", "aioboto3"])
def test_any_fault_is_borne(bucket, proxy, fault, count):
    proxy.plan = scripted(fault, fault, method="GET")
    assert read(bucket, count) == EXPECTED[:count]


@pytest.mark.parametrize("count", [1, MANY], ids=["boto3", "aioboto3"])
def test_a_refusal_that_is_cut_off_is_asked_for_again(bucket, proxy, count):
    proxy.plan = scripted(CutReply(), CutReply(), method="GET")
    with pytest.raises(CorruptData, match="ends before"):
        list(bucket.read_ranges([ByteRange(name="name", first=len(DATA), length=1)] * count))


def test_hundreds_wait_at_the_same_time_in_one_thread(bucket, proxy):
    gate = threading.Event()
    before = threading.active_count()
    proxy.seen.clear()
    proxy.plan = lambda request: Delay(0.2)

    def most_threads():
        most = 0
        while not gate.wait(0.01):
            most = max(most, threading.active_count())
        return most

    with ThreadPoolExecutor(1) as pool:
        counting = pool.submit(most_threads)
        assert len(read(bucket, 200)) == 200
        gate.set()
        assert counting.result() <= before + 1
    assert len(proxy.seen) == 200


def test_a_slow_caller_is_not_overrun(bucket, proxy):
    proxy.seen.clear()
    reading = bucket.read_ranges(ranges(500))
    next(reading)
    wait_until(lambda: len(proxy.seen) >= READ_AHEAD_REQUESTS)
    time.sleep(0.05)
    assert len(proxy.seen) <= READ_AHEAD_REQUESTS + 1
    reading.close()


def test_no_more_bytes_are_asked_for_than_may_be_held(bucket, proxy, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("thresher.storage.loop_thread.READ_AHEAD_BYTES", 55)
    proxy.seen.clear()
    reading = bucket.read_ranges(ranges(500))
    next(reading)
    wait_until(lambda: len(proxy.seen) >= 6)
    time.sleep(0.05)
    assert len(proxy.seen) == 6
    reading.close()


def test_a_caller_that_stops_ends_its_requests(bucket, proxy):
    proxy.plan = lambda request: Delay(LONG_S) if len(proxy.seen) > MANY else None
    proxy.seen.clear()
    reading = bucket.read_ranges(ranges(100))
    next(reading)
    wait_until(lambda: len(proxy.seen) > MANY + 10)
    reading.close()
    proxy.plan = scripted()
    started = time.monotonic()
    assert read(bucket) == EXPECTED  # every place among the requests is free again
    assert time.monotonic() - started < LONG_S / 2


def test_an_object_that_was_replaced_is_an_error_and_no_mix(bucket):
    reading = bucket.read_ranges(each for each in ranges(1000))
    next(reading)
    bucket.delete("name")
    bucket.put("name", DATA[::-1])
    with pytest.raises(CorruptData, match="was replaced or deleted while it was read"):
        list(reading)


def test_an_object_that_was_deleted_meanwhile_is_the_same_error(bucket):
    reading = bucket.read_ranges(each for each in ranges(1000))
    next(reading)
    bucket.delete("name")
    with pytest.raises(CorruptData, match="was replaced or deleted while it was read"):
        list(reading)


@pytest.mark.parametrize("fault", [Drip(), Drip(after_head=True)], ids=repr)
def test_a_server_that_sends_a_byte_now_and_then_is_given_up(bucket_at, bucket, proxy, fault):
    impatient = bucket_at(proxy.endpoint, patience=IMPATIENT)
    assert read_at_last(impatient) == EXPECTED
    proxy.plan = lambda request: fault
    with pytest.raises(Unavailable, match=r"has not answered for 1 s \(no answer in time\)"):
        list(impatient.read_ranges(ranges(MANY, length=10_000)))
    assert expect(int, impatient.unavailable_since_ms()) > 0
    proxy.plan = scripted()
    assert read_at_last(impatient) == EXPECTED
    assert impatient.unavailable_since_ms() is None


def test_the_limit_holds_over_tls_and_a_stranger_is_refused(keys, tmp_path, monkeypatch: pytest.MonkeyPatch):
    authority = Authority(tmp_path)
    loop = LoopThread()
    serving = loop.run(asyncio.start_server(drip, "127.0.0.1", 0, ssl=authority.server("127.0.0.1")))
    endpoint = f"https://127.0.0.1:{serving.sockets[0].getsockname()[1]}"
    for bundle, kind, said in (
        (str(tmp_path / "ca.pem"), Unavailable, "no answer in time"),
        ("", InputError, "certificate is not trusted"),
    ):
        monkeypatch.setenv("AWS_CA_BUNDLE", bundle) if bundle else monkeypatch.delenv("AWS_CA_BUNDLE")
        bucket = S3Store(BUCKET, "p", endpoint=endpoint, patience=IMPATIENT)
        monkeypatch.setattr(
            bucket._connection, "_is_checked", True
        )  # it is the asynchronous client that asks
        bucket._connection._opened()
        with pytest.raises(kind, match=said):
            read(bucket)
        bucket.close()
    loop.run(closed(serving))
    loop.close()


@pytest.mark.parametrize(
    ("fault", "kind", "said"),
    [
        (Answer(301, "PermanentRedirect"), InputError, "the bucket is in another region"),
        (Answer(400, "ExpiredToken"), InputError, r"does not accept the credentials \(ExpiredToken\)"),
        (Answer(403, "AccessDenied"), Unavailable, "access refused"),
        (Answer(403, "RequestTimeTooSkewed"), Unavailable, "clock"),
    ],
    ids=repr,
)
def test_a_refusal_is_the_same_line_as_by_boto3(bucket, proxy, fault, kind, said):
    said_by_both = []
    for work in (lambda: read(bucket), lambda: bucket.read("name")):
        proxy.plan = lambda request: fault
        with pytest.raises(kind, match=said) as caught:
            work()
        said_by_both.append(str(caught.value))
    assert said_by_both[0] == said_by_both[1]


@pytest.mark.parametrize(
    "environment",
    [{"AWS_SECRET_ACCESS_KEY": "wrongsecret"}, {"AWS_PROFILE": "other"}, READER],
    ids=["wrong", "profile", "reader"],
)
def test_the_keys_are_those_of_boto3(bucket, server, monkeypatch: pytest.MonkeyPatch, tmp_path, environment):
    profile = tmp_path / "credentials"
    profile.write_text("[other]\naws_access_key_id=nobody\naws_secret_access_key=x\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(profile))
    if "AWS_PROFILE" in environment:
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    prefix = bucket.uri.removeprefix(f"s3://{BUCKET}/")
    other = S3Store(BUCKET, prefix, endpoint=server.endpoint, patience=QUICK)
    monkeypatch.setattr(other._connection, "_is_checked", True)
    other._connection._opened()
    if environment is READER:
        assert read(other) == EXPECTED
    else:
        with pytest.raises(InputError, match="does not accept the credentials"):
            read(other)
    other.close()


def test_threads_and_the_loop_share_one_circuit(bucket, proxy):
    proxy.refuse()
    with ThreadPoolExecutor(2) as pool:
        reading = [pool.submit(read, bucket, 50), pool.submit(bucket.read, "name")]
        while bucket.unavailable_since_ms() is None:
            time.sleep(0.01)
        time.sleep(0.5)
        tried = sum(bucket.call_times().calls)
        assert tried < 150  # 51 requests that nobody answers, and then probes alone
        proxy.accept()
        assert [len(each.result(30)) for each in reading] == [50, len(DATA)]
    assert bucket.unavailable_since_ms() is None


def test_a_changed_byte_is_for_the_checksums_of_the_caller(bucket, proxy):
    proxy.plan = scripted(CorruptReply(), method="GET")
    assert len(read(bucket)[0]) == 10


def test_an_end_of_the_bucket_ends_its_requests(bucket, proxy):
    proxy.plan = lambda request: Delay(LONG_S)
    proxy.seen.clear()
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read, bucket)
        wait_until(lambda: len(proxy.seen) == MANY)
        bucket.close()
        with pytest.raises(ValueError, match="was closed"):
            reading.result(LONG_S / 2)
    proxy.plan = scripted()
    assert read(bucket) == EXPECTED


def test_it_travels_and_bears_a_fork(bucket):
    copy = pickle.loads(pickle.dumps(bucket))
    assert read(copy) == EXPECTED
    copy.close()
    child = os.fork()
    if child == 0:
        os._exit(0 if read(bucket) == EXPECTED else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert read(bucket) == EXPECTED


def test_ctrl_c_ends_the_wait_for_a_silent_server(bucket, proxy):
    proxy.plan = lambda request: Delay(LONG_S) if "/name" in request.path else None
    proxy.seen.clear()
    process = SPAWN.Process(target=read, args=(bucket,))
    process.start()
    wait_until(lambda: sum("/name" in request.path for request in proxy.seen) == MANY)
    os.kill(expect(int, process.pid), signal.SIGINT)
    process.join(LONG_S / 2)
    assert process.exitcode == 1
