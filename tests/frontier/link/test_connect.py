"""Addresses of servers and of clusters."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio.connection import parse_url

from tests.frontier.valkey_cluster import valkey
from thresher.core import InputError, Unavailable
from thresher.frontier.link.cluster import ClusterLink, SlotMap
from thresher.frontier.link.connect import connect
from thresher.frontier.link.redis_client import redis_client
from thresher.frontier.link.single import SingleLink


@pytest.mark.parametrize(
    "address",
    [
        *("", "localhost", "http://a:1", "redis://a:b", "redis://a:1,b:x"),
        *(
            "redis://bob:S3CRET@[::bad/0",
            "rediss:/bob:S3CRET@h",
            "redis://bob:S3CRET/0",
            "redis:/h",
            "redis:bob:S3CRET@h",
        ),
    ],
)
async def test_what_is_no_address_is_refused_in_one_line_without_secrets(address):
    with pytest.raises(InputError, match=r"^project\.redis: .* is not an address[^\n]*$") as caught:
        await connect(address)
    assert "S3CRET" not in str(caught.value)


async def test_a_password_is_in_no_message():
    with pytest.raises(
        Unavailable, match=r"redis://127\.0\.0\.1:1,redis://127\.0\.0\.1:2 does not"
    ) as caught:
        await connect("redis://user:pass,word@127.0.0.1:1,127.0.0.1:2")
    assert "word" not in str(caught.value)


async def test_one_server_is_a_link_and_several_that_are_of_no_cluster_are_none(tmp_path: Path):
    with valkey(tmp_path / "0") as member:
        link = await connect(member.address)
        assert isinstance(link, SingleLink)
        await link.aclose()
        with pytest.raises(
            InputError, match=rf"127\.0\.0\.1:{member.port} is not in a cluster; name one server"
        ):
            await connect(f"redis://127.0.0.1:1,127.0.0.1:{member.port}")


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("redis://", "localhost:6379"),
        ("redis://:password@a.test/2", "a.test:6379"),
        ("redis://:7000", "localhost:7000"),
        ("unix:///run/redis", "/run/redis"),
    ],
)
def test_what_an_address_does_not_say_is_where_servers_are_by_default(address, name):
    assert SingleLink(redis_client(parse_url(address)))._node.name == name


async def test_a_node_of_a_cluster_is_known_for_one_even_before_it_has_slots(tmp_path: Path):
    with valkey(tmp_path / "0", cluster_enabled="yes") as member:
        link = await connect(f"redis://127.0.0.1:1,127.0.0.1:{member.port}")
        assert isinstance(link, ClusterLink)
        await link.aclose()


def test_a_map_says_who_has_a_slot_and_who_has_replicas():
    told: dict[tuple[int, int], dict[str, Any]] = {
        (0, 99): {"primary": ("a", 1), "replicas": [("c", 3)]},
        (101, 16_383): {"primary": ("b", 2), "replicas": []},
    }
    slots = SlotMap.from_reply(told)
    assert [slots.owners[slot] for slot in (0, 99, 100, 101, 16_383)] == [("a", 1)] * 2 + [None] + [
        ("b", 2)
    ] * 2
    assert slots.masters == {("a", 1), ("b", 2)}
    assert slots.replicated_masters == {("a", 1)}


@pytest.mark.parametrize(
    "said", [b"%1\r\n*0\r\n:1\r\n", b"*2\r\n:1\r\n+x\r\n", b"HTTP/1.1 400 Bad Request\r\n\r\n", b":1\r\n"]
)
async def test_a_program_that_answers_nonsense_is_not_taken_for_a_server(said, monkeypatch):
    monkeypatch.setattr("thresher.frontier.link.redis_client.REPLY_TIMEOUT_S", 0.5)

    async def answer(reader, writer):
        while await reader.read(1 << 16):
            writer.write(said)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(
            Unavailable, match=f"Redis at redis://127.0.0.1:{port} does not answer: .*; start it"
        ):
            await connect(f"redis://127.0.0.1:{port}")
