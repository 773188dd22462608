"""Rows 33 and 35: addresses that may not be requested, in every spelling, and the one of IPv6 that may.

The canary listens on 127.0.0.1, which no row allows. A link, a redirect, a base and a Location lead there.
"""

from tests.crawler.nameserver import NXDOMAIN, SERVFAIL, A
from tests.crawler.server import links, page, redirect
from tests.hostile.rows.row import Row, WebAddress

SPELLINGS = {
    "dotted": "127.0.0.1",
    "decimal": "2130706433",
    "octal": "0177.0.0.1",
    "hexadecimal": "0x7f000001",
    "hexadecimal in parts": "0x7f.0x0.0x0.0x1",
    "short": "127.1",
    "with a final dot": "127.0.0.1.",
    "full-width": "\uff11\uff12\uff17.\uff10.\uff10.\uff11",
    "mapped": "[::ffff:127.0.0.1]",
    "mapped in hexadecimal": "[::ffff:7f00:1]",
    "compatible": "[::127.0.0.1]",
    "NAT64": "[64:ff9b::7f00:1]",
    "6to4": "[2002:7f00:1::]",
    "unspecified": "0.0.0.0",
    "unspecified in short": "0",
    "unspecified of IPv6": "[::]",
    "localhost": "localhost",
    "another of the loopback net": "127.0.0.2",
    "metadata": "169.254.169.254",
    "metadata of IPv6": "[fd00:ec2::254]",
    "private 10": "10.0.0.1",
    "private 172": "172.16.0.1",
    "private 192": "192.168.0.1",
    "carrier": "100.64.0.1",
    "broadcast": "255.255.255.255",
    "multicast": "224.0.0.1",
    "link-local of IPv6": "[fe80::1]",
}


def untouched(seen):
    assert not seen.canary, "the canary was asked"


def rebound():
    """The first answer is the row's address, every other one the canary's."""
    asked = []

    def answer(kind):
        if kind != A:
            return []
        asked.append(kind)
        return ["127.1.35.77"] if len(asked) == 1 else ["127.0.0.1"]

    return answer


def named(there: WebAddress) -> list[Row]:
    """Return rows 33 to 35 that need a name server."""

    def nowhere(name, said, word="dns"):
        host = f"{name.replace(' ', '-').lower()}.test"
        return Row(
            number=34,
            name=f"DNS: {name}",
            host=host,
            names={host: said},
            good=False,
            ended={"/": "failed:*"},
            extra_check=lambda seen: (seen.reason(word), seen.unconnected()),
        )

    def inward(name, addresses):
        host = f"inward-{len(name)}.test"
        return Row(
            number=35,
            name=f"DNS leads to {name}",
            host=host,
            names={host: addresses},
            good=False,
            ended={"/": "refused:address_blocked"},
            extra_check=untouched,
        )

    return [
        Row(
            number=33,
            name="the first address is dead",
            host="first-dead.test",
            names={"first-dead.test": ["127.1.33.250", "@"]},
        ),
        Row(
            number=33,
            name="its IPv6 leads nowhere",
            host="six-dead.test",
            names={"six-dead.test": ["fd00:1::1", "@"]},
        ),
        nowhere("NXDOMAIN", NXDOMAIN),
        nowhere("SERVFAIL", SERVFAIL),
        nowhere("silence", None),
        nowhere("REFUSED", 5),
        nowhere("no address", []),
        nowhere("a name that is its own alias", ["=a-name-that-is-its-own-alias.test"]),
        Row(
            number=34,
            name="DNS: the same address a hundred times",
            host="hundred.test",
            names={"hundred.test": ["@"] * 30},
        ),
        inward("loopback", ["127.0.0.1"]),
        inward("a private net", ["10.0.0.1"]),
        inward("the metadata service", ["169.254.169.254"]),
        inward("mapped loopback of IPv6", ["::ffff:127.0.0.1"]),
        inward("a net of a carrier", ["100.64.0.1"]),
        inward("IPv6 of one's own net, ULA", ["fd12::1"]),
        inward("a group of hosts, which is multicast", ["224.0.0.251"]),
        inward("loopback by way of NAT64, RFC 6052", ["64:ff9b::7f00:1"]),
        inward("nowhere (0)", ["0.0.0.0"]),
        Row(
            number=35,
            name="DNS leads to the host and to loopback",
            host="both.test",
            names={"both.test": ["127.0.0.1", "@"]},
            extra_check=untouched,
        ),
        Row(
            number=35,
            name="DNS that changes its mind",
            host="rebound.test",
            address="127.1.35.77",
            names={"rebound.test": rebound()},
            good=False,
            extra_check=untouched,
        ),
    ]


def rows(there: WebAddress) -> list[Row]:
    inside = {name: f"http://{host}:{there.canary}/secret" for name, host in SPELLINGS.items()}
    hops = {f"/r-{number}": redirect(url) for number, url in enumerate(inside.values())}
    return [
        *named(there),
        Row(
            number=33,
            name="IPv6 alone",
            address="::1",
            answers={"/six": page("six")},
            extra_check=lambda seen: seen.address("/six", "::1"),
        ),
        Row(
            number=35,
            name="links to where nobody may go",
            scope="any",
            answers={"/bad": links(*inside.values())},
            extra_check=untouched,
        ),
        Row(
            number=35,
            name="redirects to where nobody may go",
            scope="any",
            answers=hops,
            ended=dict.fromkeys(hops, "redirected:*"),
            extra_check=untouched,
        ),
        Row(
            number=35,
            name="a base that leads to where nobody may go",
            scope="any",
            answers={"/bad": page(f'<base href="{inside["dotted"]}"><a href="x">x</a><img src="y">')},
            extra_check=untouched,
        ),
        Row(
            number=35,
            name="a user name that looks like a host",
            scope="any",
            answers={
                "/bad": links(
                    f"http://{there.host(35)}@127.0.0.1:{there.canary}/",
                    f"http://127.0.0.1:{there.canary}\\@{there.host(35)}/",
                )
            },
            extra_check=untouched,
        ),
    ]
