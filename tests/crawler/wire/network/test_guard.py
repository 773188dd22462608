"""Names and ports that are never requested."""

import pytest

from thresher.crawler.wire.network.address import parse_networks
from thresher.crawler.wire.network.guard import BAD_PORTS, is_port_allowed, is_private_name
from thresher.frontier import canonicalize


@pytest.mark.parametrize(
    "host",
    [
        *(
            "metadata",
            "intranet",
            "localhost",
            "LOCALHOST",
            "db.localhost",
            "printer.local",
            "metadata.google.internal",
        ),
        *(
            "instance-data.ec2.internal",
            "router.home.arpa",
            "nas.lan",
            "wiki.corp",
            "a.b.internal.",
            "kubernetes.svc.cluster.local",
        ),
    ],
)
def test_names_of_private_networks_are_known(host):
    assert is_private_name(host)


@pytest.mark.parametrize(
    "host", ["example.org", "internal.example.org", "local.se", "10.0.0.1", "::1", "home.de", "example.onion"]
)
def test_other_names_and_addresses_are_allowed(host):
    assert not is_private_name(host)


@pytest.mark.parametrize("port", [22, 25, 6667, 10080])
def test_a_bad_port_is_requested_only_in_an_allowed_network(port):
    allowed = parse_networks(["10.0.0.0/8"])
    assert not is_port_allowed(port, "93.184.216.34", allowed)
    assert not is_port_allowed(port, "mail.example.org", allowed)
    assert is_port_allowed(port, "10.1.2.3", allowed)
    assert is_port_allowed(port, "::ffff:10.1.2.3", allowed)


def test_ports_of_web_servers_are_requested_anywhere():
    assert all(is_port_allowed(port, "93.184.216.34", ()) for port in (80, 443, 8000, 8080, 8443, 3000, 5000))
    assert len(BAD_PORTS) == 83


@pytest.mark.parametrize("port", [25, 6667])
async def test_a_bad_port_is_refused_before_its_address_is_acquired(client, names, port):
    names["public.test"] = ["93.184.216.34"]
    asked = []

    async def enter(address):
        asked.append(address)
        return 0

    async with client(nameservers=names.servers) as http_client:
        found = await http_client.get(canonicalize(f"http://public.test:{port}/"), enter)
    assert (found.reason, asked) == ("port_blocked", [])
