"""Whatever a busy server does to single requests, the data arrives; an error that lasts is one line."""

import random
import socket
from itertools import islice
from pathlib import Path

import pytest

from tests.commoncrawl_server import HOST, CutResponse, DelayedResponse, ErrorResponse, scripted
from tests.storage.commoncrawl.conftest import Clock
from thresher.core import CorruptData, InputError, Unavailable
from thresher.storage.commoncrawl.transport.source_client import RangeRequest, pieces
from thresher.storage.commoncrawl.transport.window import Window
from thresher.storage.loop_thread import READ_AHEAD_BYTES

KEY = "crawl-data/big"


@pytest.fixture
def big(server, tmp_path: Path):
    """A file of its own."""
    server.root = tmp_path
    data = random.Random(1).randbytes(300_000)
    (tmp_path / "crawl-data").mkdir()
    (tmp_path / KEY).write_bytes(data)
    return data


def test_ranges_and_tails_are_those_of_the_file(client, big):
    assert client.read(KEY, 1000, 50) == big[1000:1050]
    assert client.read(KEY, len(big) - 10, 100) == big[-10:]
    assert client.read(KEY, 5, 0) == b""
    ((key, data, told),) = client.tails([KEY], 64)
    assert (key, data, told.size) == (KEY, big[-64:], len(big))
    assert client.read_all(KEY) == big


def test_every_request_says_who_asks(client, big, server):
    client.read(KEY, 0, 1)
    assert server.requests[0].headers["user-agent"] == "thresher/0 (+mailto:crawl@example.org)"
    assert server.requests[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    "fault",
    [
        ErrorResponse(503),
        ErrorResponse(403, "AccessDenied"),
        ErrorResponse(429, ""),
        ErrorResponse(500, "InternalError"),
        ErrorResponse(502, ""),
        ErrorResponse(408, ""),
        CutResponse(0),
    ],
)
def test_a_passing_trouble_passes(client, big, server, fault):
    server.plan = scripted(*[fault] * 7)
    assert client.read(KEY, 100, 5000) == big[100:5100]
    assert len(server.requests) == 8


def test_a_body_that_is_cut_is_asked_for_from_where_it_was_cut(client, big, server):
    server.plan = scripted(CutResponse(1000), CutResponse(250_000), CutResponse(0))
    assert client.read(KEY, 0, len(big)) == big
    firsts = [asked.first for asked in server.requests]
    assert firsts[0] == 0
    assert firsts == sorted(firsts)
    assert firsts[-1] > 0


def test_patience_begins_anew_with_every_byte_that_comes(client_of, big, server, clock: Clock):
    """A file that comes in a thousand pieces comes."""
    left = [CutResponse(1000) if turn % 40 == 39 else ErrorResponse(503) for turn in range(400)]
    server.plan = scripted(*left)
    client = client_of(server.base)
    assert client.read(KEY, 0, 50_000) == big[:50_000]
    assert clock.now > 600_000


def test_pauses_are_drawn_below_a_ceiling_that_doubles(client, big, server, clock: Clock):
    server.plan = scripted(*[ErrorResponse(503)] * 9)
    client.read(KEY, 0, 1)
    assert clock.slept == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]


def test_the_time_that_a_server_names_is_waited_for(client, big, server, clock: Clock):
    server.plan = scripted(ErrorResponse(503, retry_after_s=7), ErrorResponse(429, "", retry_after_s=3))
    client.read(KEY, 0, 1)
    assert clock.now >= 10_000


def test_after_the_time_limit_one_line_says_what_was_in_the_way(client, big, server, clock: Clock):
    server.plan = lambda asked: ErrorResponse(503)
    with pytest.raises(Unavailable) as raised:
        client.read(KEY, 0, 1)
    line = str(raised.value)
    assert line == (
        f"{server.base}{KEY}: nothing for 600 s (SlowDown, status 503); run the same command again later, it continues where it stopped"
    )
    assert clock.now >= 600_000


def test_no_server_makes_anybody_wait_longer_than_the_time_limit(client, big, server, clock: Clock):
    server.plan = scripted(ErrorResponse(503, retry_after_s=86_400))
    with pytest.raises(Unavailable, match="nothing for 600 s"):
        client.read(KEY, 0, 1)
    assert client.read(KEY, 0, 1) == big[:1]
    assert clock.now < 1_300_000


def test_a_403_is_believed_sooner_where_nothing_was_answered_before(client, big, server, clock: Clock):
    server.plan = lambda asked: ErrorResponse(403, "AccessDenied")
    with pytest.raises(
        Unavailable, match=r"nothing for 60 s .*the name may be wrong, or it needs credentials"
    ):
        client.read(KEY, 0, 1)
    assert clock.now < 120_000


def test_a_403_after_an_answer_is_taken_for_a_crowd(client, big, server, clock: Clock):
    client.read(KEY, 0, 1)
    server.plan = scripted(*[ErrorResponse(403, "")] * 40)
    assert client.read(KEY, 1, 1) == big[1:2]
    assert clock.now > 60_000


def test_an_address_where_nobody_is_is_said_after_a_minute(client_of, clock: Clock):
    with socket.socket() as taken:
        taken.bind((HOST, 0))  # bound, not listening
        client = client_of(f"http://{HOST}:{taken.getsockname()[1]}/")
        with pytest.raises(Unavailable, match="nothing for 60 s"):
            client.read(KEY, 0, 1)


def test_a_file_that_is_not_there_is_not_asked_for_again(client, big, server):
    with pytest.raises(
        InputError, match=r"there is no such file; correct the name of the crawl, or ingest.commoncrawl"
    ):
        client.head("crawl-data/none")
    assert len(server.requests) == 1


def test_wrong_keys_stay_wrong(client, big, server):
    server.plan = lambda asked: ErrorResponse(403, "InvalidAccessKeyId")
    with pytest.raises(InputError, match=r"refused .InvalidAccessKeyId"):
        client.read(KEY, 0, 1)
    assert len(server.requests) == 1


def test_a_file_that_was_replaced_meanwhile_is_no_mix(client, big, server, tmp_path: Path):
    told = client.head(KEY)
    (tmp_path / KEY).write_bytes(big[::-1])
    with pytest.raises(CorruptData, match="was replaced while it was read"):
        b"".join(client.read_ahead(pieces(KEY, told, block=100_000), etag=told.etag))


def test_a_server_that_asks_to_slow_down_is_asked_less_at_a_time_and_more_again_later(client_of, big, server):
    client = client_of(server.base, window=Window(width=16.0, max_width=16.0))
    asks = [RangeRequest(KEY, at * 1000, 1000) for at in range(200)]
    server.plan = lambda asked: ErrorResponse(503) if len(server.requests) <= 16 else DelayedResponse(0.002)
    assert b"".join(client.read_ahead(asks)) == big[:200_000]
    assert server.most_out <= 16
    assert client.window.width > 8
    narrow = client_of(server.base, window=Window(width=2.0, max_width=2.0))
    server.most_out, server.plan = 0, lambda asked: DelayedResponse(0.002)
    assert b"".join(narrow.read_ahead(asks[:20])) == big[:20_000]
    assert server.most_out <= 2


def test_one_who_stops_reading_leaves_nothing_behind(client, big, server):
    asks = (RangeRequest(KEY, at, 10) for at in range(0, 100_000, 10))
    assert b"".join(islice(client.read_ahead(asks), 3)) == big[:30]
    assert len(server.requests) < 200


def test_no_more_is_asked_for_ahead_than_there_is_room_for(client, big, server):
    taken = []

    def asks():
        for number in range(20):
            taken.append(number)
            yield RangeRequest(KEY, 0, READ_AHEAD_BYTES // 2)

    arriving = client.read_ahead(asks())
    next(arriving)
    assert len(taken) <= 3


def test_a_server_that_knows_no_ranges_is_refused(client, big, server):
    server.plan = scripted(ErrorResponse(200, ""))
    with pytest.raises(InputError, match="sends no ranges of files"):
        client.read(KEY, 0, 1)
