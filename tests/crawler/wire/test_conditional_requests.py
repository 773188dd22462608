"""What servers receive besides the URL: cookies, and the credentials that a configuration has for a domain."""

from typing import Any

import pytest

from tests.crawler.server import Server, page
from thresher.core import InputError
from thresher.crawler.wire.cookies import MAX_COOKIE_BYTES, MAX_COOKIES_PER_DOMAIN, CookieJar
from thresher.crawler.wire.credentials import credentials, headers_for
from thresher.crawler.wire.http.request import parse_target
from thresher.frontier import canonicalize


class Jar:
    def __init__(self):
        self.now = 1_700_000_000.0
        self.cookies = CookieJar(lambda: self.now)

    def takes(self, url, *cookies):
        self.cookies.store(parse_target(url), tuple(("Set-Cookie", cookie) for cookie in cookies))

    def tells(self, url):
        return self.cookies.header(parse_target(url))


@pytest.fixture
def jar():
    return Jar()


def test_a_cookie_goes_back_to_the_host_that_set_it(jar):
    jar.takes(
        "http://a.example.org/x/y?z", "a=1", "b=2; Path=/", "  c = 3 ; HttpOnly", "d=4; Path=/x/y", "nameless"
    )
    assert jar.tells("http://a.example.org/x/z") == "a=1; c=3; nameless; b=2"
    assert jar.tells("http://a.example.org/x/y/") == "d=4; a=1; c=3; nameless; b=2"
    assert jar.tells("http://a.example.org/xx") == "b=2"
    assert jar.tells("http://b.example.org/x/z") == ""
    assert jar.tells("http://example.org/x/z") == ""


@pytest.mark.parametrize(
    ("host", "domain", "told"),
    [
        ("a.example.org", "example.org", ["a.example.org", "b.example.org", "example.org"]),
        ("a.example.org", ".EXAMPLE.org", ["a.example.org", "b.example.org", "example.org"]),
        ("a.example.org", "b.example.org", []),
        ("a.example.org", "other.org", []),
        ("a.example.org", "org", []),
        ("a.example.co.uk", "co.uk", []),
        ("me.github.io", "github.io", []),
        ("127.0.0.1", "0.0.1", []),
        ("127.0.0.1", "127.0.0.1", ["127.0.0.1"]),
        ("xexample.org", "example.org", []),
    ],
)
def test_a_cookies_domain_is_never_above_a_registered_domain(jar, host, domain, told):
    jar.takes(f"http://{host}/", f"a=1; Domain={domain}")
    hosts = [
        "a.example.org",
        "b.example.org",
        "example.org",
        "other.org",
        "b.example.co.uk",
        "you.github.io",
        "127.0.0.1",
        "10.0.0.1",
    ]
    assert [each for each in hosts if jar.tells(f"http://{each}/")] == told


def test_secure_cookies_and_prefixes_are_obeyed(jar: Jar):
    jar.takes("http://a.test/", "a=1; Secure", "__Secure-b=1", "__Host-c=1; Path=/")
    jar.takes(
        "https://a.test/",
        "d=1; Secure",
        "__Host-e=1; Secure; Path=/",
        "__Host-f=1; Secure; Domain=a.test; Path=/",
    )
    assert jar.tells("http://a.test/") == ""
    assert jar.tells("https://a.test/") == "d=1; __Host-e=1"


def test_cookies_expire_and_can_be_removed(jar):
    jar.takes(
        "http://a.test/",
        "a=1; Max-Age=10",
        "b=1; Expires=Tue, 14 Nov 2023 22:13:30 GMT",
        "c=1; Expires=nonsense",
    )
    assert jar.tells("http://a.test/") == "a=1; b=1; c=1"
    jar.now += 11
    assert jar.tells("http://a.test/") == "c=1"
    jar.takes("http://a.test/", "c=; Max-Age=0")
    assert jar.tells("http://a.test/") == ""


def test_the_cookies_of_hosts_are_bounded(jar):
    for n in range(4_000):
        jar.takes("http://a.test/", f"c{n}=x")
    jar.takes("http://a.test/", "big=" + "x" * MAX_COOKIE_BYTES)
    told = jar.tells("http://a.test/").split("; ")
    assert told == [f"c{n}=x" for n in range(4_000 - MAX_COOKIES_PER_DOMAIN, 4_000)]


async def test_cookies_are_sent_back_only_if_the_configuration_says_so(client):
    answers = {"/": page("x", "Set-Cookie: a=b; Path=/")}
    async with Server(answers).serve() as server, client(cookies=True) as http_client:
        found = [await http_client.get(canonicalize(server.url)) for _ in range(2)]
    assert b"ookie" not in server.requests[0]
    assert b"\r\nCookie: a=b\r\n" in server.requests[1]
    assert [one.request for one in found] == server.requests


AUTH: dict[str, dict[str, Any]] = {
    "example.org": {"user": "me", "password": "env:PASSWORD_OF_TEST"},
    "api.example.org": {"headers": {"Authorization": "Bearer t", "X-Key": "k"}},
    "127.0.0.1": {"headers": {"authorization": "Bearer secret"}, "http": True},
}


def test_credentials_go_to_their_own_domain_over_https(monkeypatch):
    monkeypatch.setenv("PASSWORD_OF_TEST", "pass")
    known = credentials(AUTH)
    basic = (("Authorization", "Basic bWU6cGFzcw=="),)
    told = {
        "https://example.org/": basic,
        "https://www.example.org/": basic,
        "https://v1.api.example.org/": (("Authorization", "Bearer t"), ("X-Key", "k")),
        "http://example.org/": (),
        "https://badexample.org/": (),
        "https://example.org.evil.test/": (),
    }
    assert {url: headers_for(parse_target(url), known) for url in told} == told
    assert "Basic" not in repr(known)


async def test_the_archive_contains_no_secret(client, monkeypatch):
    monkeypatch.setenv("PASSWORD_OF_TEST", "pass")
    async with Server({"/": page("x")}).serve() as server, client(auth=AUTH) as http_client:
        found = await http_client.get(canonicalize(server.url), headers=[("Authorization", "mine")])
    assert b"\r\nauthorization: Bearer secret\r\n" in server.requests[0]
    assert found.request == server.requests[0].replace(b"authorization: Bearer secret\r\n", b"")


@pytest.mark.parametrize(
    "table",
    [
        {},
        {"usr": "me"},
        {"user": "a:b", "password": "x"},
        {"user": "me", "password": 1},
        {"headers": {"X": "a\r\nb"}},
        {"headers": "X"},
        {"user": "me", "password": "env:NOT_SET_ANYWHERE"},
    ],
)
def test_malformed_credentials_are_an_error_of_one_line(table):
    with pytest.raises(InputError, match=r'crawler\.auth\."a\.test"'):
        credentials({"a.test": table})
