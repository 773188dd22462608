"""`suspicion`: pages that stand in the place of what was asked for. Pure.

1. `block_page`: whoever guards the site took us for a robot, or wants to know: a challenge, a captcha, a denial. Evidence
   is a header that guards set on nothing else, or what only the guard's own page holds (its scripts are on honest
   pages too, and count for nothing), or a title that such pages have on a page that says little else.
2. `soft_404`: the server says 200 and the page says that there is none: a part of its title is one of the phrases for it,
   and the page says little else.
3. `login_page`: a title that asks to log in, a field for a password, and little else.

Rather a bad page passes than an honest one is taken for it: without a header it takes two signs, one of which is that
the page has hardly any text. Looked at are the first `LOOKED_AT` bytes; of a page with an ordinary title and many
tags only the title.
"""

import re
from collections.abc import Callable
from typing import Literal, get_args

from extract.references import unescape

SoftError = Literal["block_page", "soft_404", "login_page"]

SOFT_ERRORS: frozenset[str] = frozenset(get_args(SoftError))
LOOKED_AT = 256 << 10
LITTLE = 1_500
"""Bytes of text on a page of a guard; the longest known have 900."""
LITTLE_BUT_A_CAPTCHA = 500
LITTLE_BUT_MENUS = 3_000
"""Bytes of text on a page that says that there is none: it may have the site's menus."""
BEGINNING = 16 << 10
MOST_TAGS = 500
"""Tags, closing ones too, on a page of a guard."""

_HEADERS: tuple[tuple[str, str], ...] = (
    ("cf-mitigated", "challenge"),  # Cloudflare, "Detect a Challenge Page response"
    ("x-amzn-waf-action", "c"),  # AWS WAF: captcha or challenge
    ("x-vercel-mitigated", ""),  # Vercel Firewall: challenge or deny
    ("x-sucuri-block", ""),
)
"""Headers of guards' pages alone, and what their value begins with."""
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
"""What stands on guards' own pages."""
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
    r"(?:(?:was |is |could |can)?\s?not (?:be )?found|cannot be found|can[\u2019']t be found|does ?n[o\u2019']t exist|not available|no longer exists)\W*(?:\(?404\)?)?"
    r"|seite (?:wurde )?nicht gefunden|nicht gefunden|page (?:introuvable|non trouv\u00e9e)|p\u00e1gina no encontrada"
    r"|p\u00e1gina n\u00e3o encontrada|pagina non trovata|pagina niet gevonden|sidan (?:kunde inte hittas|hittades inte)"
    r"|siden (?:ble|blev) ikke fundet|sivua ei l\u00f6ytynyt|nie znaleziono strony|strona nie istnieje"
    r"|\u0441\u0442\u0440\u0430\u043d\u0438\u0446\u0430 \u043d\u0435 \u043d\u0430\u0439\u0434\u0435\u043d\u0430"
    r"|sayfa bulunamad\u0131|\u30da\u30fc\u30b8\u304c\u898b\u3064\u304b\u308a\u307e\u305b\u3093|\u9875\u9762\u4e0d\u5b58\u5728"
    r"|\u627e\u4e0d\u5230\u9875\u9762|\u65e0\u6cd5\u627e\u5230\u9875\u9762",
    re.IGNORECASE,
)
_LOGIN = re.compile(
    r"(?:please )?(?:log|sign)[ -]?in|log ?on|anmelden|anmeldung|einloggen|connexion|se connecter|iniciar sesi\u00f3n|accedi",
    re.IGNORECASE,
)
_PASSWORD = re.compile(rb"""<input\b[^>]{0,500}\btype\s{0,9}=\s{0,9}["']?password""", re.IGNORECASE)
_UNSEEN = re.compile(
    rb"<(script|style|noscript|title|template|svg)\b[^>]*+>.*?(?:</\1|\Z)|<!--.*?(?:-->|\Z)|<[^>]*+>?",
    re.IGNORECASE | re.DOTALL,
)


def detect_soft_error(header: Callable[[str], str | None], html: bytes) -> SoftError | None:
    """What the page stands in the place of; None for an honest one. `html` is in UTF-8, `header` gives a header's value."""
    for name, value in _HEADERS:
        if (said := header(name)) is not None and said.lower().startswith(value):
            return "block_page"
    start = html[:LOOKED_AT]
    found = _TITLE.search(start)
    title = " ".join(unescape(found[1].decode(errors="replace")).split()) if found else ""
    parts = [part.strip(" \t.!\u2026") for part in _PARTS.split(title)]
    if any(map(_MISSING.fullmatch, parts)) and _text(start, html) < LITTLE_BUT_MENUS:
        return "soft_404"
    # Of an ordinary page the beginning has as many already.
    if start.count(b"<", 0, BEGINNING) > MOST_TAGS or start.count(b"<") > MOST_TAGS:
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
    """Bytes that a reader sees; what is not looked at counts as seen."""
    return len(b" ".join(_UNSEEN.sub(b" ", start).split())) + len(html) - len(start)
