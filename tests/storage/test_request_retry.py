"""When a failing server is asked again: the decisions, and a whole outage in simulated time."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from thresher.core import Unavailable
from thresher.storage.request_retry import (
    POLL_MS,
    Admission,
    Circuit,
    RetryPolicy,
    admit,
    pause_ms,
    record_answer,
    record_cancellation,
    record_failure,
    remaining_ms,
)
from thresher.storage.s3.in_flight import InFlight
from thresher.storage.s3.requests import RequestSender

PATIENCE = RetryPolicy(total_ms=60_000, first_ms=100, longest_ms=10_000, trip=3)
chances = st.floats(0, 1, exclude_max=True)


def after_failures(count, *, now_ms=0, chance=0.0, at_least_ms=0):
    circuit = Circuit()
    for _ in range(count):
        circuit = record_failure(
            circuit, PATIENCE, Admission(), now_ms, chance=chance, at_least_ms=at_least_ms
        )
    return circuit


@given(failures=st.integers(1, 1000), chance=chances, asked=st.integers(0, 100_000))
def test_a_pause_lies_between_what_the_server_asked_and_a_ceiling_that_doubles(failures, chance, asked):
    pause = pause_ms(PATIENCE, failures, chance, asked)
    assert asked <= pause <= max(asked, min(10_000, 100 * 2 ** min(failures - 1, 20)))


def test_a_few_failures_stop_nobody():
    circuit = after_failures(PATIENCE.trip - 1)
    assert admit(circuit, 0) == (circuit, Admission())


def test_failures_in_a_row_stop_all_until_the_pause_is_over():
    circuit = after_failures(PATIENCE.trip, now_ms=1000)
    assert admit(circuit, 1000) == (circuit, Admission(wait_ms=50))
    _, turn = admit(circuit, 1050)
    assert turn == Admission(probe=True)


def test_then_one_probe_goes_and_the_others_wait_for_its_outcome():
    circuit, probe = admit(after_failures(PATIENCE.trip), 50)
    assert admit(circuit, 60) == (circuit, Admission(wait_ms=POLL_MS))
    assert admit(record_cancellation(circuit, probe), 60)[1] == probe
    later = record_failure(circuit, PATIENCE, probe, 60, chance=0.0)
    assert admit(later, 60)[1] == Admission(wait_ms=100)
    assert record_answer(later) == Circuit()


def test_the_server_may_ask_for_a_longer_rest():
    circuit = after_failures(PATIENCE.trip, at_least_ms=30_000)
    assert admit(circuit, 0)[1] == Admission(wait_ms=30_000)


def test_a_straggler_that_fails_leaves_the_probe_alone():
    circuit, _ = admit(after_failures(PATIENCE.trip), 50)
    assert record_failure(circuit, PATIENCE, Admission(), 60, chance=0.0).probing


@given(
    st.lists(
        st.tuples(st.sampled_from(["ask", "fail", "answer", "withdraw"]), st.integers(0, 20_000), chances)
    )
)
def test_never_two_probes_and_never_stuck(events):
    circuit, now, out = Circuit(), 0, []
    for event, later, chance in events:
        now += later
        if event == "ask":
            circuit, turn = admit(circuit, now)
            if turn.wait_ms == 0:
                out.append(turn)
            assert turn.wait_ms <= PATIENCE.longest_ms
        elif out:
            turn = out.pop(0)
            if event == "fail":
                circuit = record_failure(circuit, PATIENCE, turn, now, chance=chance)
            elif event == "answer":
                circuit = record_answer(circuit)
                out = [Admission() if each.probe else each for each in out]
            else:
                circuit = record_cancellation(circuit, turn)
        assert sum(turn.probe for turn in out) == circuit.probing
        assert (circuit.since_ms is None) == (circuit.failures == 0)
    for turn in out:
        circuit = record_cancellation(circuit, turn)
    assert admit(circuit, now + PATIENCE.longest_ms)[1].wait_ms == 0


@given(since=st.none() | st.integers(0, 10**6), now=st.integers(10**6, 10**7))
def test_the_patience_runs_from_the_first_trouble(since, now):
    left = remaining_ms(PATIENCE, since, now)
    assert left == (60_000 if since is None else max(0, 60_000 - (now - since)))


class Server:
    """Answers but for one stretch of simulated time, which passes only while all threads sleep. Counts what it is asked."""

    def __init__(self, down_from, down_to):
        self.now, self.down, self.asked = 0, range(down_from, down_to), []
        self.threads, self.wakes, self.changed = 1, [], threading.Condition()

    def sleep(self, seconds):
        with self.changed:
            wake = self.now + max(1, round(seconds * 1000))
            self.wakes.append(wake)
            self.pass_time()
            assert self.changed.wait_for(lambda: self.now >= wake, 60)

    def pass_time(self):
        if len(self.wakes) == self.threads > 0:
            self.now = min(self.wakes)
            self.wakes = [wake for wake in self.wakes if wake > self.now]
            self.changed.notify_all()

    def attempt(self):
        self.asked.append(self.now)
        if self.now in self.down:
            raise ConnectionResetError
        return "done"

    def requests(self):
        return RequestSender(
            "s3://b at http://h",
            PATIENCE,
            InFlight("s3://b"),
            at_once=16,
            now_ms=lambda: self.now,
            sleep=self.sleep,
            chance=lambda: 0.5,
        )


def send_from_8_threads(server, requests):
    server.threads = 8

    def send(_):
        try:
            return requests.send(server.attempt)
        finally:
            with server.changed:
                server.threads -= 1
                server.pass_time()

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(send, range(8)))
    server.threads = 1
    return results


def test_an_outage_is_ridden_out_and_hardly_asked():
    server = Server(0, 40_000)
    requests = server.requests()
    assert send_from_8_threads(server, requests) == ["done"] * 8
    assert len([at for at in server.asked if at in server.down]) < 30
    assert requests.waiting_ms() is None


def test_patience_ends_in_one_line_that_names_the_server():
    server = Server(0, 10**9)
    requests = server.requests()
    with pytest.raises(
        Unavailable, match=r"^s3://b at http://h has not answered for 60 s \(connection lost\); see to it"
    ):
        requests.send(server.attempt)
    assert PATIENCE.total_ms <= server.now <= PATIENCE.total_ms + 2
    assert requests.waiting_ms() >= PATIENCE.total_ms


def test_a_server_that_never_answered_is_given_up_within_ten_seconds():
    server = Server(0, 10**9)
    requests = server.requests()
    with pytest.raises(
        Unavailable,
        match=r"http://h has not answered for 10 s \(connection lost\); start it, or correct AWS_ENDPOINT",
    ):
        requests.send_first(server.attempt)
    assert 9_000 <= server.now <= 10_002


def test_a_first_request_that_hangs_uses_up_the_same_ten_seconds():
    server, begun = Server(0, 0), []

    def hang():
        begun.append(server.now)
        server.now += 9_000
        raise TimeoutError

    with pytest.raises(Unavailable, match="has not answered for 10 s"):
        server.requests().send_first(hang)
    assert max(begun) < 10_000


def test_an_attempt_that_the_end_of_patience_cuts_off_does_not_hide_the_failure_before_it():
    server, times = Server(0, 0), iter([0, 59_880])

    def attempt():
        for server.now in times:
            raise refused(503, "SlowDown")
        raise TimeoutError

    with pytest.raises(Unavailable, match=r"has not answered for 60 s \(SlowDown, status 503"):
        server.requests().send(attempt)


def test_a_first_reply_that_asks_for_time_begins_the_usual_patience():
    server = Server(1, 40_000)
    answers = [refused(503, "SlowDown")]

    def attempt():
        if answers:
            raise answers.pop()
        return server.attempt()

    assert server.requests().send_first(attempt) == "done"
    assert server.now >= 40_000


def test_whoever_waits_is_told_once_for_whom(caplog: pytest.LogCaptureFixture):
    server = Server(0, 40_000)
    requests = server.requests()
    send_from_8_threads(server, requests)
    assert caplog.messages == [
        "s3://b at http://h does not answer (connection lost); asking again for up to 60 s"
    ]
    server.down = range(server.now, server.now + 3_000)
    requests.send(server.attempt)
    assert len(caplog.messages) == 1


def refused(status, code, **headers):
    return ClientError(
        {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": headers}},  # type: ignore[typeddict-item]
        "Op",
    )


@pytest.mark.parametrize(
    ("status", "code"), [(403, "AccessDenied"), (404, "NoSuchKey"), (412, "PreconditionFailed")]
)
def test_a_definite_answer_is_not_asked_again(status, code):
    server, asked = Server(0, 0), []

    def attempt():
        asked.append(1)
        raise refused(status, code)

    with pytest.raises(ClientError):
        server.requests().send(attempt)
    assert asked == [1]


@pytest.mark.parametrize(
    "headers",
    [
        {"retry-after": "7"},
        {"retry-after": "Sat, 21 Nov 2026 08:00:07 GMT", "date": "Sat, 21 Nov 2026 08:00:00 GMT"},
    ],
)
def test_retry_after_is_honoured_in_both_forms(headers):
    server = Server(0, 0)
    answers = [refused(429, "TooManyRequests", **headers)]

    def attempt():
        if answers:
            raise answers.pop()
        return server.now

    assert server.requests().send(attempt) == 7000


def test_a_request_called_off_frees_its_place_and_the_probe():
    server = Server(0, 10**9)
    requests = server.requests()
    with pytest.raises(Unavailable):
        requests.send(server.attempt)

    def interrupted():
        raise KeyboardInterrupt

    for _ in range(40):
        with pytest.raises(KeyboardInterrupt):
            requests.send(interrupted)
    server.down = range(0)
    assert requests.send(server.attempt) == "done"
