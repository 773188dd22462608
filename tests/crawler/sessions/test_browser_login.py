"""A login in a real browser, by its form and by a person, and what others on the machine see of it."""

import asyncio

import pytest

from tests.crawler.sessions.login_site import PASSWORD, SECRET, USER, LoginSite, seen_of_children
from thresher.core import InputError
from thresher.crawler.render.chromium.program import find_browser
from thresher.crawler.sessions.profile_key import KEY_VARIABLE

pytestmark = pytest.mark.slow


def browser():
    from thresher.crawler.sessions.browser_login import LoginBrowser

    try:
        program = find_browser("")
    except InputError as error:
        pytest.skip(str(error))
    return LoginBrowser(
        program=program, user_agent="thresher/test", is_headless=True, has_sandbox=False, timeout_s=5
    )


@pytest.fixture
def site():
    with LoginSite().serve() as served:
        yield served


def log_in(site, by):
    from thresher.crawler.sessions.browser_login import log_in as asked

    return asyncio.run(asked(f"{site.url}/account", browser(), by))


def test_a_form_is_filled_in_and_the_profile_has_the_cookie_and_the_login_page(site):
    from thresher.crawler.sessions.browser_login import FormLogin

    result = log_in(site, FormLogin(user=USER, password=PASSWORD))
    assert [(one.name, one.value, one.http_only) for one in result.state.cookies] == [("sid", SECRET, True)]
    assert result.login_urls == (f"{site.url}/login?next=/account",)
    assert set(site.agents("/account")) == {"thresher/test"}


def test_a_wrong_password_saves_nothing(site):
    from thresher.crawler.sessions.browser_login import FormLogin

    with pytest.raises(InputError, match="still asks for a password") as caught:
        log_in(site, FormLogin(user=USER, password="wr0ng"))
    assert "wr0ng" not in str(caught.value)


def test_a_person_logs_in_and_no_process_of_the_browser_has_the_key_or_the_password(site, monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, "k3y-of-profiles")
    monkeypatch.setenv("THRESHER_LOGIN_PASSWORD", PASSWORD)
    seen = []

    async def person(page):
        await page.fill("[name=user]", USER)
        await page.fill("[name=password]", PASSWORD)
        await page.click("button")
        await page.wait_for_url("**/account")
        seen.extend(seen_of_children())

    result = log_in(site, person)
    assert result.state.cookies[0].value == SECRET
    assert len(seen) >= 3
    assert not [each for each in seen if "k3y-of-profiles" in each or PASSWORD in each or SECRET in each]
