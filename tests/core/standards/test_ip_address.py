from hashlib import sha256
from ipaddress import IPv4Address, IPv6Address, ip_address
from random import Random

import pytest

from thresher.core.standards.ip_address import (
    _NOT_PUBLIC,
    _RANGES,
    format_address,
    is_special,
    mapped_address,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("192.0.0.9", True),  # what patch releases of Python disagree on
        ("192.0.0.170", True),
        ("100.64.0.1", True),
        ("192.88.99.1", True),
        ("64:ff9b:1::1", True),
        ("2001::1", True),
        ("2001:4:112::1", True),
        ("2001:20::1", True),
        ("3fff::1", True),
        ("5f00::1", True),
        ("2002:808:808::", False),
        ("64:ff9b::808:808", False),
        ("2620:4f:8000::1", False),
        ("192.31.196.1", False),
        ("192.52.193.1", False),
        ("192.175.48.1", False),
        ("8.8.8.8", False),
        ("2606:4700::1111", False),
    ],
)
def test_an_address_is_special_as_the_registries_say(text, expected):
    assert is_special(ip_address(text)) is expected


def test_each_network_is_special_to_its_borders_and_no_further():
    for version, made in ((4, IPv4Address), (6, IPv6Address)):
        ranges = _RANGES[version]
        inside = {number for pair in ranges for number in pair}
        beside = {number for first, last in ranges for number in (first - 1, last + 1)}
        beside -= {number for number in beside if any(first <= number <= last for first, last in ranges)}
        assert all(is_special(made(number)) for number in inside)
        assert not any(
            is_special(made(number)) for number in beside if 0 <= number < 2 ** made(0).max_prefixlen
        )
    assert sum(map(len, _RANGES.values())) == len(_NOT_PUBLIC)


def test_a_mapped_address_is_written_in_one_way():
    mapped = IPv6Address("::ffff:1.2.3.4")
    assert mapped_address(mapped) == IPv4Address("1.2.3.4")
    assert format_address(mapped) == "::ffff:102:304"
    assert mapped_address(IPv6Address("::1.2.3.4")) is None
    assert mapped_address(IPv4Address("1.2.3.4")) is None


def test_addresses_are_written_and_judged_alike_by_every_python():
    chance = Random(28)
    addresses: list[IPv4Address | IPv6Address] = [IPv4Address(chance.getrandbits(32)) for _ in range(2_000)]
    addresses += [
        IPv6Address(chance.getrandbits(128) >> chance.choice((0, 0, 3, 32, 80, 96, 120)))
        for _ in range(2_000)
    ]
    lines = "".join(f"{format_address(address)} {is_special(address)}\n" for address in addresses)
    assert sha256(lines.encode()).hexdigest()[:16] == "59b53ad298fb6dcb"
