"""What ends requests and jobs early: their limit, a cancellation, the end of the connection, Ctrl-C."""

import asyncio
import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import CancelledError
from contextlib import suppress
from pathlib import Path

import boto3
import pytest

from tests.crawler.authority import Authority
from tests.expect import expect
from tests.loop_thread import LoopThread
from tests.storage.conftest import MIN_PART
from tests.storage.faulty_proxy import Delay, Drip, scripted
from tests.storage.s3server import BUCKET
from thresher.storage.s3.in_flight import InFlight
from thresher.storage.s3.s3_client import open_client

SPAWN = multiprocessing.get_context("spawn")
LARGE = 2 * MIN_PART + 1000
LONG_S = 60


@pytest.fixture
def in_flight():
    in_flight = InFlight("of a test")
    yield in_flight
    in_flight.close()


@pytest.fixture
def s3(bucket_at, proxy):
    """A client behind the proxy, and beside it an object `t/name`."""
    client = open_client("s3://of-a-test", boto3.Session(), endpoint=proxy.endpoint)
    client.put_object(Bucket=BUCKET, Key="t/name", Body=b"x" * 1000)
    yield client
    client.close()


def read(s3):
    return s3.get_object(Bucket=BUCKET, Key="t/name")["Body"].read()


@pytest.mark.parametrize("drip", [Drip(), Drip(after_head=True)], ids=repr)
def test_a_server_that_sends_a_byte_now_and_then_holds_no_request_beyond_its_limit(
    in_flight, s3, proxy, drip
):
    proxy.plan = lambda request: drip
    started = time.monotonic()
    with pytest.raises(TimeoutError, match="longer than its limit"), in_flight.attempt(0.5):
        read(s3)
    assert 0.5 <= time.monotonic() - started < LONG_S / 2
    proxy.plan = scripted()
    with in_flight.attempt(LONG_S):
        assert read(s3) == b"x" * 1000


def test_the_limit_holds_over_tls_too(keys, in_flight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    authority = Authority(tmp_path)
    monkeypatch.setenv("AWS_CA_BUNDLE", str(tmp_path / "ca.pem"))
    loop = LoopThread()
    serving = loop.run(asyncio.start_server(drip, "127.0.0.1", 0, ssl=authority.server("127.0.0.1")))
    endpoint = f"https://127.0.0.1:{serving.sockets[0].getsockname()[1]}"
    client = open_client("s3://of-a-test", boto3.Session(), endpoint=endpoint)
    with pytest.raises(TimeoutError, match="longer than its limit"), in_flight.attempt(1):
        read(client)
    client.close()
    loop.run(closed(serving))
    loop.close()


async def closed(serving):
    serving.close()


async def drip(reader, writer):
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nX-Drip: ")
    with suppress(ConnectionError):
        while not writer.is_closing():
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.05)


def test_a_limit_that_comes_later_may_be_over_earlier(in_flight, s3, proxy):
    proxy.plan = lambda request: Delay(LONG_S)
    patient = in_flight.start(lambda: attempt(in_flight, s3))
    wait_until(lambda: proxy.seen)
    with pytest.raises(TimeoutError), in_flight.attempt(0.5):
        read(s3)
    assert not patient.future.done()
    patient.cancel()


def attempt(in_flight, s3):
    with in_flight.attempt(LONG_S):
        return read(s3)


def wait_until(is_so):
    until = time.monotonic() + LONG_S
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_cancelled_job_ends_its_request_and_sends_no_other(in_flight, s3, proxy):
    proxy.plan = lambda request: Delay(LONG_S)
    proxy.seen.clear()
    after = []

    def work():
        try:
            attempt(in_flight, s3)
        finally:
            with pytest.raises(CancelledError):
                attempt(in_flight, s3)
            with pytest.raises(CancelledError):
                in_flight.pause(LONG_S)
            after.append(len(proxy.seen))

    job = in_flight.start(work)
    wait_until(lambda: proxy.seen)
    job.cancel()
    with pytest.raises(CancelledError):
        job.future.result(LONG_S / 2)
    assert after == [1]


def test_closing_ends_requests_and_pauses_of_all_threads(in_flight, s3, proxy):
    proxy.plan = lambda request: Delay(LONG_S)
    proxy.seen.clear()
    jobs = [in_flight.start(lambda: attempt(in_flight, s3)), in_flight.start(lambda: in_flight.pause(LONG_S))]
    wait_until(lambda: proxy.seen)
    in_flight.close()
    for job in jobs:
        with pytest.raises(ValueError, match="was closed: open a new one"):
            job.future.result(LONG_S / 2)


def test_works_run_beside_each_other_as_the_slots_allow_and_results_are_in_order(in_flight):
    slots, now, most = threading.Semaphore(3), [], []

    def work(number):
        now.append(number)
        most.append(len(now))
        time.sleep(0.01)
        now.remove(number)
        return number

    works = (lambda number=number: work(number) for number in range(20))
    assert in_flight.run_all(slots, works) == list(range(20))
    assert max(most) <= 3
    assert in_flight.run_all(slots, []) == []


def test_the_first_error_cancels_the_other_works_and_is_raised_when_they_have_ended(in_flight):
    slots, ended = threading.Semaphore(2), []

    def wait_long():
        try:
            in_flight.pause(LONG_S)
        finally:
            ended.append("cancelled")

    def fail():
        raise OSError("the first")

    works = iter([wait_long, fail, *[wait_long] * 10])
    with pytest.raises(OSError, match="the first"):
        in_flight.run_all(slots, works)
    assert ended
    assert len(list(works)) >= 9
    assert slots.acquire(blocking=False)
    assert slots.acquire(blocking=False)


def put_large(bucket, path):
    bucket.put_file(Path(path), "name")


def read_name(bucket, path):
    bucket.read("name")


@pytest.mark.parametrize(("work", "path"), [(put_large, "partNumber=2"), (read_name, "/name")])
def test_ctrl_c_ends_a_wait_for_a_silent_server_and_leaves_no_upload(
    server, bucket_at, proxy, tmp_path: Path, work, path
):
    large = tmp_path / "large"
    large.write_bytes(os.urandom(LARGE))
    bucket = bucket_at(proxy.endpoint)
    proxy.plan = lambda request: Delay(LONG_S) if path in request.path else None
    process = SPAWN.Process(target=work, args=(bucket, str(large)))
    process.start()
    wait_until(lambda: any(path in request.path for request in proxy.seen))
    os.kill(expect(int, process.pid), signal.SIGINT)
    process.join(LONG_S / 2)
    assert process.exitcode == 1
    prefix = bucket.uri.removeprefix(f"s3://{BUCKET}/")
    assert server.client().list_multipart_uploads(Bucket=BUCKET, Prefix=prefix).get("Uploads", []) == []
