"""`canonicalize`: turn the text that a page or a user wrote into the one text that stands for the page.

Rules, in order:

1. The WHATWG URL parser reads the text as browsers do, relative to `base` if there is one.
2. Only http and https are accepted. User name, password and fragment are dropped.
3. The rest is the `wire` form: the URL that a browser would request.
4. The canonical `text` folds forms that RFC 3986, section 6.2.2 calls equivalent: hexadecimal digits of
   percent-encodings are upper case, encoded unreserved characters are decoded, and characters that browsers leave as
   they are although RFC 3986 allows them nowhere (brackets, `|`, `^` and the back quote) are encoded. It also drops the
   host's final dot.
5. It drops the parts by which a server or an advertiser recognises the visitor: the session identifiers and tracking
   parameters named below. A visitor without them is shown the same page.
6. It drops an empty query and empty parameters: `?`, `?&`, `&&` and a final `&`.
7. Neither form is longer than 2,000 characters, and every host name is one that DNS can carry.

Servers tell the following apart, so they are not folded: `http` and `https`, a name with `www.` and without, `/` and
`/index.html`, a path with its final slash and without, capitals, doubled slashes, `a=` and `a`, `+` and `%20`, a
parameter that stands twice, a `%` that stands alone and `%25`. A page that is found under two of these costs one more
fetch, and its text is found to be a duplicate later; a page that is folded into another page is lost. The order of
parameters stays in the text, and is folded when pages are told apart (`frontier.page_key`).

The canonical form is a fixed point: `canonicalize(url.text).text == url.text`.
"""

import re

import ada_url

from thresher.core import Url

MAX_LENGTH = 2_000
"""Characters; longer URLs are almost always traps or data, and Common Crawl drops them as well."""

_MAX_HOST = 253  # RFC 1035, section 2.3.4, without the root's dot
_MAX_LABEL = 63  # the same
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")  # RFC 3986, 2.3
_HEX = frozenset("0123456789ABCDEFabcdef")

_ENCODED = {ord(character): f"%{ord(character):02X}" for character in "[]|^`"}
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_PATH_SESSION = re.compile(
    r"(?<!/\.)(?<!/\.\.);jsessionid=[^/;]*"  # Jakarta Servlet 6.0, 7.1.3; never after `.` or `..`
    # ASP.NET, cookieless session, authentication, anonymous user; also before a session that goes as well
    r"|/\((?:[AFSX]\([A-Za-z0-9_-]+\))+\)(?=(?:;jsessionid=[^/;]*)*/)",
    re.IGNORECASE,
)
_DROPPED_PARAMETERS = re.compile(
    r"(?:^|(?<=&))(?:"
    # Sessions. A name that other programs use too counts only with a value that these programs make.
    r"(?:jsessionid|phpsessid|aspsessionid[a-z]{8})="  # Servlet; php.ini session.name; Classic ASP (IIS)
    r"|cfid=\d+&cftoken="  # ColdFusion; both or none, as the Internet Archive's canonicaliser has it
    r"|(?:oscsid|zenid|xtcsid)=(?=[0-9a-z]{26,32}(?:&|$))"  # osCommerce, Zen Cart, xt:Commerce
    r"|(?:sid|s)=(?=[0-9a-f]{32}(?:&|$))"  # phpBB; vBulletin
    # Tracking, as the advertisers' and mailers' own manuals name it.
    r"|utm_[a-z_]+=|_gl=|gclid=|gclsrc=|dclid=|gbraid=|wbraid="  # Google Analytics and Ads
    r"|fbclid=|msclkid=|yclid=|twclid=|ttclid=|li_fat_id=|igshid="  # Meta, Microsoft, Yandex, X, TikTok, LinkedIn
    r"|mc_eid=|mc_cid=|mkt_tok=|_hsenc=|_hsmi=|oly_enc_id=|oly_anon_id=|vero_id="  # mailings; Firefox strips them too
    r")[^&]*",
    re.IGNORECASE | re.ASCII,
)


class InvalidUrl(ValueError):
    """The text is no URL that can be crawled; the message is the reason, without the text."""


def canonicalize(raw: str, base: str | None = None) -> Url:
    """Return the canonical form of `raw`, resolved against `base` if that is given.

    Raise `InvalidUrl` with the reason if the text gives no http or https URL.
    """
    try:
        href = _parsed(raw, base)
    except UnicodeEncodeError:
        # Half a surrogate pair is read as U+FFFD (Infra standard, scalar value string).
        return canonicalize(_LONE_SURROGATE.sub("\ufffd", raw), base and _LONE_SURROGATE.sub("\ufffd", base))
    except ValueError as error:
        raise InvalidUrl("not a URL") from error
    scheme, _, rest = href.partition(":")
    if scheme not in {"http", "https"}:
        raise InvalidUrl(f"not http or https but {scheme}")
    authority, slash, path = rest.partition("#")[0][2:].partition("/")
    authority = authority.rpartition("@")[2]
    wire = f"{scheme}://{authority}{slash}{path}"
    if len(wire) > MAX_LENGTH:
        raise InvalidUrl(f"longer than {MAX_LENGTH:,} characters")
    text = f"{scheme}://{_authority(authority)}{slash}{_fold(path)}"
    if len(text) > MAX_LENGTH:
        raise InvalidUrl(f"longer than {MAX_LENGTH:,} characters")
    return url_from_canonical(text, text if text == wire else wire)


def _parsed(raw: str, base: str | None) -> str:
    return str(ada_url.URL(raw, base=base).href if base is not None else ada_url.URL(raw).href)


def url_from_canonical(text: str, wire: str) -> Url:
    """Return the `Url` of a canonical text and its wire form, without parsing either."""
    origin = text[: text.index("/", len("https://"))]
    return Url(text=text, wire=wire, host=host_of(origin), origin=origin)


def host_of(origin: str) -> str:
    """Return the host name of `scheme://host[:port]`; an IPv6 address keeps its brackets."""
    authority = origin.partition("://")[2]
    host, colon, port = authority.rpartition(":")
    return host if colon and not port.endswith("]") else authority


def _authority(authority: str) -> str:
    if authority.startswith("["):
        return authority
    host, colon, port = authority.partition(":")
    host = host.removesuffix(".")
    labels = host.split(".")
    if "" in labels:
        raise InvalidUrl("host name with an empty label")
    if len(host) > _MAX_HOST or max(map(len, labels)) > _MAX_LABEL:
        raise InvalidUrl("host name longer than DNS allows")
    return host + colon + port


def _fold(path: str) -> str:
    if "%" in path:
        path = _ESCAPE.sub(_unescape, path)
    if "[" in path or "]" in path or "|" in path or "^" in path or "`" in path:
        path = path.translate(_ENCODED)
    path, mark, query = path.partition("?")
    if ";" in path or "(" in path:
        path = _PATH_SESSION.sub("", f"/{path}")[1:]
    if not mark:
        return path
    if "=" in query:
        query = _DROPPED_PARAMETERS.sub("", query)
    if query[:1] == "&" or query[-1:] == "&" or "&&" in query:
        query = "&".join(filter(None, query.split("&")))
    return f"{path}?{query}" if query else path


def _unescape(match: re.Match[str]) -> str:
    escape = match.group()
    character = chr(int(escape[1:], 16))
    if character not in _UNRESERVED or _after_stray_percent(match.string, match.start()):
        return escape.upper()
    return character


def _after_stray_percent(text: str, at: int) -> bool:
    """Return whether decoding here would complete a `%` that stands alone: `%%341` is not `%41`."""
    return text[at - 1 : at] == "%" or (text[at - 2 : at - 1] == "%" and text[at - 1] in _HEX)
