"""Detect soft errors: pages that a server sends with status 200 instead of the requested page. Pure.

1. `block_page`: a bot protection sends a challenge, a captcha or a denial. Evidence is a header that only such pages
   have; or markup that only the protection's own page has; or a typical title. Scripts of the protection do not count,
   because real pages have them too. Without the header, the page must also have little text.
2. `soft_404`: a part of the title is a phrase for a missing page, and the page has little other text.
3. `login_page`: the title asks the reader to log in, there is a password field, and the page has little other text.

A missed soft error is better than a real page taken for one. Without a header, two signs are therefore required, and
one of them is that the page has hardly any text. Only the first `LOOKED_AT` bytes are read; of a page with an ordinary
title and many tags, only the title.
"""

import re
from collections.abc import Callable
from typing import Literal, get_args

from thresher.extract.references import unescape

SoftError = Literal["block_page", "soft_404", "login_page"]

SOFT_ERRORS: frozenset[str] = frozenset(get_args(SoftError))
LOOKED_AT = 256 << 10
LITTLE = 1_500
"""Bytes of text on a block page or login page at most; the longest known block pages have 900."""
LITTLE_BUT_A_CAPTCHA = 500
LITTLE_BUT_MENUS = 3_000
"""Bytes of text on a soft 404 at most: such a page may have the menus of the site."""
BEGINNING = 16 << 10
MAX_TAGS = 500
"""Tags, including end tags, on a block page or login page at most."""

_HEADERS: tuple[tuple[str, str], ...] = (
    ("cf-mitigated", "challenge"),  # Cloudflare, "Detect a Challenge Page response"
    ("x-amzn-waf-action", "c"),  # AWS WAF: captcha or challenge
    ("x-vercel-mitigated", ""),  # Vercel Firewall: challenge or deny
    ("x-sucuri-block", ""),
)
"""Headers that only block pages have, and the start of their value."""
_MARKS = (
    b"_cf_chl_opt",  # Cloudflare's challenge
    b"cf-browser-verification",
    b'id="challenge-form"',
    b"cf-error-details",  # its denial
    b"errors.edgesuite.net",  # Akamai's denial
    b"sec-if-cpt-container",  # its challenge
    b"bm-verify",
    b"captcha.px-cdn.net",  # HUMAN, once PerimeterX
    b"captcha.perimeterx.net",
    b"px-captcha",
    b"captcha-delivery.com",  # DataDome
    b"Incapsula incident ID",  # Imperva
    b"awsWafCookieDomainList",  # AWS WAF
    b"window.gokuProps",
    b"Sucuri WebSite Firewall",
    b"ddos-guard.net",
    b"/_sec/cp_challenge",
    b"validatecaptcha",  # Amazon's shop
)
"""Markup that only block pages have."""
_CAPTCHAS = (b"g-recaptcha", b"h-captcha", b"cf-turnstile", b"recaptcha/api", b"hcaptcha.com/1/api")
_BLOCKED = re.compile(
    r"just a moment|attention required|access (?:to this page has been |was )?denied|pardon our interruption"
    r"|(?:are you|not) a (?:ro)?bot|robot check|robot or human|verify (?:that )?you are (?:a )?human|human verification"
    r"|security (?:check|verification|challenge)|bot (?:check|verification)|checking your browser|ddos-guard"
    r"|captcha|unusual traffic|you have been blocked|request (?:blocked|unsuccessful|rejected)"
    r"|please enable (?:js|javascript|cookies)",
    re.IGNORECASE,
)
_TITLE = re.compile(rb"<[tT][iI][tT][lL][eE][^>]{0,200}>([^<]{0,500})")
_PARTS = re.compile(r"\s+[-\u2010-\u2015|:·•»«/]+\s+|[|»«:]|\s{2,}")
_MISSING = re.compile(
    r"(?:error\W*|http\W*)*404(?:\W*(?:error|page))?(?:\W*(?:file |page )?not found\W*)?1*"
    r"|(?:oops\W*|sorry\W*|error\W*)*(?:(?:the |this |that )?(?:requested |web ?)?(?:page|file|document|url|content) )?"
    r"(?:(?:was |is |could |can)?\s?not (?:be )?found|cannot be found|can[\u2019']t be found|does ?n[o\u2019']t exist"
    r"|not available|no longer exists)\W*(?:\(?404\)?)?"
    r"|seite (?:wurde )?nicht gefunden|nicht gefunden|page (?:introuvable|non trouv\u00e9e)|p\u00e1gina no encontrada"
    r"|p\u00e1gina n\u00e3o encontrada|pagina non trovata|pagina niet gevonden|sidan (?:kunde inte hittas"
    r"|hittades inte)"
    r"|siden (?:ble|blev) ikke fundet|sivua ei l\u00f6ytynyt|nie znaleziono strony|strona nie istnieje"
    r"|\u0441\u0442\u0440\u0430\u043d\u0438\u0446\u0430 \u043d\u0435 \u043d\u0430\u0439\u0434\u0435\u043d\u0430"
    r"|sayfa bulunamad\u0131|\u30da\u30fc\u30b8\u304c\u898b\u3064\u304b\u308a\u307e\u305b\u3093"
    r"|\u9875\u9762\u4e0d\u5b58\u5728"
    r"|\u627e\u4e0d\u5230\u9875\u9762|\u65e0\u6cd5\u627e\u5230\u9875\u9762",
    re.IGNORECASE,
)
_LOGIN = re.compile(
    r"(?:please )?(?:log|sign)[ -]?in|log ?on|anmelden|anmeldung|einloggen|connexion|se connecter|iniciar sesi\u00f3n"
    r"|accedi",
    re.IGNORECASE,
)
_PASSWORD = re.compile(rb"""<input\b[^>]{0,500}\btype\s{0,9}=\s{0,9}["']?password""", re.IGNORECASE)
_UNSEEN = re.compile(
    rb"<(script|style|noscript|title|template|svg)\b[^>]*+>.*?(?:</\1|\Z)|<!--.*?(?:-->|\Z)|<[^>]*+>?",
    re.IGNORECASE | re.DOTALL,
)


def detect_soft_error(header: Callable[[str], str | None], html: bytes) -> SoftError | None:
    """Return the kind of soft error; return None for a real page. `html` is in UTF-8, `header` returns a header's
    value.
    """
    for name, value in _HEADERS:
        if (sent := header(name)) is not None and sent.lower().startswith(value):
            return "block_page"
    start = html[:LOOKED_AT]
    found = _TITLE.search(start)
    title = " ".join(unescape(found[1].decode(errors="replace")).split()) if found else ""
    parts = [part.strip(" \t.!\u2026") for part in _PARTS.split(title)]
    if any(map(_MISSING.fullmatch, parts)) and _text(start, html) < LITTLE_BUT_MENUS:
        return "soft_404"
    # Count the beginning first: on an ordinary page it already has too many tags.
    if start.count(b"<", 0, BEGINNING) > MAX_TAGS or start.count(b"<") > MAX_TAGS:
        return None
    signs = _BLOCKED.search(title) is not None or any(mark in start for mark in _MARKS)
    if (signs and _text(start, html) < LITTLE) or (
        any(mark in start for mark in _CAPTCHAS) and _text(start, html) < LITTLE_BUT_A_CAPTCHA
    ):
        return "block_page"
    if any(map(_LOGIN.fullmatch, parts)) and _PASSWORD.search(start) and _text(start, html) < LITTLE:
        return "login_page"
    return None


def _text(start: bytes, html: bytes) -> int:
    """Return the bytes of visible text; bytes beyond `start` count as visible."""
    return len(b" ".join(_UNSEEN.sub(b" ", start).split())) + len(html) - len(start)
