"""Replacements for personal data: reserved values of the same kind, which belong to nobody.

With a key, equal values get equal replacements in all documents, on all machines and in all runs (BLAKE2b, RFC 7693,
keyed). Who lacks the key can neither invert a replacement nor test a guess. Without a key, all values of a kind get the
same placeholder. No replacement is found again as personal data, so masking twice is masking once.
"""

import hashlib
import ipaddress
from collections.abc import Callable, Mapping

MIN_KEY_BYTES = 16
"""128 bits: fewer could be guessed."""
BENCHMARK_IPV4 = int(ipaddress.IPv4Address("198.18.0.0"))
"""First of the 2^17 addresses for benchmarks (RFC 2544); the ranges for documentation have 768 together."""
DOCUMENTATION_IPV6 = int(ipaddress.IPv6Address("2001:db8::"))
"""First of the 2^96 addresses for documentation (RFC 3849)."""

RESERVED_COUNTRY = "+999"
"""No country (ITU-T E.164)."""
RESERVED_IBAN = "ZZ00 XXXX"
"""Begins what looks like an IBAN: ZZ is no country (ISO 3166)."""

PLACEHOLDERS: Mapping[str, str] = {
    "email": "email@example.com",
    "ip": "192.0.2.1",
    "phone": f"{RESERVED_COUNTRY} 000 000 000",
    "card": "0000 0000 0000 0000",
    "iban": f"{RESERVED_IBAN} 0000 0000 0000",
    "key": "[removed key]",
}
"""Replacements without a key. The e-mail address is datatrove's; 192.0.2.1 is of RFC 5737; no card begins with 0
(ISO/IEC 7812).
"""


def _groups(number: int, digits: int, size: int) -> str:
    text = f"{number % 10**digits:0{digits}d}"
    return " ".join(text[at : at + size] for at in range(0, digits, size))


def _ip(number: int, value: str) -> str:
    if ":" in value:
        return str(ipaddress.IPv6Address(DOCUMENTATION_IPV6 + number % 2**96))
    return str(ipaddress.IPv4Address(BENCHMARK_IPV4 + number % 2**17))


_KEYED: Mapping[str, Callable[[int, str], str]] = {
    "email": lambda number, _: f"user-{number % 2**40:010x}@example.com",
    "ip": _ip,
    "phone": lambda number, _: f"{RESERVED_COUNTRY} {_groups(number, 9, 3)}",
    "card": lambda number, _: f"0000 {_groups(number, 12, 4)}",
    "iban": lambda number, _: f"{RESERVED_IBAN} {_groups(number, 12, 4)}",
    "key": lambda number, _: f"[removed key {number % 2**40:010x}]",
}
KINDS = tuple(PLACEHOLDERS)


def replacement(kind: str, value: str, key: bytes) -> str:
    """Return the replacement of a value of one of `KINDS`; the same for all values if `key` is empty."""
    if not key:
        return "2001:db8::1" if kind == "ip" and ":" in value else PLACEHOLDERS[kind]
    digest = hashlib.blake2b(
        value.encode(errors="surrogatepass"), digest_size=16, key=key[:64], person=kind.encode()
    )
    return _KEYED[kind](int.from_bytes(digest.digest()), value)


def key_id(key: bytes) -> str:
    """Return a name of the key that says nothing about it, for recipes; empty without a key."""
    return hashlib.blake2b(b"", digest_size=8, key=key[:64], person=b"key id").hexdigest() if key else ""
