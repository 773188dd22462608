"""Strangers stay outside of the console, and a page of a stranger can do nothing in it."""

import ipaddress
import socket
import time
from contextlib import suppress
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.console.served import served_console
from thresher.core import InputError
from thresher.pipeline.console.console_server import ServeOptions, serve
from thresher.pipeline.console.web.access import COOKIE, SESSION_S, AccessRules, is_same_origin
from thresher.pipeline.console.web.request_guard import MAX_BODY, PAGE_POLICY
from thresher.pipeline.console.web.slow_clients import PatientProtocol

TOKEN = "0123456789abcdef0123456789abcdef"
HOLD = "/crawls/main/actions/hold"


@pytest.fixture(scope="module")
def guarded(site):
    with served_console(site.project, AccessRules.of(host="0.0.0.0", token=TOKEN)) as found:
        yield found


@pytest.fixture(scope="module")
def proxied(site):
    rules = AccessRules.of(
        host="0.0.0.0", proxy_header="X-Forwarded-User", proxy_networks=("127.0.0.0/8", "192.0.2.0/24")
    )
    with served_console(site.project, rules) as found:
        yield found


# Who may start it


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"host": "0.0.0.0"}, "others can reach it; set THRESHER_CONSOLE_TOKEN"),
        ({"host": "::"}, "others can reach it"),
        ({"host": "192.0.2.1"}, "others can reach it"),
        ({"host": "example.org"}, "others can reach it"),
        ({"token": "short"}, "give 16 printable ASCII characters or more"),
        ({"proxy_header": "X-User"}, "belong together"),
        ({"proxy_networks": ("10.0.0.0/8",)}, "belong together"),
        ({"proxy_header": "X User", "proxy_networks": ("10.0.0.0/8",)}, "give the name of a header"),
        ({"proxy_header": "X-User", "proxy_networks": ("everywhere",)}, "give an address or a network"),
    ],
)
def test_a_console_that_strangers_could_use_does_not_start(options, said):
    with pytest.raises(InputError, match=said):
        AccessRules.of(**{"host": "127.0.0.1", **options})


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "::1"])
def test_on_loopback_no_token_is_needed(host):
    assert AccessRules.of(host=host).is_open


def test_an_empty_token_file_and_a_taken_port_are_one_line(site, tmp_path):
    (tmp_path / "token").write_text("\n")
    with pytest.raises(InputError, match="is empty"):
        serve(site.project, ServeOptions(token_file=tmp_path / "token"))
    with pytest.raises(InputError, match="cannot be read"):
        serve(site.project, ServeOptions(token_file=tmp_path / "none"))
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(InputError, match="cannot listen there"),
    ):
        serve(site.project, ServeOptions(port=taken.getsockname()[1]))


# Host names


@pytest.mark.parametrize(
    "host", ["evil.test", "127.0.0.1.evil.test", "localhost.evil.test:8450", "", "2130706433"]
)
def test_a_name_that_was_rebound_to_loopback_is_refused(served, host):
    for path in ("/", "/api/crawls", "/healthz", "/metrics", "/static/console.js"):
        assert served.request("GET", path, headers={"Host": host}).status == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:9999", "[::1]:8450"])
def test_every_loopback_name_is_answered(served, host):
    assert served.request("GET", "/api/crawls", headers={"Host": host}).status == 200


# Tokens


def test_without_the_token_nothing_is_told(guarded):
    for path in ("/api/crawls", "/metrics", "/openapi.json", "/api/storage", "/static/../x"):
        answer = guarded.api(path, keep_cookie=False)
        assert answer.status == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "main" not in answer.text
    page = guarded.get("/crawls/main", keep_cookie=False)
    assert (page.status, page.headers["location"]) == (303, "/login")
    assert guarded.get("/login", keep_cookie=False).status == 200
    assert guarded.get("/healthz", keep_cookie=False).json == {"status": "ok", "frontier": "", "storage": ""}


@pytest.mark.parametrize(
    "shown", ["", "Bearer", "Bearer x", f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}"]
)
def test_a_wrong_token_is_no_token(guarded, shown):
    headers = {"Authorization": shown, "Accept": "application/json"}
    assert guarded.request("GET", "/api/crawls", headers=headers, keep_cookie=False).status == 401


def test_a_program_shows_the_token_and_gets_no_cookie(guarded):
    headers = {"Authorization": f"Bearer {TOKEN}"}
    answer = guarded.request("GET", "/api/crawls", headers=headers, keep_cookie=False)
    assert answer.status == 200
    assert "set-cookie" not in answer.headers


def test_a_browser_logs_in_once_and_its_cookie_does_not_hold_the_token(guarded):
    wrong = guarded.post_form("/login", {"token": "wrong"})
    assert (wrong.status, "That is not the token" in wrong.text) == (403, True)
    right = guarded.post_form("/login", {"token": TOKEN})
    assert (right.status, right.headers["location"]) == (303, "/")
    cookie = right.headers["set-cookie"]
    assert TOKEN not in cookie
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert guarded.get("/crawls/main").status == 200
    out = guarded.request("POST", "/logout")
    assert out.status == 303
    guarded.cookies.clear()


@pytest.mark.parametrize(
    "header", ['foo={"a": 1}; {}', "{}; foo=[1]", "thresher_console=other; {}", "{}; a", "é=;{}"]
)
def test_cookies_of_other_programs_of_the_host_end_no_session(guarded, header):
    cookie = f"thresher_console={guarded.rules.new_session(time.time())}"
    sent = header.replace("{}", cookie, 1) if "{}" in header else header
    page = guarded.request("GET", "/runs", headers={"Cookie": sent.encode("latin-1")}, keep_cookie=False)
    assert page.status == 200


def test_a_session_ends_and_cannot_be_forged():
    rules = AccessRules.of(host="0.0.0.0", token=TOKEN)
    cookie = rules.new_session(1000.0)
    assert rules.is_session(cookie, 1000.0 + SESSION_S - 1)
    assert not rules.is_session(cookie, 1000.0 + SESSION_S)
    expiry, nonce, sign = cookie.split(".")
    for forged in (
        f"{int(expiry) + 1}.{nonce}.{sign}",
        f"{expiry}.{nonce}.{'0' * 64}",
        "",
        "..",
        cookie + "\n",
    ):
        assert not rules.is_session(forged, 1000.0)
    assert not AccessRules.of(host="0.0.0.0", token=TOKEN[::-1]).is_session(cookie, 1000.0)


@given(st.text())
def test_no_text_is_taken_for_a_session_or_a_form(text):
    rules = AccessRules.of(host="127.0.0.1")
    assert not rules.is_session(text, 0.0)
    assert not rules.is_form_number(rules.new_session(0.0), text)
    assert not rules.is_token(text)


# Proxies


def test_a_proxy_of_a_named_network_says_who_the_user_is(proxied):
    headers = {"X-Forwarded-User": "ada@example.org"}
    page = proxied.request("GET", "/", headers=headers, keep_cookie=False)
    assert "You are <b>ada@example.org</b>" in page.text
    assert proxied.api("/api/crawls", keep_cookie=False).status == 401


def test_a_client_that_names_a_user_beside_the_proxy_is_nobody(proxied):
    head = f"GET /api/crawls HTTP/1.1\r\nHost: 127.0.0.1:{proxied.port}\r\nConnection: close\r\n"
    for users in (("ada", "root"), ("root", "ada"), ("ada", "")):
        names = "".join(f"X-Forwarded-User: {user}\r\n" for user in users)
        with socket.create_connection(("127.0.0.1", proxied.port), timeout=30) as client:
            client.sendall(f"{head}{names}\r\n".encode())
            assert client.makefile("rb").readline() == b"HTTP/1.1 401 Unauthorized\r\n"


@pytest.mark.parametrize("address", ["203.0.113.9", "", "testclient", "::ffff:203.0.113.9"])
def test_the_header_counts_only_from_the_network_of_the_proxy(address):
    rules = AccessRules.of(host="0.0.0.0", proxy_header="X-User", proxy_networks=("10.0.0.0/8",))
    headers = {"x-user": "root"}
    assert rules.who(address=address, headers=headers, cookie="", now_s=0) is None
    assert rules.who(address="10.1.2.3", headers=headers, cookie="", now_s=0) == "root"
    assert rules.who(address="::ffff:10.1.2.3", headers=headers, cookie="", now_s=0) == "root"
    assert rules.proxy_networks == (ipaddress.ip_network("10.0.0.0/8"),)


@pytest.mark.parametrize("user", ["", " ", "a" * 201, "a\x1b[2Jb", "a\u202eb"])
def test_a_name_that_is_none_is_refused(user):
    rules = AccessRules.of(host="0.0.0.0", proxy_header="X-User", proxy_networks=("10.0.0.0/8",))
    assert rules.who(address="10.1.2.3", headers={"x-user": user}, cookie="", now_s=0) is None


# Requests of other sites


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.test"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "file://"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "http://127.0.0.1:8450", "sec-fetch-site": "cross-site"},
    ],
)
def test_what_another_site_sends_changes_nothing(served, headers):
    assert not is_same_origin({"host": "127.0.0.1:8450", **headers})
    before = len(served.api("/api/actions").json)
    answer = served.post_form(HOLD, {"host": "127.0.0.1", "form_number": _form_number(served)}, **headers)
    assert answer.status == 403
    answer = served.post_json("/api/crawls/main/hold", {"host": "127.0.0.1"}, **headers)
    assert answer.status == 403
    assert len(served.api("/api/actions").json) == before


def _form_number(served):
    served.get(HOLD)
    return served.rules.form_number(served.cookies[COOKIE])


@pytest.mark.parametrize("number", ["", "0" * 64, "é"])
def test_a_form_without_its_number_changes_nothing(served, number):
    served.get(HOLD)
    answer = served.post_form(HOLD, {"host": "127.0.0.1", "form_number": number})
    assert answer.status == 403
    other = served.rules.form_number(served.rules.new_session(time.time()))
    assert served.post_form(HOLD, {"host": "127.0.0.1", "form_number": other}).status == 403


def test_a_form_that_a_page_of_another_site_can_send_is_no_json(served):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        answer = served.request(
            "POST", "/api/crawls/main/hold", headers={"Content-Type": kind}, body='{"host": "127.0.0.1"}'
        )
        assert answer.status in {400, 415, 422}


def test_a_get_changes_nothing(site, served):
    before = len(served.api("/api/actions").json)
    served.get(f"{HOLD}?{urlencode({'host': site.server.address, 'form_number': _form_number(served)})}")
    assert served.request("GET", "/api/crawls/main/hold").status == 405
    assert len(served.api("/api/actions").json) == before


# Headers of responses


@pytest.mark.parametrize(
    "path", ["/", "/crawls/main", "/api/crawls", "/healthz", "/nothing", "/static/console.js", "/login"]
)
def test_every_response_has_the_headers_that_keep_it_harmless(served, path):
    headers = served.get(path).headers
    assert headers["content-security-policy"] == PAGE_POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["x-frame-options"] == "DENY"
    assert "server" not in headers
    assert "access-control-allow-origin" not in headers


def test_the_policy_allows_no_inline_script_and_no_other_site():
    assert "unsafe" not in PAGE_POLICY
    assert PAGE_POLICY.startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in PAGE_POLICY
    assert "http" not in PAGE_POLICY


# Large and slow requests


def test_a_large_request_is_refused_before_it_is_read(served):
    assert served.post_form(HOLD, {"host": "x" * (MAX_BODY + 1)}).status == 413
    assert served.get(f"/url?u={'x' * 9000}").status == 414
    chunks = iter([b"x" * (MAX_BODY + 1)])  # sent without a length
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    assert served.request("POST", HOLD, headers=kind, body=chunks).status == 413


def test_a_huge_head_is_cut_off(served):
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 100_000)
        assert client.recv(100).startswith(b"HTTP/1.1 400")


def test_a_header_cannot_be_put_into_a_response(served):
    answer = served.get("/url?u=http://a.test/%0d%0aSet-Cookie:%20x=y")
    assert "x=y" not in answer.headers.get("set-cookie", "")
    answer = served.get("/crawls/%0d%0aX-Evil:%201")
    assert "x-evil" not in answer.headers


def test_a_client_that_sends_a_byte_now_and_then_is_cut_off(site, monkeypatch):
    from thresher.pipeline.console.web.slow_clients import PatientProtocol

    monkeypatch.setattr(PatientProtocol, "request_s", 0.3)
    with served_console(site.project) as slow:
        clients = [socket.create_connection(("127.0.0.1", slow.port), timeout=30) for _ in range(20)]
        clients[0].sendall(b"GET / HTTP/1.1\r\nHo")
        kind = b"Content-Type: application/x-www-form-urlencoded"
        clients[1].sendall(
            b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n" + kind + b"\r\n\r\nto"
        )
        for client in clients:
            with client, suppress(ConnectionError):
                assert client.recv(100) == b""
        assert slow.get("/healthz").status == 200


def test_a_request_that_came_with_the_one_before_gets_its_time(guarded, monkeypatch):
    """The wait for a request ends when it is whole, also if it lay in the buffer already."""
    monkeypatch.setattr(PatientProtocol, "request_s", 0.5)
    host = f"Host: 127.0.0.1:{guarded.port}\r\n"
    form = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 7\r\nConnection: close\r\n"
    with socket.create_connection(("127.0.0.1", guarded.port), timeout=30) as client:
        first = f"GET /static/icon.svg HTTP/1.1\r\n{host}\r\n"
        client.sendall(f"{first}POST /login HTTP/1.1\r\n{host}{form}\r\ntoken=x".encode())  # takes a second
        said = client.makefile("rb").read()
    assert said.count(b"HTTP/1.1 ") == 2
    assert b"That is not the token" in said


def test_many_clients_at_once_get_an_answer(served):
    from concurrent.futures import ThreadPoolExecutor

    paths = ["/", "/crawls/main", "/api/crawls", "/metrics", "/crawls/main/log", "/api/crawls/main/log"] * 8
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda path: served.get(path, keep_cookie=False).status, paths))
    assert set(found) == {200}
