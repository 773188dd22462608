"""`save_login`: make a login's profile, in a browser or from a file, and save it encrypted.

No password and no proxy with a password is taken from the command line, which every user of the machine can read.
"""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from thresher.core import InputError
from thresher.crawler.sessions.profile import Profile, parse_storage_state
from thresher.crawler.sessions.profile_file import profile_path, write_profile
from thresher.crawler.sessions.profile_key import ensure_key, read_key
from thresher.crawler.user_agent import user_agent
from thresher.crawler.wire.http.request import is_sendable
from thresher.crawler.wire.network.proxy import parse_proxy
from thresher.frontier import InvalidUrl, canonicalize
from thresher.pipeline.configuration import Config
from thresher.pipeline.terminal.output import echo

if TYPE_CHECKING:
    from playwright.async_api import Page

    from thresher.crawler.sessions.browser_login import FormLogin, LoginResult

USER_VARIABLE, PASSWORD_VARIABLE = "THRESHER_LOGIN_USER", "THRESHER_LOGIN_PASSWORD"
_FROM_VARIABLE = "env:"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginOptions:
    """What `thresher login` is told."""

    url: str
    profile: str = ""
    """Empty for the host of the URL."""
    imported: Path | None = None
    """A storage state of Playwright; None for a login in a browser."""
    is_form: bool = False
    is_headless: bool = False
    user_agent: str = ""
    proxy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedLogin:
    """A profile that was saved, without its secrets."""

    profile: str
    host: str
    path: Path
    cookies: int
    new_key: Path | None
    """The key file, if it was made."""

    @property
    def body(self) -> Mapping[str, Any]:
        """What programs learn of it."""
        return {
            "profile": self.profile,
            "host": self.host,
            "path": str(self.path),
            "cookies": self.cookies,
            "new_key": None if self.new_key is None else str(self.new_key),
        }

    @property
    def lines(self) -> list[str]:
        """What people learn of it: the setting that uses it among others."""
        made = f"made the key {self.new_key}: keep a copy of it apart from {self.path.parent}"
        cookies = "1 cookie" if self.cookies == 1 else f"{self.cookies} cookies"
        return [
            *([made] if self.new_key is not None else []),
            f"{self.path}: saved the login at {self.host}, with {cookies}; to crawl with it, set",
            f'  [crawler.sessions."{self.host}"]',
            f'  profiles = ["{self.profile}"]',
            '  crawls = ["NAME"]',
        ]


def save_login(config: Config, options: LoginOptions) -> SavedLogin:
    """Log in as the options say, and save the profile. Raise `InputError` if they do not fit or the login failed."""
    if options.is_headless and not options.is_form and options.imported is None:
        raise InputError(
            "login --headless: nobody can type without a window; add --form, or leave out --headless"
        )
    try:
        url = canonicalize(options.url)
    except InvalidUrl as error:
        raise InputError(f"login {options.url}: no address of a login page ({error})") from None
    name = options.profile or url.host
    path = profile_path(config.directory, name)
    agent, proxy = options.user_agent, _proxy(options.proxy)
    if agent and not (agent.isascii() and agent.isprintable() and is_sendable("User-Agent", agent)):
        raise InputError("login --user-agent: write one line of ASCII")
    new_key = ensure_key(os.environ)
    key = read_key(os.environ)  # raises before anybody logs in
    if options.imported is not None:
        login_urls: tuple[str, ...] = (url.wire,)
        state = parse_storage_state(_read(options.imported), str(options.imported))
    else:
        agent = agent or user_agent(config.contact)
        result = _log_in(config, options, url.wire, agent, proxy)
        login_urls, state = result.login_urls, result.state
    write_profile(path, Profile(login_urls=login_urls, state=state, user_agent=agent, proxy=proxy), key)
    return SavedLogin(profile=name, host=url.host, path=path, cookies=len(state.cookies), new_key=new_key)


def _log_in(config: Config, options: LoginOptions, url: str, agent: str, proxy: str) -> "LoginResult":
    from thresher.crawler.render.chromium.program import find_browser  # noqa: PLC0415 - Playwright is an extra

    program = find_browser(config.crawler.rendering.browser, need="thresher login")
    from thresher.crawler.sessions.browser_login import LoginBrowser, log_in  # noqa: PLC0415 - the same

    way = proxy or config.crawler.wire.proxy
    browser = LoginBrowser(
        program=program,
        user_agent=agent,
        proxy=parse_proxy(way) if way else None,
        is_headless=options.is_headless,
        has_sandbox=config.crawler.rendering.browser_sandbox,
        timeout_s=config.crawler.wire.timeout,
    )
    by = _form() if options.is_form else _wait_for_person
    return asyncio.run(log_in(url, browser, by))


def _form() -> "FormLogin":
    from thresher.crawler.sessions.browser_login import FormLogin  # noqa: PLC0415 - the same

    try:
        user = os.environ.get(USER_VARIABLE) or typer.prompt("User name", err=True)
        password = os.environ.get(PASSWORD_VARIABLE) or typer.prompt("Password", hide_input=True, err=True)
    except typer.Abort:
        raise InputError(
            f"--form needs a user name and a password: type them, or set {USER_VARIABLE} and {PASSWORD_VARIABLE}"
        ) from None
    return FormLogin(user=user, password=password)


async def _wait_for_person(_: "Page") -> None:
    echo("Log in in the browser's window, leave it open, and press Enter here.", err=True)
    try:
        await asyncio.to_thread(input)
    except EOFError:
        raise InputError(
            "login: nobody can press Enter here; run the command in a terminal, or add --form"
        ) from None


def _proxy(text: str) -> str:
    """Return the URL of a proxy that an option names. Raise `InputError`, without its password, if it is wrong."""
    if text.startswith(_FROM_VARIABLE):
        name = text.removeprefix(_FROM_VARIABLE)
        if name not in os.environ:
            raise InputError(f"login --proxy: the environment variable {name} is not set")
        text = os.environ[name]
    elif "@" in text:
        raise InputError(
            "login --proxy: others can read a password on the command line; put the proxy's URL into a variable, and "
            "write env:NAME"
        )
    if text:
        parse_proxy(text)
    return text


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
