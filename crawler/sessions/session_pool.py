"""`SessionPool`: the sessions of one worker: which request is under which, and what happens when a login ends.

1. A host is under the session of the longest configured name that it is or lies under.
2. Of several profiles the first is used. It is retired when its login has ended (`crawler.sessions.login_end`), and, if
   there is another one, when the host blocks it: a page of a bot protection, or `MAX_FORBIDDEN` times 403 in a row. A
   429 retires none: a host that asks to wait means whoever asks it.
3. If no profile is left, the host pauses: each of its pages goes back to the frontier, no request counts, and the host
   is held for `HOLD_MS`. A retired profile is read again once its file has changed, so a new `thresher login` goes on
   there when the hold ends, or at once after `thresher frontier resume`.
4. The worker says once for each profile that its login has ended, with the sign, and without a value of the profile.
"""

import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from thresher.core import Capture, InputError, Url
from thresher.crawler.reading.page_response import HTTP_FORBIDDEN
from thresher.crawler.reading.rendered_page import RenderedPage
from thresher.crawler.sessions.login_end import EndSigns, end_signs, page_html
from thresher.crawler.sessions.profile import SESSION_COOKIE, Profile
from thresher.crawler.sessions.profile_file import read_profile
from thresher.crawler.sessions.profile_key import read_key
from thresher.crawler.sessions.session_settings import LOGIN_ENDED, HostLogin
from thresher.crawler.wire import Postponement
from thresher.crawler.wire.cookies import Cookie, CookieJar
from thresher.crawler.wire.network.proxy import parse_proxy
from thresher.crawler.wire.session import Session
from thresher.extract.soft_error import detect_soft_error

LOGGER = logging.getLogger(__name__)
HOLD_MS = 3_600_000
"""Milliseconds for which a host is held whose login has ended; after them the profile is looked at again."""
MAX_FORBIDDEN = 3
"""Answers with 403 in a row that retire a profile, as in crawlee: a single page may be forbidden to everybody."""
Hold = Callable[[str, int, str], Awaitable[object]]
"""Holds a host for so many milliseconds, for a reason (`Operator.hold`)."""


@dataclass(slots=True, kw_only=True)
class _Login:
    """One profile at one host."""

    path: Path
    changed_ns: int
    session: Session
    signs: EndSigns
    is_retired: bool = False
    forbidden: int = 0
    """Answers with 403 in a row."""


class SessionPool:
    """The sessions of one worker."""

    def __init__(
        self,
        logins: Sequence[HostLogin],
        *,
        hold: Hold,
        clock: Callable[[], float],
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """Read the profiles. `clock` returns the seconds since the epoch. Raise `InputError` if a profile or the key is
        missing or of no use.
        """
        self._hosts = {each.host: each for each in sorted(logins, key=lambda each: -len(each.host))}
        self._hold, self._clock = hold, clock
        self._key = read_key(environment)
        self._by_session: dict[Session, _Login] = {}
        self._logins = {
            host: [self._open(login, path) for path in login.profiles] for host, login in self._hosts.items()
        }

    def has_session(self, host: str) -> bool:
        """Return whether requests to a host are under a session, or else not sent."""
        return self._login_host(host) is not None

    def session(self, host: str) -> Session | None:
        """Return the session for a host; None if all its profiles are retired."""
        name = self._login_host(host)
        if name is None:
            return None
        logins = self._logins[name]
        for at, login in enumerate(logins):
            if login.is_retired and _changed_ns(login.path) != login.changed_ns:
                logins[at] = self._reopened(login)
            if not logins[at].is_retired:
                return logins[at].session
        return None

    def is_barred(self, url: Url) -> bool:
        """Return whether a URL is not requested, because it would log in or out."""
        name = self._login_host(url.host)
        return name is not None and any(login.session.bars(url) for login in self._logins[name])

    async def checked(self, session: Session, capture: Capture) -> Capture | Postponement:
        """Return a response, or a postponement in its place if it shows that the login of its session has ended: the
        host pauses then, unless another profile takes over. A response of a host that blocks the session retires it.
        """
        login, html = self._by_session[session], page_html(capture)
        if sign := login.signs.in_head(capture) or login.signs.in_page(html):
            return await self._end(login, capture.url.host, sign)
        login.forbidden = login.forbidden + 1 if capture.status == HTTP_FORBIDDEN else 0
        if login.forbidden >= MAX_FORBIDDEN or detect_soft_error(capture.header, html) == "block_page":
            self._retire_blocked(login)
        return capture

    async def checked_page(
        self, session: Session, capture: Capture, page: RenderedPage
    ) -> Capture | Postponement:
        """Return the response to a page, or a postponement if the rendered page shows the end of its login."""
        signs = self._by_session[session].signs
        if sign := signs.among(page.report.navigations, capture.url.wire) or signs.in_page(page.html):
            return await self._end(self._by_session[session], capture.url.host, sign)
        return capture

    async def pause(self, host: str) -> None:
        """Hold a host none of whose profiles is left."""
        await self._hold(host, HOLD_MS, LOGIN_ENDED)

    def _retire_blocked(self, login: _Login) -> None:
        """Retire a profile that its host blocks, if another one is left."""
        session = login.session
        others = [one for one in self._logins[session.host] if one is not login and not one.is_retired]
        if others and not login.is_retired:
            login.is_retired = True
            LOGGER.warning(
                "%s blocks the profile %s: %s takes over",
                session.host,
                session.profile,
                others[0].session.profile,
            )

    async def _end(self, login: _Login, host: str, sign: str) -> Postponement:
        profile = login.session.profile
        was_retired, login.is_retired = login.is_retired, True
        after = self.session(host)
        if after is None:
            await self.pause(host)
        remedy = (
            f"the host pauses; make the profile again with `thresher login URL --profile {profile}`, and then run "
            f"`thresher frontier resume CRAWL {host}`"
            if after is None
            else f"the profile {after.profile} takes over"
        )
        if not was_retired:
            LOGGER.warning("%s: the login of the profile %s has ended (%s); %s", host, profile, sign, remedy)
        return Postponement(wait_ms=0, has_sent_request=True)

    def _reopened(self, login: _Login) -> _Login:
        """Return a retired login as its file has it now; if that is of no use, the login as it is."""
        login.changed_ns = _changed_ns(login.path)
        try:
            return self._open(self._hosts[login.session.host], login.path)
        except InputError as error:
            LOGGER.warning("%s", error)
            return login

    def _open(self, login: HostLogin, path: Path) -> _Login:
        changed_ns, profile = _changed_ns(path), read_profile(path, self._key)
        signs = end_signs(profile.login_urls, text=login.ended_text, selector=login.ended_selector)
        session = _session(login.host, path.stem, profile, signs, self._clock)
        opened = self._by_session[session] = _Login(
            path=path, changed_ns=changed_ns, session=session, signs=signs
        )
        return opened

    def _login_host(self, host: str) -> str | None:
        return next((name for name in self._hosts if host == name or host.endswith(f".{name}")), None)

    def __repr__(self) -> str:
        return f"<sessions at {', '.join(self._hosts)}>"


def require_profiles(logins: Sequence[HostLogin]) -> None:
    """Raise `InputError` if a worker on this machine could not read the profiles."""

    async def hold(*_: object) -> None:
        """Hold nothing: no request is sent."""

    SessionPool(logins, hold=hold, clock=time.time)


def _session(host: str, name: str, profile: Profile, signs: EndSigns, clock: Callable[[], float]) -> Session:
    jar = CookieJar(clock)
    for one in profile.state.cookies:
        cookie = Cookie(
            name=one.name,
            # A head of HTTP is read as Latin-1; browsers send UTF-8 in it.
            value=one.value.encode(errors="replace").decode("latin-1"),
            domain=one.domain.removeprefix(".").lower(),
            only_host=not one.domain.startswith("."),
            path=one.path,
            secure=one.secure,
            expires_at=None if one.expires == SESSION_COOKIE else one.expires,
            http_only=one.http_only,
        )
        jar.add(cookie, host)
    return Session(
        profile=name,
        host=host,
        cookies=jar,
        user_agent=profile.user_agent,
        proxy=parse_proxy(profile.proxy) if profile.proxy else None,
        origins=[msgspec.to_builtins(each) for each in profile.state.origins if _is_of(each.origin, host)],
        login_pages=signs.login_pages,
    )


def _is_of(origin: str, host: str) -> bool:
    name = origin.partition("://")[2].partition(":")[0]
    return name == host or name.endswith(f".{host}")


def _changed_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
