"""What one origin may read from another: credentials go to the page's own site only, and CORS holds as in a browser with
a network.
"""

from contextlib import contextmanager

import pytest

from tests.crawler.flat_settings import wire_client
from tests.crawler.nameserver import NameServer
from tests.crawler.render.browser_thread import AGENT
from tests.crawler.render.test_tab import said, script, shell
from tests.crawler.server import Server, page, redirect
from thresher.crawler.subresources.same_site import allows_credentialed_read, site
from thresher.frontier import canonicalize

PASSWORD = {"user": "bob", "password": "hunter2", "http": True}
HOSTS = ("evil.test", "other.test", "intranet.test", "api.intranet.test")
STAR, SAYS = "Access-Control-Allow-Origin: *", "Access-Control-Allow-Credentials: true"


def told(raw):
    """Return the headers of a request that identify its sender."""
    return {name for name in (b"authorization", b"cookie") if b"\r\n" + name + b": " in raw.lower()}


def answering(*headers):
    """Return a server that sends a secret to requests with a password or a cookie."""

    async def answer(raw, writer):
        writer.write(page("TOP-SECRET" if told(raw) else "for all", *headers, kind="text/plain"))

    return answer


class Web:
    """One server with several names."""

    def __init__(self, stage, server, names, **options):
        self._stage, self._server, self._names, self._options = stage, server, names, options

    def at(self, host, path="/"):
        return f"http://{host}:{self._server.port}{path}"

    def render(self, url, answer=None, *, before=(), peer=None):
        """Return the rendering of the page at `url`; `before` is fetched first, as by a crawl. `peer` is the address
        from which the page is said to come.
        """
        if answer is not None:
            self._server.answers[canonicalize(url).wire.partition(f":{self._server.port}")[2]] = answer

        async def rendered():
            client = wire_client(
                AGENT,
                max_body=10 << 20,
                timeout=5,
                allow_networks=("127.0.0.1/32",),
                nameservers=self._names.servers,
                **self._options,
            )
            try:
                for each in before:
                    await client.get(canonicalize(each))
                return await self._stage.tab(client, url, peer=peer)
            finally:
                await client.close()

        return self._stage.run(rendered())

    def asked(self, path):
        return [raw for raw in self._server.requests if raw.split(b" ")[1] == path.encode()]


@pytest.fixture
def web(stage):
    with opened(stage, auth={"intranet.test": PASSWORD}) as web:
        yield web


@contextmanager
def opened(stage, **options):
    answers = {
        "/closed": answering(),
        "/star": answering(STAR),
        "/lib.js": script("document.body.append('library')"),
    }
    names = NameServer()
    names.update({host: ["127.0.0.1"] for host in HOSTS})
    with names.served(), Server(answers).in_thread() as server:
        yield Web(stage, server, names, **options)


def fetching(*requests, options="{}"):
    """Return a page that writes down the result of each of these requests: a URL, or a URL with options of its own."""
    pairs = [(request, options) if isinstance(request, str) else request for request in requests]
    calls = "".join(
        f"fetch('{url}', {own}).then(r => r.text().then(text => log({number}, r.type + ' ' + text)), "
        f"e => log({number}, 'refused'));"
        for number, (url, own) in enumerate(pairs)
    )
    return shell(f"const log = (n, text) => document.body.append('[' + n + ' ' + text + ']'); {calls}")


def test_a_page_learns_nothing_that_needs_the_password_of_another_site(web):
    found = web.render(
        web.at("evil.test"), fetching(web.at("intranet.test", "/closed"), web.at("intranet.test", "/star"))
    )
    assert "[0 refused]" in said(found)  # the server does not let others read it
    assert "[1 cors for all]" in said(found)
    assert not any(told(raw) for path in ("/closed", "/star") for raw in web.asked(path))


def test_a_page_reads_what_needs_the_password_of_its_own_site(web):
    found = web.render(web.at("intranet.test"), fetching("/closed"))
    assert "[0 basic TOP-SECRET]" in said(found)


@pytest.mark.parametrize(
    ("headers", "seen"),
    [
        (("Access-Control-Allow-Origin: {origin}", SAYS), "[0 cors TOP-SECRET]"),
        pytest.param((STAR,), "[0 cors for all]", marks=pytest.mark.slow),
        pytest.param((STAR, SAYS), "[0 cors for all]", marks=pytest.mark.slow),
        ((), "[0 refused]"),
    ],
)
def test_another_origin_of_the_site_is_read_with_the_password_if_its_server_allows_it(web, headers, seen):
    origin = web.at("intranet.test", "")
    web._server.answers["/data"] = answering(*(header.format(origin=origin) for header in headers))
    found = web.render(f"{origin}/", fetching(web.at("api.intranet.test", "/data")))
    assert seen in said(found)


def test_scripts_of_other_sites_run_and_receive_no_credentials(web):
    url = web.at("intranet.test", "/lib.js")
    found = web.render(web.at("evil.test"), page(f"<body><script src={url}></script>"))
    assert "library" in said(found)
    assert [told(raw) for raw in web.asked("/lib.js")] == [set()]


@pytest.mark.parametrize("path", [pytest.param("/there", marks=pytest.mark.slow), "/and-back"])
def test_a_redirect_over_another_site_carries_no_password(web, path):
    answers = web._server.answers
    answers["/there"] = redirect(web.at("intranet.test", "/star"))
    answers["/and-back"] = redirect(web.at("other.test", "/there"))
    at = "evil.test" if path == "/there" else "intranet.test"
    found = web.render(web.at(at), fetching(path))
    assert "TOP-SECRET" not in said(found)
    assert [told(raw) for raw in web.asked("/star")] in ([], [set()])


def test_cookies_go_to_the_site_of_the_page_alone(stage):
    with opened(stage, cookies=True) as web:
        web._server.answers["/login"] = page("welcome", "Set-Cookie: session=7")
        login = [web.at("intranet.test", "/login")]
        urls = [web.at("intranet.test", "/star")]
        found = web.render(web.at("evil.test"), fetching(*urls), before=login)
        assert "[0 cors for all]" in said(found)
        found = web.render(web.at("intranet.test"), fetching("/closed"), before=login)
        assert "[0 basic TOP-SECRET]" in said(found)
        assert [told(raw) for path in ("/star", "/closed") for raw in web.asked(path)] == [set(), {b"cookie"}]


def test_a_cookie_of_another_site_is_not_stored(stage):
    with opened(stage, cookies=True) as web:
        web._server.answers["/sets"] = page("x", "Set-Cookie: session=7", STAR, kind="text/plain")
        url = web.at("intranet.test", "/sets")
        web.render(web.at("evil.test"), fetching(url, f"{url}?2", options="{credentials: 'include'}"))
        assert [told(raw) for raw in web.asked("/sets")] == [set()]


@pytest.mark.parametrize("mode", ["fetch", pytest.param("xhr", marks=pytest.mark.slow)])
def test_a_page_reads_nothing_that_its_server_does_not_allow(web, mode):
    url = web.at("other.test", "/closed")
    code = {
        "fetch": f"fetch('{url}').then(r => r.text())"
        ".then(t => document.body.append('read ' + t), e => document.body.append('refused'))",
        "xhr": f"const x = new XMLHttpRequest(); x.open('GET', '{url}'); "
        "x.onload = () => document.body.append('read ' + x.responseText);"
        "x.onerror = () => document.body.append('refused'); x.send()",
    }[mode]
    text = said(web.render(web.at("evil.test"), shell(code)))
    assert text.endswith("refused</body></html>")


def test_an_opaque_response_shows_nothing_and_star_does_not_allow_requests_with_credentials(web):
    closed, star = (web.at("other.test", path) for path in ("/closed", "/star"))
    requests = ((closed, "{mode: 'no-cors'}"), (star, "{credentials: 'include'}"))
    found = web.render(web.at("evil.test"), fetching(*requests))
    assert "[0 opaque ]" in said(found)
    assert "[1 refused]" in said(found)


def test_a_redirect_to_another_origin_is_read_if_that_origin_allows_it(web):
    web._server.answers |= {
        "/to-closed": redirect(web.at("other.test", "/closed")),
        "/to-star": redirect(web.at("other.test", "/star")),
    }
    found = web.render(web.at("evil.test"), fetching("/to-closed", "/to-star"))
    assert "[0 refused]" in said(found)
    assert "[1 cors for all]" in said(found)


def test_a_preflight_goes_to_the_server(web):
    async def answer(raw, writer):
        allowed = (STAR, "Access-Control-Allow-Headers: x-token") if b"?yes" in raw else (STAR,)
        writer.write(page("data", *allowed, kind="text/plain"))

    web._server.answers |= {"/api?yes": answer, "/api?no": answer}
    urls = [web.at("other.test", path) for path in ("/api?yes", "/api?no")]
    found = web.render(web.at("evil.test"), fetching(*urls, options="{headers: {'x-token': '1'}}"))
    assert "[0 cors data]" in said(found)
    assert "[1 refused]" in said(found)
    asked = [raw.split(b" ")[0] for path in ("/api?yes", "/api?no") for raw in web.asked(path)]
    assert asked == [b"OPTIONS", b"GET", b"OPTIONS"]
    assert [part.kind for part in found.subresources].count("preflight") == 2


def test_a_preflight_for_a_refused_request_is_not_sent(web):
    options = "{method: 'POST', headers: {'x-token': '1'}}"
    found = web.render(web.at("evil.test"), fetching(web.at("other.test", "/star"), options=options))
    assert found.refusals["method"] == 1
    assert not web.asked("/star")


def test_a_page_of_the_open_web_reaches_no_private_network(web):
    url = web.at("intranet.test", "/star")
    found = web.render(web.at("evil.test"), fetching(url, "/star"), peer="93.184.216.34")
    assert "[0 refused]" in said(found)
    assert "[1 refused]" in said(found)  # its name may have another address by now
    assert found.refusals["address_blocked"] == 2
    assert not web.asked("/star")


def test_a_response_to_a_password_is_not_cached_for_other_sites(stage, web):
    web._server.answers["/personal.js"] = page("document.body.append('mine')", kind="text/javascript")
    url = web.at("intranet.test", "/personal.js")
    with_it = page(f"<body><script src={url}></script>")
    with stage.cache_parts():
        for host in ("intranet.test", "evil.test", "intranet.test"):
            assert "mine" in said(web.render(web.at(host), with_it))
    assert [told(raw) for raw in web.asked("/personal.js")] == [{b"authorization"}, set()]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://www.example.co.uk:8080/a", "http://example.co.uk"),
        ("https://example.co.uk/", "https://example.co.uk"),
        ("http://me.github.io/", "http://me.github.io"),
        ("http://10.0.0.1/", "http://10.0.0.1"),
        ("http://intranet/", "http://intranet"),
    ],
)
def test_a_site_is_a_scheme_and_a_registered_domain(url, expected):
    assert site(canonicalize(url)) == expected


@pytest.mark.parametrize(
    ("headers", "may"),
    [
        ([("Access-Control-Allow-Origin", "http://a"), ("access-control-allow-credentials", "true")], True),
        ([("Access-Control-Allow-Origin", "*"), ("Access-Control-Allow-Credentials", "true")], False),
        ([("Access-Control-Allow-Origin", "http://a")], False),
        ([("Access-Control-Allow-Origin", "http://a"), ("Access-Control-Allow-Credentials", "True")], False),
        (
            [
                ("Access-Control-Allow-Origin", "http://a"),
                ("Access-Control-Allow-Origin", "http://b"),
                ("Access-Control-Allow-Credentials", "true"),
            ],
            False,
        ),
    ],
)
def test_only_the_origin_itself_with_credentials_allowed_may_read(headers, may):
    assert allows_credentialed_read(headers, "http://a") is may
