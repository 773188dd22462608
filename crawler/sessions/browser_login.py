"""`log_in`: a login in Chromium, by a person in its window or by a form that is filled in, and its storage state.

1. The browser has the network and its own sandbox, a fresh context, and an environment without secrets. It is no
   browser of `crawler.render`: whoever logs in at a site trusts it that far.
2. A form's user name and password go over the driver's pipe, into no command line and no environment.
3. A form's login has failed if the page still has a visible password field afterwards.
"""

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.async_api import BrowserContext, Error, Page
from playwright.async_api import TimeoutError as LateError

from thresher.core import InputError, Unavailable
from thresher.crawler.render.chromium.driver import start_driver
from thresher.crawler.sessions.profile import StorageState, parse_storage_state
from thresher.crawler.wire.login_address import is_login_address
from thresher.crawler.wire.network.proxy import Proxy
from thresher.frontier import canonicalize
from thresher.isolation.environment import scrub_environment

DISPLAY_VARIABLES = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR")
"""What a browser with a window needs to find the user's screen."""
QUIET_MS = 5_000
"""Milliseconds to wait at most for a page to be at rest after a login."""
_PASSWORD = "input[type=password]:visible"  # noqa: S105 - a selector
_USER = (
    "input[autocomplete~=username]:visible, input[type=email]:visible, input[type=text]:visible, "
    "input[type=tel]:visible, input:not([type]):visible"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginBrowser:
    """The browser of a login."""

    program: str
    user_agent: str
    proxy: Proxy | None = None
    is_headless: bool = False
    has_sandbox: bool = True
    timeout_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FormLogin:
    """What is filled into a form."""

    user: str = field(repr=False)
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginResult:
    """A login that succeeded, as far as anybody can tell."""

    login_urls: tuple[str, ...]
    """The address that was opened, if it is a login page, and the one that it led to."""
    state: StorageState


async def log_in(
    url: str, browser: LoginBrowser, by: FormLogin | Callable[[Page], Awaitable[None]]
) -> LoginResult:
    """Open a login page, log in by a form or wait for a person (`by` returns when the person has logged in), and return
    what the browser keeps of it.

    Raise `InputError` if the form's login failed, and `Unavailable` if the browser or the page does not open.
    """
    async with _context(browser) as context:
        page = await context.new_page()
        try:
            await page.goto(url)
            await page.wait_for_load_state()
        except Error as error:
            raise Unavailable(f"{url} does not open: {_first_line(error)}") from None
        opened, landed = canonicalize(url), canonicalize(page.url)
        # Somebody who opens a page for members is led to the login page.
        is_login_page = opened == landed or is_login_address(opened, ())
        login_urls = (opened.wire, landed.wire) if is_login_page else (landed.wire,)
        if isinstance(by, FormLogin):
            await _fill_in(page, by)
        else:
            await by(page)
        try:
            state: Any = await context.storage_state(indexed_db=True)
        except Error as error:
            raise InputError(
                f"the browser was closed before the login was saved ({_first_line(error)}); leave its window open"
            ) from None
        return LoginResult(login_urls=login_urls, state=parse_storage_state(json.dumps(state).encode(), url))


async def _fill_in(page: Page, form: FormLogin) -> None:
    url, password = page.url, page.locator(_PASSWORD).first
    try:
        form_of_password = page.locator("form", has=page.locator(_PASSWORD)).first
        place = form_of_password if await form_of_password.count() else page.locator("body")
        await place.locator(_USER).first.fill(form.user)
        if not await password.count():  # it is asked for on a page of its own
            await place.locator(_USER).first.press("Enter")
        await password.fill(form.password)
        await password.press("Enter")
        await password.wait_for(state="hidden")
        with suppress(LateError):
            await page.wait_for_load_state("networkidle", timeout=QUIET_MS)
        failed = await password.count() > 0
    except LateError:
        failed = True
    except Error as error:
        raise Unavailable(f"{url}: the form cannot be filled in: {_first_line(error)}") from None
    if failed:
        raise InputError(
            f"{url}: the page still asks for a password, or has no form with a name and a password; check both, or log "
            "in by hand: `thresher login` without --form"
        )


@asynccontextmanager
async def _context(browser: LoginBrowser) -> AsyncIterator[BrowserContext]:
    _require_means(browser)
    display = {} if browser.is_headless else {name: os.environ.get(name, "") for name in DISPLAY_VARIABLES}
    with TemporaryDirectory(prefix="thresher-login-") as directory:
        home = {"HOME": directory, "TMPDIR": directory}
        playwright = await start_driver(Path(directory))
        try:
            chromium = await playwright.chromium.launch(
                executable_path=browser.program,
                headless=browser.is_headless,
                chromium_sandbox=browser.has_sandbox,
                proxy=None if browser.proxy is None else _playwright_proxy(browser.proxy),
                env={**scrub_environment(os.environ), **{k: v for k, v in display.items() if v}, **home},
            )
            context = await chromium.new_context(user_agent=browser.user_agent, no_viewport=True)
            context.set_default_timeout(browser.timeout_s * 1000)
            yield context
            await chromium.close()
        except Error as error:
            raise Unavailable(
                f"{browser.program} does not start or has ended: {_first_line(error)}"
            ) from None
        finally:
            await playwright.stop()


def _require_means(browser: LoginBrowser) -> None:
    """Raise `InputError` if Chromium cannot start here."""
    if browser.has_sandbox and os.geteuid() == 0:
        raise InputError(
            "Chromium has no sandbox as root: log in as another user, or set crawler.browser_sandbox = false"
        )
    if not browser.is_headless and not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")):
        raise InputError(
            "there is no display for the window of a login: use --headless --form, or log in on another machine and "
            "--import what its browser stored"
        )


def _playwright_proxy(proxy: Proxy) -> Any:
    """Return a proxy as Playwright takes it: the credentials go over its pipe, and not into Chromium's arguments."""
    server = f"{proxy.kind}://{proxy.endpoint}"
    return {"server": server, "username": proxy.user, "password": proxy.password}


def _first_line(error: Error) -> str:
    return (str(error).strip().splitlines() or ["no answer"])[0]
