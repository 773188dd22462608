"""`host_name`: the name of a host, as settings have it."""

from thresher.core import InputError
from thresher.frontier.urls.canonical import InvalidUrl, canonicalize


def host_name(name: str, key: str) -> str:
    """Return the name of a table of `key` as URLs have it: in lower case, and in ASCII. Raise `InputError` if it is no
    name of a host.
    """
    try:
        url = None if ":" in name else canonicalize(f"http://{name}/")
    except InvalidUrl:
        url = None
    if url is None or url.text != f"http://{url.host}/":
        raise InputError(f'{key}."{name}" is no host name; write such as "shop.example.org", without a port')
    return url.host
