"""Captchas, soft 404s and login pages are recognised; honest pages about them are not."""

import pytest

from thresher.extract.soft_error import detect_soft_error

WORDS = "<p>" + "An honest page says a good deal of things, and each of them in a sentence of its own. " * 60
SHORT = "<p>Please wait."


def judged(html, **headers):
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return detect_soft_error(given.get, html.encode())


@pytest.mark.parametrize(
    "html",
    [
        "<title>Just a moment...</title><script>window._cf_chl_opt={cvId:'3'}</script>" + SHORT,
        "<title>Attention Required! | Cloudflare</title><h1>Sorry, you have been blocked</h1><div class=cf-error-details>",
        "<TITLE>Access Denied</TITLE><H1>Access Denied</H1>You don't have permission to access this<P>Reference&#32;&#35;18&#46;2",
        "<title>Access to this page has been denied</title><script src=//captcha.px-cdn.net/x></script><div id=px-captcha>",
        "<title>shop.example</title><p>Please enable JS and disable any ad blocker<script src=//geo.captcha-delivery.com/c>",
        "<iframe id=main-iframe>Request unsuccessful. Incapsula incident ID: 1-2</iframe>",
        "<title></title><script>window.gokuProps={}</script><noscript>JavaScript is disabled</noscript>",
        "<title>Robot Check</title><form action=/errors/validateCaptcha>Type the characters you see",
        "<title>shop.example</title><div class=g-recaptcha></div>Tick the box.",
        "<title>Pardon Our Interruption</title><p>As you were browsing something made us think you were a bot.",
    ],
)
def test_a_page_of_a_guard_is_a_block(html):
    assert judged(html) == "block_page"


@pytest.mark.parametrize(
    "headers",
    [{"cf_mitigated": "challenge"}, {"x_amzn_waf_action": "captcha"}, {"x_vercel_mitigated": "deny"}],
)
def test_a_header_of_a_guard_is_enough(headers):
    assert judged(WORDS, **headers) == "block_page"


@pytest.mark.parametrize(
    "title",
    [
        "404",
        "404 Not Found",
        "Error 404 (Not Found)!!1",
        "Page not found | Example",
        "Example – Page Not Found",
        "Oops! Page not found",
        "The page cannot be found",
        "This page doesn’t exist - Example",
        "Seite nicht gefunden · Beispiel",
        "Page introuvable",
        "Страница не найдена",
        "ページが見つかりません",
    ],
)
def test_a_page_that_says_it_is_none_is_a_soft_404(title):
    assert judged(f"<title>{title}</title>{SHORT}" + "<li><a href=/>menu</a>" * 200) == "soft_404"
    assert judged(f"<title>{title}</title>{WORDS}") is None


def test_a_page_that_asks_to_log_in_is_one():
    form = "<form><input name=user><input class=x type='password'></form>"
    assert judged(f"<title>Log in - Example</title>{form}") == "login_page"
    assert judged(f"<title>Log in - Example</title>{SHORT}") is None
    assert judged(f"<title>Prices</title>{form}") is None


@pytest.mark.parametrize(
    "html",
    [
        "",
        SHORT,
        WORDS,
        "<title>What to do about “Just a moment...”</title>" + WORDS,
        "<title>Access denied: a film</title>" + WORDS,
        "<title>Contact</title>" + WORDS + "<div class=g-recaptcha>",
        "<title>Not found in translation</title>" + SHORT,
        "<title>Flight 404 to Rome</title>" + SHORT,
        "<title>Prices</title>" + WORDS + "<script src=//js.datadome.co/tags.js></script>",
        "<title>You need to enable JavaScript to run this app.</title><div id=root>",
    ],
)
def test_an_honest_page_is_none_of_these(html):
    assert judged(html, server="cloudflare", cf_ray="1") is None
