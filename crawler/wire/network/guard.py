"""The guard's names and ports: which ones are never requested, whoever looks the name up.
`crawler.wire.network.address` says which addresses are not.

1. A proxy that looks names up itself may know names that our name servers do not know: those of its own network. So it
   receives no name that leads nowhere on the public web: the special-use names of IANA's registry (RFC 6761 and those
   after it), the top-level domains that ICANN does not delegate because networks use them, the names under which clouds
   answer questions about a machine, and every name without a dot. If our name servers know such a name, its address is
   judged like any other.
2. A port of the Fetch standard's list of bad ports (section "Port blocking") is not requested: behind it is a service
   that is no web server, and that may take a request for one of its own commands. The networks that the user allows are
   exempt from this as well.
"""

from collections.abc import Sequence

from thresher.crawler.wire.fetch_failure import FetchFailure
from thresher.crawler.wire.network.address import Network, is_allowed
from thresher.crawler.wire.network.dns import is_address

NAME_BLOCKED = FetchFailure(
    reason="name_blocked", detail="the name of a private network, and our name servers do not know it"
)
PORT_BLOCKED = FetchFailure(reason="port_blocked", detail="the port of a service that is no web server")
PRIVATE_NAMES = frozenset(
    {
        # RFC 6761, 6762, 8375, 9476 (not RFC 7686: a proxy may lead to onion services); ICANN board resolution
        # 2024.07.29.06: internal.
        *("alt", "home.arpa", "internal", "invalid", "local", "localhost"),
        # ICANN does not delegate these, because networks use them (name collisions); draft-chapin-rfc2606bis.
        *("corp", "home", "lan", "localdomain", "mail", "private", "intranet", "workgroup"),
    }
)
"""Names that no proxy receives; the same holds for the names under them."""
BAD_PORTS = frozenset(
    {
        *(0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95),
        *(101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179),
        *(389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587),
        *(601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061),
        *(6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080),
    }
)


def is_private_name(host: str) -> bool:
    """Return whether a name leads nowhere on the public web, whoever looks it up. An address is no name."""
    if is_address(host):
        return False
    labels = host.lower().rstrip(".").split(".")
    return len(labels) == 1 or any(".".join(labels[first:]) in PRIVATE_NAMES for first in range(len(labels)))


def is_port_allowed(port: int, address: str, allowed: Sequence[Network]) -> bool:
    """Return whether a port of an address may be requested; `address` may be a name that only a proxy knows."""
    return port not in BAD_PORTS or is_allowed(address, allowed)
