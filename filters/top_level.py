"""The top-level domains that exist."""

from functools import cache


@cache
def top_level_domains() -> frozenset[str]:
    """Return the top-level domains of the Public Suffix List that tldextract carries, in lower case; those that are not
    ASCII in both spellings.
    """
    import tldextract  # noqa: PLC0415 - it imports requests

    extract = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
    names = {suffix.rpartition(".")[2].lower() for suffix in extract.tlds}
    return frozenset(names | {name.encode("idna").decode() for name in names if not name.isascii()})
