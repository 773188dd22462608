"""Printable forms of server addresses, without parts that may be secret. Pure.

An address holds a password before its last `@`, or in its query. A user who mistypes an address puts the password
elsewhere: in the place of a port, or of a path. So a text that does not read as an address at all is not printed.
"""

import re

_ADDRESS = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*+://(?:[A-Za-z0-9._-]*+|\[[0-9A-Fa-f:.]*+\])(?::\d*+)?(?:/[^\s?#@:]*+)?",
    re.ASCII,
)
_WORD_OR_PATH = re.compile(r"(?:[a-z0-9+]++:)?[\w./-]*+", re.ASCII)
"""A word or a path, perhaps behind a scheme, such as `file:data`."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}+:")
_USERINFO = re.compile(r"(?<=[A-Za-z0-9]:)(?://[^/\s]*@|/(?!/)\S*@)")
"""Credentials in the authority of an address; if a slash is missing, anything before an `@`."""
_SECRET_PARAMETERS = re.compile(
    r"(?i)(?<=[?&;])((?:\w*(?:pass|secret|token)\w*|pwd|auth|signature|x-amz-signature|key|api_?key)=)[^&\s\"']*+",
    re.ASCII,
)


def printable_address(address: str) -> str:
    """Return an address without credentials and query. For a text that cannot be read as an address, return at most its
    scheme and `...`.
    """
    if _WORD_OR_PATH.fullmatch(address):
        return address
    scheme = _SCHEME.match(address)
    if scheme is None:
        return "..."
    _, _, without_userinfo = address[scheme.end() :].removeprefix("//").rpartition("@")
    found = _ADDRESS.fullmatch(f"{scheme[0]}//{without_userinfo.partition('?')[0].partition('#')[0]}")
    has_slashes = address.startswith("//", scheme.end())
    return found[0] if found is not None and has_slashes else f"{scheme[0]}..."


def redact_secrets(text: str) -> str:
    """Return a text without the user, the password and the secret parameters of the addresses in it."""
    return _SECRET_PARAMETERS.sub(r"\1...", _USERINFO.sub("//", text))
