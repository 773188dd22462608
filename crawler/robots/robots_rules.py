"""`ParsedRobots`: the rules of a robots.txt for one crawler (RFC 9309, section 2). Pure; never raises.

1. Lines end with CR, LF or both; `#` begins a comment. A line is `key: value`. If the colon before a single word is
   missing, it is supplied; misspelt keys that Google's parser knows are read as that parser reads them.
2. A group is one or more user-agent lines and the rules after them; only a rule ends the list of its user agents. All
   groups of our product token are one group; if there is none, the groups of `*` are.
3. The rule with the most octets wins; of two with equal length, Allow. Without a matching rule the path is allowed, and
   /robots.txt always is.
4. Paths and rules are compared octet by octet in one normal form: whatever need not be percent-encoded is decoded,
   everything else is encoded in capitals. `%2F` and `%3F` stay in a path, and become `/` and `?` in a query. `*`
   matches any octets, and `$` at the end of a rule matches the end of the URL.
5. A match takes time linear in the rules and in the URL. `MAX_STEPS` bounds their product: a file that costs more was
   made to be too costly for any reader, and then the URL in question is forbidden.

A Crawl-delay or a Request-rate counts for the user agents named before it in its group; of several the slowest counts.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

MAX_ROBOTS_BYTES = 500 << 10
"""Octets that are read at most (section 2.5). A line that the limit cuts is ignored."""
MAX_LINE_LENGTH = 2083 * 8
"""Octets of a line that are read at most, as in Google's parser: eight times the longest URL of an old browser."""
MAX_STEPS = 4_000_000
"""Octets of URLs that are compared with rules with `*` or `$`, for one decision: some 20 ms."""
MAX_SITEMAPS = 1_000
"""Sitemaps that are taken from one file at most, the first ones."""

_LINE_END = re.compile(r"\r\n?|\n")
_MARKS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_STARS = re.compile(r"\*+")
_TOKEN = re.compile(r"[A-Za-z_-]+")
_DISALLOW = ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw")
_USER_AGENT = ("user-agent", "useragent", "user agent")
_SITEMAP = ("sitemap", "site-map")
_NUMBER = re.compile(r"(?:\d{1,15}(?:\.\d{0,15})?|\.\d{1,15})(?:[eE]\d{1,2})?", re.ASCII)
_RATE = re.compile(r"(\d{1,9})\s*/\s*(\d{1,9})\s*([smhd]?)", re.IGNORECASE | re.ASCII)
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}

_FORMS = {(False, False): "d", (False, True): "D", (True, False): "a", (True, True): "A"}
"""The first character of a line of `ParsedRobots.patterns`, by whether the rule allows, and whether it ended with `$`.
The parts follow, with `*` between them. In normal form neither `*` nor a line break stands for itself.
"""
_ALLOWS, _ANCHORED = "aA", "DA"
_OVERHEAD = 60
"""Bytes of an object besides its text."""
_MAX_DELAY_S = 1e9

# RFC 3986, sections 2.2 and 2.3, without `#`, which ends a URL, and without `*`, which has a meaning in rules.
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:@!$&'()+,;=[]")
_NORMAL = re.compile(r"[A-Za-z0-9\-._~:@!$&'()+,;=\[\]/?]*")
_TO_CHANGE = re.compile(r"%([0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~:@!$&'()+,;=\[\]/?]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRobots:
    """The rules, delay and sitemaps of a robots.txt for one product token."""

    prefixes: Mapping[str, bool] = field(default_factory=dict)
    """Rules without `*` and `$`: whether paths that begin so are allowed."""
    lengths: tuple[int, ...] = ()
    """Lengths of the prefixes, the longest first."""
    patterns: str = ""
    """All other rules, a line each (`_FORMS`), the one with the most octets first; of equal lengths those that allow
    first. It is one text to save memory, because a file may have fifty thousand rules, and they are kept as long as its
    pages are crawled.
    """
    delay_s: float | None = None
    """Seconds between two requests; None if the file asks for no delay."""
    sitemaps: tuple[str, ...] = ()
    """As written; they apply to every crawler."""

    def allows(self, target: str) -> bool:
        """Return whether a URL's path and query may be fetched (without fragment; `/` if empty)."""
        path = normalize_path(target)
        if path == "/robots.txt":
            return True
        best, allowed = -1, True
        for length in self.lengths:
            if length <= len(path) and (found := self.prefixes.get(path[:length])) is not None:
                best, allowed = length, found
                break
        steps = 0
        for pattern in self.patterns.split("\n") if self.patterns else ():
            octets = _octets(pattern)
            if octets < best or (octets == best and allowed):
                break
            steps += len(path)
            if steps > MAX_STEPS:
                return False
            if _matches(pattern, path):
                return pattern[0] in _ALLOWS or (octets == best and allowed)
        return allowed

    @property
    def size(self) -> int:
        """Bytes of memory that the rules take, roughly."""
        return (
            len(self.patterns)
            + sum(map(len, self.sitemaps))
            + sum(map(len, self.prefixes))
            + _OVERHEAD * (len(self.prefixes) + len(self.sitemaps) + 16)
        )

    def body(self, product: str) -> bytes:
        """Return a robots.txt that has the same rules for `product`, and nothing else."""
        lines = [f"user-agent: {product}"]
        lines += [
            f"{'allow' if allow else 'disallow'}: {_unanchored(prefix)}"
            for prefix, allow in self.prefixes.items()
        ]
        for pattern in self.patterns.split("\n") if self.patterns else ():
            verb = "allow" if pattern[0] in _ALLOWS else "disallow"
            rule = f"{pattern[1:]}$" if pattern[0] in _ANCHORED else _unanchored(pattern[1:])
            lines.append(f"{verb}: {rule}")
        if self.delay_s is not None:
            lines.append(f"crawl-delay: {min(self.delay_s, _MAX_DELAY_S):.9f}")
        lines += [f"sitemap: {each}" for each in self.sitemaps]
        return "".join(f"{line}\n" for line in lines).encode()


@dataclass(slots=True)
class _Group:
    """The rules for one kind of user agent, in the file's order."""

    prefixes: dict[str, bool] = field(default_factory=dict)
    patterns: dict[str, None] = field(default_factory=dict)
    delay_s: float | None = None

    def rule(self, written: str, *, allow: bool) -> None:
        anchored = written.endswith("$")
        parts = _parts(written[:-1] if anchored else written)
        if len(parts) == 1 and not anchored:
            self.prefixes[parts[0]] = allow or self.prefixes.get(parts[0], False)
            return
        self.patterns[_FORMS[allow, anchored] + "*".join(parts)] = None

    def set_delay(self, delay_s: float) -> None:
        self.delay_s = max(delay_s, self.delay_s or 0.0)


@dataclass(slots=True, kw_only=True)
class _Groups:
    """The groups as far as they are read."""

    product: str
    ours: _Group | None = None
    """None until a group names our product token."""
    everybody: _Group = field(default_factory=_Group)
    _current: list[_Group] = field(default_factory=list)
    _open: bool = True
    """Whether the current group takes more user agents."""

    def user_agent(self, value: str) -> None:
        if not self._open:
            self._current, self._open = [], True
        token = _TOKEN.match(value)
        if value == "*" or value[:2] in {"* ", "*\t"}:
            self._join(self.everybody)
        elif token is not None and token[0].lower() == self.product:
            self.ours = self.ours or _Group()
            self._join(self.ours)

    def _join(self, group: _Group) -> None:
        # A file may repeat a user agent on each of its lines; its rules are still read once.
        if not any(group is each for each in self._current):
            self._current.append(group)

    def rule(self, value: str, *, allow: bool) -> None:
        self._open = False
        for group in self._current if value else ():
            group.rule(value, allow=allow)

    def set_delay(self, delay_s: float) -> None:
        for group in self._current:
            group.set_delay(delay_s)


def parse_rules(body: bytes, product: str) -> ParsedRobots:
    """Return the rules of a robots.txt, whatever its bytes are, for a product token."""
    groups = _Groups(product=product.lower())
    sitemaps: dict[str, None] = {}
    for key, value in _lines(body):
        if key.startswith(_USER_AGENT):
            groups.user_agent(value)
        elif key.startswith(("allow", *_DISALLOW)):
            groups.rule(value, allow=key.startswith("allow"))
        elif key.startswith(_SITEMAP):
            if value and len(sitemaps) < MAX_SITEMAPS:
                sitemaps[value.encode("latin-1").decode("utf-8", "replace")] = None
        elif (delay_s := _delay_s(key, value)) is not None:
            groups.set_delay(delay_s)
    group = groups.everybody if groups.ours is None else groups.ours
    return ParsedRobots(
        prefixes=group.prefixes,
        lengths=tuple(sorted(set(map(len, group.prefixes)), reverse=True)),
        patterns="\n".join(sorted(group.patterns, key=lambda each: (-_octets(each), each[0] not in _ALLOWS))),
        delay_s=group.delay_s,
        sitemaps=tuple(sitemaps),
    )


def _unanchored(rule: str) -> str:
    """Return a rule whose last `$`, if any, is no anchor."""
    return f"{rule[:-1]}%24" if rule.endswith("$") else rule


def _octets(pattern: str) -> int:
    return len(pattern) - (pattern[0] not in _ANCHORED)


def _matches(pattern: str, path: str) -> bool:
    """Return whether a rule matches a path in normal form. From left to right, each part takes the first place."""
    first, *rest = pattern[1:].split("*")
    if not path.startswith(first):
        return False
    at, anchored = len(first), pattern[0] in _ANCHORED
    if not rest:
        return at == len(path) or not anchored
    *between, last = rest
    for part in between:
        found = path.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    if anchored:
        return len(path) - at >= len(last) and path.endswith(last)
    return path.find(last, at) >= 0


def whole_lines(body: bytes, *, cut: bool = False) -> bytes:
    """Return the octets of a robots.txt that are read: at most `MAX_ROBOTS_BYTES`, without a line that is cut there, or
    that was cut before.
    """
    if len(body) > MAX_ROBOTS_BYTES:
        cut = body[MAX_ROBOTS_BYTES] not in b"\r\n"
        body = body[:MAX_ROBOTS_BYTES]
    return body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1] if cut else body


def request_path(wire: str) -> str:
    """Return the path and query of an absolute URL without fragment, its octets as latin-1."""
    rest = wire.partition("://")[2]
    path = rest[min((at for at in (rest.find("/"), rest.find("?")) if at >= 0), default=len(rest)) :]
    return (path if path.startswith("/") else f"/{path}").encode().decode("latin-1")


def normalize_path(text: str, *, query: bool = False) -> str:
    """Return the normal form of a path and query; of a query alone if `query` is true."""
    if _NORMAL.fullmatch(text) is not None:
        return text
    path, mark, rest = ("", "", text) if query else text.partition("?")
    return _TO_CHANGE.sub(_in_path, path) + mark + _TO_CHANGE.sub(_in_query, rest)


def _parts(written: str) -> tuple[str, ...]:
    """Return the parts of a rule between its `*`s, in normal form."""
    parts = []
    query = False
    for part in _STARS.split(written):
        parts.append(normalize_path(part, query=query))
        query = query or "?" in part
    return tuple(parts)


def _in_path(found: re.Match[str]) -> str:
    octet = ord(found[0]) if found[1] is None else int(found[1], 16)
    return chr(octet) if found[1] is not None and chr(octet) in _PLAIN else f"%{octet:02X}"


def _in_query(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] in {"2F", "2f", "3F", "3f"} else _in_path(found)


def _lines(body: bytes) -> Iterator[tuple[str, str]]:
    """Yield the keys, in lower case, and the values."""
    for line in _LINE_END.split(_text(whole_lines(body))):
        text = line[:MAX_LINE_LENGTH].partition("#")[0].strip(" \t\v\f\0")
        key, colon, value = text.partition(":")
        if not colon:
            words = text.split(None, 1)
            # Google's parser supplies a missing colon only if there are exactly two words.
            if len(words) != 2 or len(words[1].split()) != 1:
                continue
            key, value = words
        yield key.strip().lower(), value.strip(" \t\v\f\0")


def _text(body: bytes) -> str:
    """Return the octets as latin-1; UTF-16 with a byte order mark becomes the octets of UTF-8."""
    for mark, codec in _MARKS:
        if body.startswith(mark):
            body = body[2:].decode(codec, "replace").encode("utf-8", "replace")
            break
    for length in (3, 2, 1):  # the byte order mark of UTF-8, or a part of it
        if body.startswith(b"\xef\xbb\xbf"[:length]):
            body = body[length:]
            break
    # NULs mean nothing; without them UTF-16 without a byte order mark can be read as well. No-break spaces come from
    # text processors and mean spaces.
    return body.decode("latin-1").replace("\0", "").replace("\xc2\xa0", " ")


def _delay_s(key: str, value: str) -> float | None:
    """Return the seconds between two requests that a line asks for; None for any other line."""
    if key in {"crawl-delay", "crawl delay", "crawldelay"}:
        found = _NUMBER.match(value)
        return float(found[0]) if found else None
    if key in {"request-rate", "request rate"} and (rate := _RATE.match(value)) and int(rate[1]):
        return int(rate[2]) * _SECONDS[rate[3].lower()] / int(rate[1])
    return None
