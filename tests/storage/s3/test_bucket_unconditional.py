"""A server that does not know conditional puts: found out by trying, and what is still promised there."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.storage.conftest import MIN_PART, QUICK
from tests.storage.faulty_proxy import Answer, DropCondition, LoseReply, scripted, start_proxy
from tests.storage.s3server import BUCKET, running_server
from thresher.storage.s3.s3_store import S3Store

LARGE = 2 * MIN_PART + 1000


@pytest.fixture(scope="module")
def proxy(keys, tmp_path_factory: pytest.TempPathFactory):
    """To a server that checks no signatures, for the header that is taken away was signed."""
    with (
        running_server(tmp_path_factory.mktemp("s3"), is_open=True) as server,
        start_proxy(server.port) as proxy,
    ):
        yield proxy


@pytest.fixture(params=["drops the condition", "keeps it for single puts only", "refuses the condition"])
def bucket(request: pytest.FixtureRequest, proxy):
    def drop(each):
        return DropCondition()

    def drop_on_completion(each):
        return DropCondition() if each.method == "POST" else None

    kinds = {
        "drops the condition": drop,
        "keeps it for single puts only": drop_on_completion,
        "refuses the condition": refusing(proxy),
    }
    proxy.plan = kinds[request.param]
    bucket = S3Store(
        BUCKET, os.urandom(6).hex(), endpoint=proxy.endpoint, patience=QUICK, part_bytes=MIN_PART
    )
    yield bucket
    bucket.close()


def refusing(proxy):
    return lambda request: Answer(501, "NotImplemented") if request.is_conditional else None


@pytest.fixture
def large(tmp_path: Path):
    path = tmp_path / "large"
    path.write_bytes(os.urandom(LARGE))
    return path


def test_a_name_found_taken_stays_as_it_is(bucket, large):
    assert bucket.put("name", b"first") is True
    assert bucket.put("name", b"second") is False
    assert bucket.read("name") == b"first"
    assert bucket.put_file(large, "name") is False
    assert bucket.put_file(large, "large") is True
    assert bucket.put_file(large, "large") is False
    assert bucket.put("large", b"second") is False
    assert bucket.read("large") == large.read_bytes()


def test_of_many_at_once_somebody_is_first_and_one_object_is_there_whole(bucket):
    contents = [bytes([number]) * 10_000 for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        created = list(pool.map(lambda data: bucket.put("name", data), contents))
    assert any(created)
    there = bucket.read("name")
    assert there in contents
    assert created[contents.index(there)]


def test_a_lost_reply_is_no_second_writer(bucket, proxy, large):
    bucket.put("first", b"")
    bucket.put_file(large, "first large")
    usual, losing = proxy.plan, scripted(LoseReply(), path="/name")
    proxy.plan = lambda request: (losing(request) if request.method != "HEAD" else None) or usual(request)
    assert bucket.put("name", b"mine") is True
    assert bucket.read("name") == b"mine"


def test_probes_leave_nothing(bucket):
    bucket.put("name", b"")
    assert list(bucket.substore(".probe").list()) == []
