"""A call waits for a replica if the master reports one."""

import pytest

from thresher.frontier.link.replication import ALONE_S, Replication, grace_s

MASTER = b"# Replication\r\nrole:master\r\nconnected_slaves:%d\r\n%smaster_replid:8f\r\n"
NODE_TIMEOUT_MS = 2_000


def info(*lags: int, state: bytes = b"online") -> bytes:
    lines = [
        b"slave%d:ip=127.0.0.1,port=7,state=%s,offset=4,lag=%d,type=replica\r\n" % (i, state, lag)
        for i, lag in enumerate(lags)
    ]
    return MASTER % (len(lines), b"".join(lines))


@pytest.fixture
def member() -> Replication:
    found = Replication()
    found.mark_promoted(listed=True, grace_s=grace_s(NODE_TIMEOUT_MS))
    return found


def test_a_server_that_nobody_said_anything_of_has_no_replica():
    assert not Replication().is_replica_required(0)


def test_a_server_with_a_replica_has_its_calls_wait_for_it():
    server = Replication()
    assert server.read_info(info(1), now=100)
    assert server.is_replica_required(100)
    assert server.is_replica_required(10_000)


def test_a_server_that_lost_its_replica_counts_as_alone_only_after_some_time():
    server = Replication()
    server.read_info(info(0), now=100)
    server.read_info(info(), now=200)
    server.read_info(info(), now=205)
    assert server.is_replica_required(200 + ALONE_S)
    assert not server.is_replica_required(200.1 + ALONE_S)
    server.read_info(info(1), now=300)
    assert server.is_replica_required(300)


def test_a_cut_off_master_has_stopped_taking_writes_before_it_counts_as_alone(member: Replication):
    member.read_info(info(), now=10)
    assert member.is_replica_required(10 + 1.5 * NODE_TIMEOUT_MS / 1000)
    assert not member.is_replica_required(10 + 2.5 * NODE_TIMEOUT_MS / 1000)


def test_a_silent_replica_is_missed_since_it_was_last_heard_of(member: Replication):
    member.read_info(info(3, 9), now=10)
    assert member.is_replica_required(11)
    assert not member.is_replica_required(7.1 + grace_s(NODE_TIMEOUT_MS))


def test_a_replica_that_only_loads_what_the_master_has_is_none(member: Replication):
    member.read_info(info(0, state=b"send_bulk"), now=10)
    assert not member.is_replica_required(20)


def test_an_acknowledgement_says_that_there_is_a_replica(member: Replication):
    member.read_info(info(), now=10)
    member.mark_acknowledged()
    assert member.is_replica_required(100)


def test_a_promoted_replica_that_has_none_itself_waits_for_nobody(member: Replication):
    member.mark_promoted(listed=False, grace_s=grace_s(NODE_TIMEOUT_MS))
    assert not member.is_replica_required(0)
    member.read_info(info(0), now=5)
    assert member.is_replica_required(5)


def test_a_replica_is_told_from_a_master():
    assert not Replication().read_info(b"# Replication\r\nrole:slave\r\nmaster_link_status:up\r\n", now=0)
