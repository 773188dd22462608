"""`Session`: what all requests under one login carry: its cookies, its user agent, its proxy.

1. A session is for one host and the hosts under it. No request to another host carries anything of it.
2. Its cookies go where their domain, path and `Secure` allow it, as `crawler.wire.cookies` says. What the host sets
   replaces them, in this process.
3. The caller names the session of each request: a request without one has no part of any session.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from thresher.core import Url
from thresher.crawler.wire.cookies import Cookie, CookieJar
from thresher.crawler.wire.http.request import HeaderList, Target
from thresher.crawler.wire.login_address import is_login_address
from thresher.crawler.wire.network.proxy import Proxy


class Session:
    """The login of one profile at one host."""

    def __init__(  # noqa: PLR0913 - everything that a session binds together
        self,
        *,
        profile: str,
        host: str,
        cookies: CookieJar,
        user_agent: str = "",
        proxy: Proxy | None = None,
        origins: Sequence[Mapping[str, Any]] = (),
        login_pages: frozenset[str] = frozenset(),
    ) -> None:
        """`user_agent` and `proxy` are the client's if they are not set. `origins` is the storage of the host's pages,
        in the form of Playwright's storage state. `login_pages` are addresses of the login page, as `page_of` of
        `crawler.wire.login_address` returns them.
        """
        self.profile, self.host = profile, host
        self.cookies, self.user_agent, self.proxy = cookies, user_agent, proxy
        self._origins, self._login_pages = origins, login_pages

    def covers(self, host: str) -> bool:
        """Return whether requests to a host may be under this session."""
        return host == self.host or host.endswith(f".{self.host}")

    def bars(self, url: Url) -> bool:
        """Return whether a URL is not requested under this session, because it would log in or out."""
        return self.covers(url.host) and is_login_address(url, self._login_pages)

    def request_headers(self, target: Target, headers: HeaderList) -> list[tuple[str, str]]:
        """Return the headers of a caller, with one Cookie header of the session. A browser may have cookies that its
        scripts have set; of two cookies of one name, the session's counts.
        """
        ours = self.cookies.header(target)
        names = {pair.partition("=")[0] for pair in ours.split("; ")}
        theirs = (value for name, value in headers if name.lower() == "cookie")
        added = [
            pair for value in theirs for pair in value.split("; ") if pair.partition("=")[0] not in names
        ]
        others = [each for each in headers if each[0].lower() != "cookie"]
        cookie = "; ".join([*([ours] if ours else []), *added])
        return [*others, *([("Cookie", cookie)] if cookie else [])]

    def browser_state(self) -> Any:
        """Return the session as Playwright's storage state."""
        return {"cookies": [_playwright_cookie(one) for one in self.cookies], "origins": list(self._origins)}

    def __repr__(self) -> str:
        return f"<session {self.profile} at {self.host}>"


def _playwright_cookie(cookie: Cookie) -> dict[str, Any]:
    return {
        "name": cookie.name,
        "value": cookie.value.encode("latin-1", "replace").decode(errors="replace"),
        "domain": cookie.domain if cookie.only_host else f".{cookie.domain}",
        "path": cookie.path,
        "expires": -1 if cookie.expires_at is None else cookie.expires_at,
        "httpOnly": cookie.http_only,
        "secure": cookie.secure,
        "sameSite": "Lax",
    }
