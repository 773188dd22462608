"""`expire_robots_bodies`: which robots.txt files are not kept any longer."""

from collections.abc import Mapping

from thresher.frontier.robots_record import next_review_ms
from thresher.frontier.testing.model.entities import Host, Origin
from thresher.frontier.urls.canonical import host_of


def expire_robots_bodies(
    origins: Mapping[str, Origin], hosts: Mapping[str, Host], now: int, due: int | None = None
) -> None:
    """Forget rules whose review is due at `due`, or now, unless a URL of their host waits or a request is under way.
    The next URL of the host asks for them anew.
    """
    for text, origin in origins.items():
        if not 0 < origin.review_at <= (due or now):
            continue
        host = hosts.get(host_of(text))
        if host is not None and (host.waiting or host.open):
            origin.review_at = next_review_ms(origin.body, now)
        else:
            origin.review_at = origin.expires = 0
            origin.body = b""
