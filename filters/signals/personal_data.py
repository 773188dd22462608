"""Find e-mail addresses, IP addresses, phone numbers, payment cards and IBANs in a text.

1. A number is found only if its check digits are right (cards: Luhn; IBANs: ISO 7064 mod 97 and the format of the
   country, by python-stdnum), or if the numbering plan has it (phones, by Google's libphonenumber), or if a label such
   as `Phone:` or `call me at` says what it is. Cards of rare lengths need the word `card` or an issuer before them.
2. Reserved values are nobody's: addresses at example.com (RFC 2606), IP addresses that are not public (as in
   datatrove), phone numbers without a country. The replacements of `pseudonyms` are such values, so masked text
   stays as it is.
3. Time is linear in the length of the text. Every pattern starts at a rare character, repeats at most a fixed number of
   times, and gives nothing back (possessive quantifiers).
"""

import ipaddress
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from thresher.core.standards.ip_address import is_special
from thresher.filters.signals.pseudonyms import RESERVED_COUNTRY, RESERVED_IBAN
from thresher.filters.top_level import top_level_domains


class Occurrence(NamedTuple):
    """Characters `start` to `end` of a text hold a value of a kind."""

    start: int
    end: int
    kind: str
    value: str
    """The value in one normal form: two spellings of one number are equal."""


_AT = re.compile(
    r"@((?:[^\W_](?:[\w-]{0,62}+)\.){1,8})([^\W\d_]{2,24}+|xn--[a-z0-9-]{2,59}+)(?![\w@-])", re.IGNORECASE
)
_LOCAL = re.compile(r"[\w!#$%&'*+/=?^`{|}~.-]{1,65}+")
_SCP = re.compile(r":[\w~./-]")
"""What follows the host in `git@example.org:group/project.git`, which names a place and no person."""
RESERVED_HOSTS = re.compile(
    r"(?:^|\.)(?:example\.(?:com|net|org)|example|test|invalid|localhost|local)$", re.IGNORECASE
)
"""RFC 2606 and RFC 6762."""

_RUN = re.compile(r"[+(0-9][0-9 ().\-/\u00a0+]{6,}+")
"""Digits and what stands between digits of one number: every number but an IBAN lies in such a run. Patterns that begin
with a set of characters are searched ten times faster than those that begin by looking back.
"""
_IPV4 = re.compile(r"(?<![\w.:@-])(?:\d{1,3}+\.){3}\d{1,3}+(?![\w-]|\.\d|\.[a-zA-Z])")
_IPV6 = re.compile(r"[23](?<![\w:.][23])[0-9a-fA-F]{3}(?::{1,2}[0-9a-fA-F]{1,4}+){1,7}(?:::)?(?![\w:])")
"""Addresses that are given to somebody begin with 2000::/3 (RFC 4291)."""
_VERSION = re.compile(
    r"(?:\b(?:v|ver|vers|version|release|rel|build|firmware|driver|section|sect|sec|chapter|clause|figure|fig|table"
    r"|article|appendix|paragraph|step|item|kernel|revision|rev|update|patch|oid|chrome|firefox|safari|edge|opera)"
    r"\.?|§|[\w)]/)[\s:#=(]{0,3}$",
    re.IGNORECASE,
)
"""Words before a dotted number that is a version or a section, and `Chrome/` before the version of a program."""
_ADDRESS_WORD = re.compile(
    r"\b(?:ip|ips|ipv4|address|addresses|addr|host|peer|client)\b[\s:=(]{0,3}$", re.IGNORECASE
)

_PHONE = re.compile(
    r"(?<![\w+.,/:=#)-])(?<![(\[]\d)(?:"
    r"(?P<international>\+\d{1,3}+(?:[ \u00a0./-]?\(?\d{1,8}+\)?){1,6})"
    r"|(?P<american>(?:1[ .-])?(?:\(\d{3}\)[ \u00a0]?|\d{3}[-. ])\d{3}[-. ]\d{4})"
    r"|(?P<trunk>\(?0\d{1,5}+\)?[ \u00a0/-]{1,3}+\d{2,8}+(?:[ \u00a0/-]\d{2,8}+){0,4})"
    r"|(?P<named>(?:\(\d{1,5}+\))?\d?(?>(?:[ \u00a0.-]{0,2}\d){5,14}))"
    r")(?>[ ]?(?:x|ext\.?[ ]?)\d{1,6}+|)(?![\w%€$£@]|[.,:/-]\d)"
)
_EXTENSION = re.compile("[xe]")
_WORD = (
    "phone|tel|tél|telephone|téléphone|telefon|teléfono|telefono|telefone|fax|mobile|cell|mobil|móvil|whatsapp|hotline"
    "|handy|tfno|ph"
)
_PHONE_WORD = re.compile(
    rf"(?:\b(?:{_WORD}|dial)\b|[☎📞📱✆])[\s.:()]{{0,4}}(?:(?:no|nr|number|numéro|nummer|número)\b[\s.:]{{0,3}})?$",
    re.IGNORECASE,
)
"""What stands before a number whose digits may be grouped anyhow, if a numbering plan has it."""
_PHONE_LABEL = re.compile(
    rf"(?:\b(?:{_WORD}|desk|office)(?:[ ](?:no|nr|number|numéro|nummer|número))?[.]?:\s{{0,3}}"
    r"|\b(?:call|calling|reach|text|contact|answering)(?:[ ](?:me|us|him|her|them))?[ ](?:at|on)[ ]"
    r"|\b(?:can|please|to|or|just)[ ]call[ ]|[☎📞📱✆]\s{0,2})$",
    re.IGNORECASE,
)
"""What stands before digits that are a phone number though no plan of `regions` has it."""
_LABEL_BEHIND = re.compile(r"(?:[ ]?[-–(]|,)?[ ]?(?:tel|telephone|fax|mobile|cell)\b", re.IGNORECASE)
"""What stands behind such digits."""
_OTHER_DIGITS = re.compile(
    r"(?:19|20)\d\d[ ]?-[ ]?(?:(?:19|20)\d\d|\d\d-\d\d)|\d{1,2}[.-]\d{1,2}[.-](?:19|20)\d\d|\d{1,3}(?:\.\d{1,3}){3}"
)
"""A range of years, a date or an IP address: no number, whatever stands before it."""

_CARD = re.compile(
    r"(?<![\w.,+=/#-])(?:\d{4}([ -]?)\d{4}\1\d{4}\1\d{4}|3[47]\d{2}([ -]?)\d{6}\2\d{5}|3[068]\d{2}([ -]?)\d{6}\3\d{4})"
    r"(?![\w-]|[.,]\d| \d{4}(?!\d))"
)
_ISSUER = re.compile(
    r"(?:4\d{15}|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|6(?:011|5\d\d|4[4-9]\d)\d{12}"
    r"|35(?:2[89]|[3-8]\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}|62\d{14})"
)
"""Issuers by their first digits: Visa, Mastercard, American Express, Discover, JCB, Diners Club, UnionPay."""
_NAMED_CARD = re.compile(r"(?<![\w.,+=/#-])[1-9](?>(?:[ -]?\d){11,18})(?![\w-]|[.,]\d)")
_CARD_WORD = re.compile(
    r"\b(?:cards?|cc|visa|mastercard|maestro|amex|karte|kreditkarte|carte|tarjeta|carta|cartão)\b[^\d\n]{0,20}$",
    re.IGNORECASE,
)
"""What stands before the number of a card of any length (12 to 19 digits, ISO/IEC 7812) and issuer."""
_IBAN = re.compile(
    r"[A-Z](?<!\w[A-Z])[A-Z]\d{2}(?>(?:[ \u00a0]?[A-Z0-9]{4}){2,7})(?:[ \u00a0]?[A-Z0-9]{1,3}+)?(?!\w)"
)
_SMALL_IBAN = re.compile(r"\d(?<=(?<!\w)[a-z][a-z]\d)\d[a-z0-9]{11,30}+(?!\w)")
"""Digits and letters of an IBAN in small letters, which is written in one piece."""
_DIGITS = re.compile(r"\d")
_SEEN_BEHIND = 8
_CONTEXT = 24
"""Characters before a number in which a word says what it is."""


def emails(text: str) -> Iterator[Occurrence]:
    """Yield the e-mail addresses."""
    if "@" not in text:
        return
    for host in _AT.finditer(text):
        start = host.start()
        before = _LOCAL.match(text[max(0, start - 65) : start][::-1])
        if before is None or len(before[0]) > 64:
            continue
        local = before[0][::-1].lstrip(".-'/=*`|{~#&?!+%^")
        domain = f"{host[1]}{host[2]}"
        preceded = text[start - len(local) - 1 : start - len(local)]
        if not local or local.endswith(".") or _is_part(preceded, text, start - len(local)):
            continue
        if (
            host[2].lower() not in top_level_domains()
            or RESERVED_HOSTS.search(domain)
            or _SCP.match(text, host.end())
        ):
            continue
        yield Occurrence(start - len(local), host.end(), "email", f"{local}@{domain}".lower())


def _is_part(preceded: str, text: str, start: int) -> bool:
    """Return whether what looks like a local part is a user or a password of a URL, or belongs to `@name@host`."""
    if preceded == ":":
        return "://" in text[max(0, start - 80) : start].rpartition(" ")[2]
    return preceded == "@" or text[max(0, start - 2) : start] == "//"


def number_runs(text: str) -> list[tuple[int, int]]:
    """Return the places of all runs of digits and of characters that stand between digits."""
    return [found.span() for found in _RUN.finditer(text)]


def _within(pattern: re.Pattern[str], text: str, runs: Iterable[tuple[int, int]]) -> Iterator[re.Match[str]]:
    """Yield the matches that begin in `runs`. A pattern sees a few characters behind the run."""
    for start, end in runs:
        for found in pattern.finditer(text, start, end + _SEEN_BEHIND):
            if found.start() < end:
                yield found


def ip_addresses(text: str, runs: Iterable[tuple[int, int]]) -> Iterator[Occurrence]:
    """Yield the public IP addresses of versions 4 and 6."""
    if text.count(".") >= 3:
        for found in _within(_IPV4, text, runs):
            before = text[max(0, found.start() - _CONTEXT) : found.start()]
            if _is_public(found[0]) and not _is_version(found[0], before):
                yield Occurrence(found.start(), found.end(), "ip", found[0])
    if "::" in text or text.count(":") >= 7:
        for found in _IPV6.finditer(text):
            if (address := _version_6(found[0])) is not None:
                yield Occurrence(found.start(), found.end(), "ip", str(address))


def _is_version(written: str, before: str) -> bool:
    """Return whether a dotted number is rather a version or a section, by the word before it or by its small numbers.

    Of all addresses 0.3 % have such small numbers; most releases of the Linux kernel before 3.0 (2.6.14.2) have.
    """
    if _VERSION.search(before):
        return True
    first, second, third, _ = map(int, written.split("."))
    return first < 20 and second < 20 and third < 100 and not _ADDRESS_WORD.search(before)


def _is_public(written: str) -> bool:
    try:
        address = ipaddress.IPv4Address(written)
    except ValueError:
        return False
    return not (is_special(address) or address.is_multicast) and not written.endswith(".0.0.0")


def _version_6(written: str) -> ipaddress.IPv6Address | None:
    try:
        address = ipaddress.IPv6Address(written)
    except ValueError:
        return None
    return None if is_special(address) else address


def phones(text: str, runs: Iterable[tuple[int, int]], regions: tuple[str, ...]) -> Iterator[Occurrence]:
    """Yield phone numbers: with a country code, or as they are written within one of `regions` (ISO 3166).

    A national number counts if its digits are grouped as its country groups them, or if a word such as `tel` stands
    before it. Behind a label such as `Phone:` any 7 to 15 digits count, and their value is the digits alone.
    """
    for found in _within(_PHONE, text, runs):
        kind, start = str(found.lastgroup), found.start()
        written = found[0]
        if written[0] == "(" and ")" not in written:
            written, start = written[1:], start + 1
        if written[-1] == ")" and "(" not in written:
            written = written[:-1]
        main = _EXTENSION.split(written)[0].rstrip()
        digits = "".join(_DIGITS.findall(main))
        if not 7 <= len(digits) <= 15 or _OTHER_DIGITS.fullmatch(main):
            continue
        before = text[max(0, start - _CONTEXT) : start]
        strong = _PHONE_WORD.search(before) is not None
        number = (
            _planned(written, kind, regions, is_free=strong) if strong or kind != "named" else None
        ) or (digits if _is_labelled(written, before, text, start + len(written)) else None)
        if number is not None:
            yield Occurrence(start, start + len(written), "phone", number)


def _planned(written: str, kind: str, regions: tuple[str, ...], *, is_free: bool) -> str | None:
    """Return a number as the first plan that has it writes it in E.164, or None."""
    is_free = is_free or kind == "international"
    numbers = (
        _phone_number(written, region, is_free=is_free)
        for region in (("",) if kind == "international" else regions)
    )
    return next((number for number in numbers if number is not None), None)


def _is_labelled(written: str, before: str, text: str, end: int) -> bool:
    """Return whether the text itself, before these digits or behind their `end`, says that they are a phone number."""
    return (
        bool(_PHONE_LABEL.search(before) or _LABEL_BEHIND.match(text, end))
        and not written.startswith(RESERVED_COUNTRY)
        and not before.endswith(f"{RESERVED_IBAN} ")
    )


def _phone_number(written: str, region: str, *, is_free: bool) -> str | None:
    """Return a number in E.164, or None if no numbering plan has it. `is_free`: its digits may be grouped anyhow."""
    import phonenumbers  # noqa: PLC0415 - an extra; its tables take 0.1 s

    try:
        number = phonenumbers.parse(written, region or None)
    except phonenumbers.NumberParseException:
        return None
    if not phonenumbers.is_valid_number(number):
        return None
    if not is_free:
        usual = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.NATIONAL)
        if re.findall(r"\d+", usual) != re.findall(r"\d+", written.removeprefix("1").lstrip(" .-")):
            return None
    return str(phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164))


def cards(text: str, runs: Iterable[tuple[int, int]]) -> Iterator[Occurrence]:
    """Yield the numbers of payment cards: of the large issuers, and of all behind a word such as `card`."""
    from stdnum import luhn  # noqa: PLC0415 - an extra

    runs = list(runs)
    for found in _within(_NAMED_CARD, text, runs):
        digits = "".join(_DIGITS.findall(found[0]))
        before = text[max(0, found.start() - _CONTEXT) : found.start()]
        if len(set(digits)) > 2 and luhn.is_valid(digits) and _CARD_WORD.search(before):
            yield Occurrence(found.start(), found.end(), "card", digits)
    for found in _within(_CARD, text, runs):
        digits = "".join(_DIGITS.findall(found[0]))
        if _ISSUER.fullmatch(digits) and len(set(digits)) > 2 and luhn.is_valid(digits):
            yield Occurrence(found.start(), found.end(), "card", digits)


def ibans(text: str) -> Iterator[Occurrence]:
    """Yield the IBANs, with spaces between their groups or without."""
    from stdnum import iban  # noqa: PLC0415 - an extra

    for found in _IBAN.finditer(text):
        written = found[0]
        # The word after an IBAN may look like its last group: groups are cut off until the check digits are right.
        while len(written) >= 15:
            if iban.is_valid(written.replace("\u00a0", " "), check_country=False):
                yield Occurrence(found.start(), found.start() + len(written), "iban", iban.compact(written))
                break
            written, _, _ = written.replace("\u00a0", " ").rpartition(" ")
    for found in _SMALL_IBAN.finditer(text):
        start = found.start() - 2
        if iban.is_valid(text[start : found.end()], check_country=False):
            yield Occurrence(start, found.end(), "iban", iban.compact(text[start : found.end()]))
