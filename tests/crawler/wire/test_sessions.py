"""What a request under a session carries, to whom, and what is archived of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.crawler.server import page, redirect
from thresher.core import Capture
from thresher.crawler.wire.cookies import MAX_COOKIES_PER_DOMAIN, Cookie, CookieJar
from thresher.crawler.wire.http.message import build_message, read_head
from thresher.crawler.wire.http.request import parse_target
from thresher.crawler.wire.login_address import is_login_address
from thresher.crawler.wire.redaction import private_message
from thresher.crawler.wire.session import Session
from thresher.frontier import canonicalize

SECRET = "s3cr3t"


def cookie(**fields):
    return Cookie(
        **{
            "name": "sid",
            "value": SECRET,
            "domain": "shop.test",
            "only_host": True,
            "path": "/",
            "secure": False,
            "expires_at": None,
            **fields,
        }
    )


def session(*cookies, host="shop.test", **fields):
    jar = CookieJar(lambda: 1_000.0)
    for each in cookies:
        jar.add(each, host)
    return Session(profile="ada", host=host, cookies=jar, **fields)


@pytest.mark.parametrize(
    ("fields", "url", "is_sent"),
    [
        ({}, "https://shop.test/", True),
        ({}, "https://a.shop.test/", False),
        ({}, "https://other.test/", False),
        ({}, "https://notshop.test/", False),
        ({"only_host": False}, "https://a.shop.test/", True),
        ({"only_host": False, "domain": "test"}, "https://shop.test/", False),
        ({"domain": "other.test"}, "https://shop.test/", False),
        ({"domain": "a.shop.test"}, "https://a.shop.test/", True),
        ({"domain": "a.shop.test"}, "https://shop.test/", False),
        ({"path": "/in"}, "https://shop.test/in/a", True),
        ({"path": "/in"}, "https://shop.test/inn", False),
        ({"secure": True}, "https://shop.test/", True),
        ({"secure": True}, "http://shop.test/", False),
        ({"expires_at": 999.0}, "https://shop.test/", False),
        ({"value": "a\r\nX: y"}, "https://shop.test/", False),
    ],
)
def test_a_cookie_of_a_profile_goes_where_its_domain_path_and_security_allow(fields, url, is_sent):
    assert bool(session(cookie(**fields)).cookies.header(parse_target(url))) is is_sent


def test_a_cookie_of_a_parent_domain_is_taken_for_the_host_of_the_login():
    found = session(cookie(domain="shop.test", only_host=False), host="my.shop.test")
    assert found.cookies.header(parse_target("https://my.shop.test/")) == f"sid={SECRET}"
    assert found.covers("my.shop.test")
    assert not found.covers("www.shop.test")


def test_cookies_that_scripts_set_are_sent_beside_those_of_the_session():
    headers = [("Accept", "*/*"), ("cookie", "sid=of-a-script; csrf=7")]
    assert session(cookie()).request_headers(parse_target("https://shop.test/"), headers) == [
        ("Accept", "*/*"),
        ("Cookie", f"sid={SECRET}; csrf=7"),
    ]


async def test_the_archive_has_nothing_that_a_request_carries_for_a_person(client, site):
    answer = page("x", "Set-Cookie: sid=fresh-s3cr3t;", " HttpOnly", "X-Kept: yes", "set-cookie: b=c")
    site.answers["/"] = site.answers["/again"] = answer
    held = session(cookie(domain="127.0.0.1"), host="127.0.0.1", user_agent="agent-of-ada")
    headers = [("Authorization", "Bearer s3cr3t"), ("X-Token", "s3cr3t"), ("Referer", f"{site.url}/")]
    async with client() as http_client:
        first = await http_client.get(canonicalize(f"{site.url}/"), headers=headers, session=held)
        await http_client.get(canonicalize(f"{site.url}/again"), session=held)
    assert isinstance(first, Capture)
    assert b"X-Token: s3cr3t" in site.requests[0]
    assert b"Cookie: sid=s3cr3t\r\n" in site.requests[0]
    assert b"User-Agent: agent-of-ada" in site.requests[0]
    assert b"Cookie: sid=fresh-s3cr3t; b=c\r\n" in site.requests[1]
    names = [line.partition(b":")[0].lower() for line in first.request.split(b"\r\n")[1:-2]]
    assert names == [b"host", b"user-agent", b"accept", b"accept-encoding", b"referer"]
    assert first.response == page("x", "X-Kept: yes")
    assert first.response[first.head_length :] == first.payload == b"x"
    assert first.header("set-cookie") is None
    assert b"s3cr3t" not in first.request + first.response


async def test_a_request_to_another_host_has_nothing_of_the_session_that_it_is_given(client, site):
    site.answers["/"] = redirect("/x")
    held = session(cookie(), user_agent="agent-of-ada")
    async with client() as http_client:
        found = await http_client.get(
            canonicalize(f"{site.url}/"), headers=[("Authorization", "Bearer s3cr3t")], session=held
        )
    assert isinstance(found, Capture)
    assert b"ookie" not in site.requests[0]
    assert b"agent-of-ada" not in site.requests[0]
    assert b"s3cr3t" not in found.request


async def test_a_page_that_sets_a_cookie_for_another_host_sets_none(client, site):
    foreign = ("Set-Cookie: a=b; Domain=other.test", "Set-Cookie: c=d; Domain=0.1", "Set-Cookie: e=f")
    site.answers["/"] = page("x", *foreign)
    held = session(host="127.0.0.1")
    async with client() as http_client:
        await http_client.get(canonicalize(f"{site.url}/"), session=held)
    assert [(one.name, one.domain) for one in held.cookies] == [("e", "127.0.0.1")]


NAMES = st.sampled_from(["Set-Cookie", "set-cookie", "SET-COOKIE2", "Set-Cookie\t", "Authentication-Info"])
VALUES = st.text(st.sampled_from("ab;=:, \r\t\0"), max_size=6)
ENDS = st.sampled_from(["\r\n", "\n"])


@given(
    before=VALUES,
    lines=st.lists(st.tuples(NAMES, VALUES, ENDS, st.booleans()), max_size=3),
    body=st.binary(max_size=9),
)
def test_whatever_a_cookie_looks_like_nothing_of_it_is_archived_and_the_rest_is_as_it_came(
    before, lines, body
):
    beginning = f"HTTP/1.1 200 OK\r\nX-Kept: {before}\r\n"
    cookies = "".join(
        f"{name}: {SECRET}{value}{end}" + f"\t{SECRET}{end}" * is_folded
        for name, value, end, is_folded in lines
    )
    raw = f"{beginning}{cookies}Last: x\r\n\r\n".encode()
    head = read_head(raw)
    assert head is not None
    found = private_message(build_message(head, raw + body, is_complete=True, is_over_limit=False))
    expected = f"{beginning}Last: x\r\n\r\n".encode()
    assert (found.response, found.head_length) == (expected + body, len(expected))
    assert SECRET not in repr(found.headers)


@pytest.mark.parametrize(
    ("path", "is_barred"),
    [
        *(
            (path, True)
            for path in ("logout", "log-out/", "user/Signout", "logout.php?a=b", "Special:UserLogout")
        ),
        *((path, True) for path in ("sign_in", "wp-login.php", "login", "my/account-page", "?action=logout")),
        *((path, True) for path in ("index.php?do=log-off&x=y", "index.php?logout")),
        *(
            (path, False)
            for path in ("catalog-outdoor", "blog-in", "login-help", "design", "a?next=login", "")
        ),
        *((path, False) for path in ("logout/of/stock", "signing", "insignout", "logoutfits")),
    ],
)
def test_addresses_that_log_in_or_out_are_told_by_their_last_part(path, is_barred):
    pages = frozenset({"shop.test/my/account-page"})
    assert is_login_address(canonicalize(f"https://shop.test/{path}"), pages) is is_barred


def test_nothing_shows_what_a_session_holds():
    held = session(cookie())
    assert SECRET not in repr((held, list(held.cookies), held.cookies))


@pytest.mark.parametrize("size", ["0", "000;last"])
def test_a_cookie_in_a_trailer_is_not_archived(size):
    head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = f"7\r\n\r\n0\r\nab\r\n{size}\r\n"
    raw = f"{head}{chunks}X-Kept: x\r\nSet-Cookie: {SECRET}\r\n\t{SECRET}\r\n\r\n".encode()
    read = read_head(head.encode())
    assert read is not None
    found = private_message(build_message(read, raw, is_complete=True, is_over_limit=False))
    assert found.response == f"{head}{chunks}X-Kept: x\r\n\r\n".encode()
    assert found.payload == b"\r\n0\r\nab"


def test_no_server_evicts_the_cookies_of_a_login():
    login = [cookie(name=f"c{n}", domain="a.test") for n in range(60)]
    jar = session(*login, host="a.test").cookies
    target = parse_target("http://a.test/")
    jar.store(target, tuple(("Set-Cookie", f"s{n}=y") for n in range(200)))
    names = {each.name for each in jar}
    assert {each.name for each in login} <= names
    assert len(names) == 60 + MAX_COOKIES_PER_DOMAIN
