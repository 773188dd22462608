from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.core import InputError
from thresher.crawler.wire.network.address import effective_address, is_blocked, parse_networks

OURS = [
    "127.0.0.1",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "192.0.2.1",
    "168.63.129.16",
    "100.100.100.200",
    "192.0.0.192",
    "fd00:ec2::254",
    "::ffff:0:7f00:1",
    "::",
    "::1",
    "fc00::1",
    "fe80::1",
    "fe80::1%eth0",
    "ff02::1",
    "2001:db8::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "2002:7f00:1::",
    "64:ff9b::a00:1",
    "64:ff9b:1::1",
    "::127.0.0.1",
    "2001::1",
    "fec0::1",
    "3fff::1",
    "5f00::1",
    "100:0:0:1::1",
    "4000::1",
    "192.0.0.8",
    "192.0.0.10",
    "192.88.99.1",
    "2002:c000:8::",
]
PUBLIC = ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8", "2002:808:808::", "64:ff9b::808:808"]


@pytest.mark.parametrize("address", OURS)
def test_addresses_that_are_not_global_are_blocked(address):
    assert is_blocked(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_global_addresses_are_allowed(address):
    assert not is_blocked(address)


@given(st.text(alphabet="0123456789abcdef.:x%") | st.text())
def test_texts_that_are_no_address_are_blocked(text):
    try:
        IPv6Address(text.partition("%")[0]) if ":" in text else IPv4Address(text.partition("%")[0])
    except ValueError:
        assert is_blocked(text)


@given(st.ip_addresses(v=4))
def test_a_mapped_address_is_judged_by_its_embedded_address(address):
    assert is_blocked(f"::ffff:{address}") == is_blocked(str(address))
    assert is_blocked(str(IPv6Address((0x64FF9B << 96) | int(address)))) == is_blocked(str(address))


def test_only_the_allowed_network_is_exempt():
    allowed = parse_networks(["127.0.0.0/8", "fd00::/8"])
    assert allowed == (ip_network("127.0.0.0/8"), ip_network("fd00::/8"))
    assert not is_blocked("127.1.2.3", allowed)
    assert not is_blocked("::ffff:127.1.2.3", allowed)
    assert not is_blocked("fd00::1", allowed)
    assert is_blocked("10.0.0.1", allowed)
    assert is_blocked("::1", allowed)


@pytest.mark.parametrize(
    ("asker", "wanted", "expected"),
    [
        (None, "10.1.2.3", False),
        ("10.9.9.9", "10.1.2.3", False),
        ("::ffff:10.9.9.9", "10.1.2.3", False),
        ("10.9.9.9", "64:ff9b::10.1.2.3", False),
        ("8.8.8.8", "10.1.2.3", True),
        ("2001:4860::1", "10.1.2.3", True),
        ("192.168.1.1", "10.1.2.3", True),  # another network
        ("", "10.1.2.3", True),
        ("nobody", "10.1.2.3", True),
        ("8.8.8.8", "1.1.1.1", False),
        ("8.8.8.8", "9.9.9.9", False),  # allowed by name, but public anyway
        ("10.9.9.9", "127.0.0.1", True),
        ("127.0.0.1", "127.0.0.2", False),
    ],
)
def test_a_private_network_is_reached_only_from_its_own_pages(asker, wanted, expected):
    allowed = parse_networks(["10.0.0.0/8", "192.168.0.0/16", "127.0.0.0/8", "9.9.9.9/32"])
    assert is_blocked(wanted, allowed, asker) is expected


@pytest.mark.parametrize("asker", ["8.8.8.8", "10.0.0.1"])
def test_a_page_reaches_loopback_from_loopback_alone_whatever_is_allowed(asker):
    assert is_blocked("127.0.0.1", parse_networks(["0.0.0.0/0"]), asker)
    assert not is_blocked("127.0.0.1", parse_networks(["0.0.0.0/0"]), "127.0.0.9")


def test_a_malformed_network_is_an_error_of_one_line():
    with pytest.raises(InputError, match=r"allow_networks: '10.0.0.0/40'"):
        parse_networks(["10.0.0.0/40"])


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::ffff:127.0.0.1", "127.0.0.1"),
        ("::ffff:7f00:1", "127.0.0.1"),
        ("64:ff9b::7f00:1", "127.0.0.1"),
        ("2606:4700:0::1111", "2606:4700::1111"),
        ("fe80::1%eth0", "fe80::1"),
        ("no address", "no address"),
    ],
)
def test_one_address_has_one_name(text, address):
    assert effective_address(text) == address
