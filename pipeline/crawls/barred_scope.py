"""`barred_scope`, `registered_name`: the scopes and domains that an operator types, checked. Pure.

A scope that can match no URL is refused: it would bar nothing, and the operator would believe that it does.
"""

from thresher.core import InputError
from thresher.frontier import InvalidUrl, Scope, canonicalize
from thresher.frontier.urls.scope import registered_domain


def barred_scope(text: str) -> Scope:
    """Return the scope `domain:NAME`, `host:NAME` or `prefix:URL` with its anchor in canonical form. Raise `InputError`
    if no URL can be in it.
    """
    scope = Scope.parse(text)
    match scope.kind:
        case "any":
            raise InputError(f"{text}: bars every page; write domain:NAME, host:NAME or prefix:URL")
        case "domain":
            return Scope(kind="domain", anchor=registered_name(scope.anchor, text))
        case "host":
            return Scope(kind="host", anchor=_host(scope.anchor, text))
        case "prefix":
            try:
                return Scope(kind="prefix", anchor=canonicalize(scope.anchor).text)
            except InvalidUrl as error:
                raise InputError(
                    f"{text}: no page has a URL that begins so ({error}); write the beginning of a URL, such as"
                    " prefix:https://example.org/forum/"
                ) from None


def registered_name(name: str, typed: str) -> str:
    """Return a registered domain in canonical form. Raise `InputError`, which begins with what was typed, if the name
    is none.
    """
    host = _host(name, typed)
    domain = registered_domain(host)
    if domain != host:
        raise InputError(
            f"{typed}: {host} belongs to the registered domain {domain}; write {domain} or host:{host}"
        )
    return host


def _host(name: str, typed: str) -> str:
    try:
        url = canonicalize(f"http://{name}/")
    except InvalidUrl as error:
        raise InputError(f"{typed}: {name!r} is no host name ({error})") from None
    if url.text != f"http://{url.host}/" or any(letter in name for letter in "/@*"):
        raise InputError(
            f"{typed}: give the name of a host alone, such as www.example.org, and no URL or pattern"
        )
    return url.host
