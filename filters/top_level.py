"""The top-level domains that exist."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from thresher.core import Unavailable

_PRIVATE = "===BEGIN PRIVATE DOMAINS==="


@cache
def top_level_domains() -> frozenset[str]:
    """Return the top-level domains of the Public Suffix List that tldextract carries, in lower case; those that are not
    ASCII in both spellings. Raise `Unavailable` if its package is not installed.
    """
    # The file alone is read, because the package imports requests, which takes ten times as long.
    package = find_spec("tldextract")
    if package is None or package.origin is None:
        raise Unavailable(
            "the Public Suffix List is missing: the package tldextract is not installed; install it"
        )
    suffixes, _, _ = (
        Path(package.origin).with_name(".tld_set_snapshot").read_text("utf-8").partition(_PRIVATE)
    )
    lines = (line.strip() for line in suffixes.splitlines() if not line.startswith("//"))
    names = {line.rpartition(".")[2].lower() for line in lines if line}
    return frozenset(names | {name.encode("idna").decode() for name in names if not name.isascii()})
