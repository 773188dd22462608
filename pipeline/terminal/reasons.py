"""Descriptions of reason codes.

Programs and `--reason` use the code. People read the description. A code without a description is shown as it is.
"""

from collections.abc import Mapping
from http import HTTPStatus

DESCRIPTIONS: Mapping[str, str] = {
    # No response arrived.
    "dns": "the host name has no address",
    "dns_timeout": "no name server answered",
    "refused": "connection refused",
    "unreachable": "no route to the host",
    "connect": "no connection",
    "reset": "connection broken",
    "timeout": "no answer in time",
    "timeout_connect": "no connection in time",
    "timeout_tls": "no end of the TLS handshake in time",
    "timeout_first_byte": "no first byte of an answer in time",
    "tls": "TLS failed, or certificate not trusted",
    "tls_expired": "certificate expired or not yet valid",
    "tls_self_signed": "certificate not trusted",
    "tls_wrong_host": "certificate of another host",
    "protocol": "the answer is not HTTP",
    "proxy": "the proxy failed",
    # The response was not the page.
    "block_page": "a block page: captcha or denial",
    "soft_404": "a page that says that it does not exist",
    "login_page": "a page that asks to log in",
    "no_links": "it holds `<a` with an address, and no link was found",
    "unrendered": "it says little, has scripts, and was not rendered",
    "truncated_disconnect": "the connection ended before the page",
    "truncated_length": "longer than crawler.max_body",
    "truncated_time": "not whole in time",
    "truncated_unspecified": "not whole",
    "render_crash": "the browser crashed",
    "render_memory": "it takes the browser more memory than it may have",
    "render_timeout": "the browser did not end in time",
    "behaviours_cut": "it goes on after the bounds of behaviours",
    "sitemap_too_long": "more entries than are read of a sitemap",
    # Redirects that lead nowhere.
    "no_location": "a redirect without address",
    "bad_location": "a redirect to an invalid URL",
    "to_itself": "a redirect to itself",
    "out_of_scope": "a redirect out of the crawl's scope",
    "too_many_hops": "too many redirects in a row",
    # Rules of a robots.txt.
    "allow": "nothing is forbidden",
    "rules": "rules",
    "disallow": "everything is forbidden",
    # Not requested.
    "robots": "forbidden by robots.txt",
    "robots_unreachable": "robots.txt cannot be fetched",
    "address_blocked": "private address, not in crawler.allow_networks",
    "name_blocked": "name of a private network, unknown to the name servers here",
    "port_blocked": "port of a service that is no web server",
    "login_address": "an address that logs in or out, at a host with a session",
    "dropped": "barred with `thresher frontier drop`",
    "trap": "a crawler trap: it leads to nothing new",
    "host_budget": "crawler.max_pages_per_host is used up",
    "domain_budget": "crawler.max_pages_per_domain is used up",
    "domain_hosts": "crawler.max_hosts_per_domain is used up",
    # Our own failures, and failures of spiders.
    "no_record": "no valid WARC record can be made of it",
    "parser_crash": "it crashes the parser",
    "reading": "Thresher failed to read it: the traceback is in the crawl log",
    "no_log": "archived, and in no log",
    "lease_expired": "five workers died while they had it",
    "callback_error": "the spider's callback raised an error",
    "middleware": "the spider's middleware dropped it",
    "middleware_error": "the spider's middleware raised an error",
    # Why a host is held.
    "busy": "the server asked to wait",
    "server": "server errors",
    "forbidden": "it refuses every page",
    "login_ended": "its login has ended; make the profile again with `thresher login`",
    "operator": "held with `thresher frontier hold`",
    "address": "waits for the turn of its IP address, for requests of a rendered page, or for the network connection",
}
DEAD_PREFIX = "dead_"
STATUS_PREFIX = "status_"


def describe(reason: str) -> str:
    """Return the description of a reason code, or the code itself if it has none."""
    if reason in DESCRIPTIONS:
        return DESCRIPTIONS[reason]
    if reason.startswith(DEAD_PREFIX):
        return f"host given up: {describe(reason.removeprefix(DEAD_PREFIX))}"
    if reason.startswith(STATUS_PREFIX) and reason.removeprefix(STATUS_PREFIX).isdigit():
        return _status(int(reason.removeprefix(STATUS_PREFIX)))
    return reason


def describe_with_code(reason: str) -> str:
    """Return the description with the code after it, as `--reason` takes it."""
    words = describe(reason)
    return words if words == reason else f"{words} ({reason})"


def counted(reasons: Mapping[str, int]) -> str:
    """Return the counts by reason as one text, the largest first."""
    ordered = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{count:,} {reason}" for reason, count in ordered)


def _status(status: int) -> str:
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"
