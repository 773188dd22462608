"""`surt`: the key of a URL in CDX and CDXJ indexes, `com,example)/path?query`.

The key is that of the Python package `surt` 0.3, which pywb, cdxj-indexer, py-wacz and Common Crawl use. A replay tool
looks up the key that it makes of the requested URL, so it does not find the page under any other key. The rules:

1. Scheme, user, password, fragment, default port and a leading `www.` (`www2.`, ...) are left out. The labels of the
   host are reversed, those of an IPv4 address too. A host that is not ASCII becomes punycode; an address in one number
   becomes dotted.
2. Path and query are unescaped until nothing is left to unescape. Then every character but visible ASCII is escaped,
   and so are `#` and `%`.
3. `.`, `..` and empty segments of the path are resolved, and its last slash is left out. The fields of the query are
   sorted.
4. Session ids are left out: those of ASP.NET in paths, those of Java, PHP, ASP and ColdFusion in queries.
5. Everything is lower case, except the scheme of a URL without a host (`urn:`, `dns:`, `file:`), which keeps its case.

The key differs from that package's in one case: for a host of digits and dots that is no address (`http://256.0.0.1/`)
that package asks the name server. This module asks nothing and takes the host as a name.
"""

import re
from contextlib import suppress
from urllib.parse import quote, unquote_to_bytes

URL_PARTS = re.compile(
    r"(?:https?://(?=https?://))*([a-zA-Z][a-zA-Z0-9+.-]*):(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?"
)
"""Scheme, authority, path and query (RFC 3986, appendix B), after the prefix of a mistaken link:
`http://https://...`.
"""
PLAIN_URL = re.compile(
    r"https?://([a-z][a-z0-9-]*+(?:\.[a-z][a-z0-9-]*+)+)((?:/[A-Za-z0-9_~-][A-Za-z0-9_.~-]*+)*)/?"
)
"""A URL in which rules 1 to 4 find nothing but a leading `www.` and a last slash."""
DEFAULT_PORTS = {"http": 80, "https": 443}
MAX_PORT = 65_535
WWW_PREFIX = re.compile(r"www[0-9]*\.")
IPV4_ADDRESS = re.compile(r"[0-9]+|[1-9][0-9]*(?:\.[0-9]+){1,3}|0[0-7]*(?:\.[0-7]+){1,3}")
"""An IPv4 address in decimal and octal numbers, as inet_aton reads it."""
NESTED_PERCENT_ESCAPES = re.compile(r"%(?:25)+")
CHARACTER_TO_ESCAPE = re.compile(r"[^!\"$&-~]")
"""A character that is escaped."""
SAFE_CHARACTERS = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
"""Characters that are not escaped, besides letters and digits."""
PATH_SESSION_IDS = (
    re.compile(r"\A(.*/)\((?>(?:[a-z]\([0-9a-z]{24}\))+)\)/(?=.)"),
    re.compile(r"\A(.*/)\([0-9a-z]{24}\)/(?=.)"),
)
"""Session ids in the lower-case path before the last `.aspx`, with the text before them. Each pattern removes its last
match.
"""
QUERY_SESSION_IDS = (
    re.compile(r"\A(.*)jsessionid=[0-9a-z]{32}(?:&|$)"),
    re.compile(r"\A(.*)phpsessid=[0-9a-z]{32}(?:&|$)"),
    re.compile(r"\A(.*)sid=[0-9a-z]{32}(?:&|$)"),
    re.compile(r"\A(.*)aspsessionid[a-z]{8}=[a-z]{24}(?:&|$)"),
    re.compile(r"\A(.*)cfid=(?>(?:(?!cfid=[^&])[^&])+)&cftoken=[^&]++(?:&|$)"),
)
"""Session ids in the lower-case query, with the text before them. Each pattern removes its last match."""


def surt(url: str) -> str:
    """Return the index key of a URL in visible ASCII, as WARC files have it. The key is visible ASCII without `#`.

    Raise `ValueError` if the port is no number from 0 to 65535.
    """
    if plain := PLAIN_URL.fullmatch(url):
        host, path = plain.groups()
        if www := WWW_PREFIX.match(host):
            host = host[www.end() :]
        return f"{','.join(host.split('.')[::-1])}){path.lower() or '/'}"
    if not url or url.startswith("filedesc"):  # the address of an ARC file's first record
        return url or "-"
    parts = URL_PARTS.match(url) or URL_PARTS.match(f"http://{url}")
    assert parts is not None
    scheme, authority, path, query = parts.groups("")
    host, port = _split_authority(authority)
    if not host and path and scheme.startswith("http"):
        host, _, path = path.lstrip("/").partition("/")
        path = f"/{path}"
    host = _normalize_host(host)
    query = _normalize_query(query)
    if not host:
        path = _normalize_path(_unescape(path))
        return f"{scheme}:{path or ('/' if query else '')}{query}"
    if scheme != "dns" and (www := WWW_PREFIX.match(host)):
        host = host[www.end() :]
    port_suffix = f":{port}" if port and port != DEFAULT_PORTS.get(scheme.lower()) else ""
    path = _normalize_path(_resolve_segments(_unescape(path)))
    return f"{','.join(host.split('.')[::-1])}{port_suffix}){path}{query}"


def _split_authority(authority: str) -> tuple[str, int]:
    """Return the host without the brackets of IPv6, and the port; 0 for none."""
    host_and_port = authority.rpartition("@")[2].rstrip(":")
    if "[" in host_and_port:
        host, _, port = host_and_port.partition("[")[2].partition("]")
        port = port.partition(":")[2]
    else:
        host, _, port = host_and_port.partition(":")
    if not port:
        return host, 0
    if not (port.isdigit() and int(port) <= MAX_PORT):
        raise ValueError(f"{port!r} is no port")
    return host, int(port)


def _normalize_host(host: str) -> str:
    host = _unescape(host)
    if not host.isascii():
        # If IDNA does not allow the name, the bytes of its UTF-8 are escaped below.
        with suppress(ValueError):
            host = host.encode("latin-1").decode(errors="ignore").encode("idna").decode("ascii")
    host = host.replace("..", ".").strip(".")
    return _dotted_ipv4(host) or _escape(host).lower()


def _dotted_ipv4(host: str) -> str:
    """Return an IPv4 address as four numbers; empty for any other host. A single number is taken modulo 2^32."""
    if not IPV4_ADDRESS.fullmatch(host):
        return ""
    *heads, last = host.split(".")
    try:
        leading = [int(number, 8 if number.startswith("0") else 10) for number in heads]
        value = int(last, 8 if heads and last.startswith("0") else 10)
    except ValueError:  # an 8 or 9 in an octal number
        return ""
    if not heads:
        value %= 1 << 32
    if any(number > 255 for number in leading) or value >= 1 << 8 * (4 - len(leading)):
        return ""
    return ".".join(map(str, (*leading, *value.to_bytes(4 - len(leading)))))


def _resolve_segments(path: str) -> str:
    """Return the path without `.`, `..` and empty segments; `..` at the root stays."""
    if "//" not in path and "/." not in path:
        return path or "/"
    kept: list[str] = []
    for segment in path.split("/")[1:]:
        if segment == ".." and kept:
            kept.pop()
        elif segment != ".":
            kept.append(segment)
    *heads, last = kept or [""]
    return "/".join(("", *filter(None, heads), last))


def _normalize_path(path: str) -> str:
    path = _escape(path).lower()
    front, aspx, rest = path.rpartition(".aspx")
    for session in PATH_SESSION_IDS if aspx else ():
        front = session.sub(r"\1", front, count=1)
    path = f"{front}{aspx}{rest}"
    return path[:-1] if len(path) > 1 and path.endswith("/") else path


def _normalize_query(query: str) -> str:
    """Return the query with its question mark; empty if there is none."""
    query = _escape(_unescape(query)).lower()
    if "id" in query:
        for session in QUERY_SESSION_IDS:
            query = session.sub(r"\1", query, count=1)
    if "&" in query:
        fields = sorted(tuple(field.split("=", 1)) for field in query.split("&"))
        query = "&".join(map("=".join, fields))
    return f"?{query}" if query else ""


def _escape(text: str) -> str:
    return quote(text, safe=SAFE_CHARACTERS, encoding="latin-1") if CHARACTER_TO_ESCAPE.search(text) else text


def _unescape(text: str) -> str:
    """Unescape until nothing is left to unescape; each byte is a character (Latin-1)."""
    while "%" in text:
        # Nested escapes would take one round for each level, and a URL can have thousands of levels.
        before, text = text, NESTED_PERCENT_ESCAPES.sub("%", text)
        text = unquote_to_bytes(text.encode("latin-1")).decode("latin-1")
        if text == before:
            break
    return text
