"""Find keys and tokens that open somebody's account, by the formats that their issuers document.

Each format starts with a literal, which `str.find` looks for first, so a text without secrets costs one search a
format. Time is linear: patterns have no nested repetition and a bounded length. Sample values of documentation
are not found, because they open nothing.
"""

import re
from collections.abc import Iterator

from thresher.filters.signals.personal_data import Occurrence

MAX_BLOCK = 20_000
"""Characters of a private key with its frame: an RSA key of 16,384 bits has 12,000."""
MIN_BODY = 40
"""Characters between the frames of a private key at least; an Ed25519 key has 64."""
MIN_DISTINCT = 8
"""A token with fewer distinct characters is a placeholder."""

FORMATS: tuple[tuple[str, str], ...] = (
    # AWS IAM identifiers: unique ids with the prefixes of access keys.
    ("AKIA", r"AKIA[A-Z2-7]{16}"),
    ("ASIA", r"ASIA[A-Z2-7]{16}"),
    ("aws_secret_access_key", r"aws_secret_access_key[\"']?\s{0,3}+[=:]\s{0,3}+[\"']?([A-Za-z0-9/+]{40})"),
    # GitHub: "About authentication to GitHub", token prefixes.
    ("ghp_", r"ghp_[A-Za-z0-9]{36}"),
    ("gho_", r"gho_[A-Za-z0-9]{36}"),
    ("ghu_", r"ghu_[A-Za-z0-9]{36}"),
    ("ghs_", r"ghs_[A-Za-z0-9]{36}"),
    ("ghr_", r"ghr_[A-Za-z0-9]{36,76}+"),
    ("github_pat_", r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    # GitLab: "Token overview", token prefixes.
    ("glpat-", r"glpat-[\w-]{20,50}+"),
    # Slack: "Token types", and incoming webhooks.
    ("xox", r"xox[abeoprs]-[A-Za-z0-9-]{10,250}+"),
    (
        "hooks.slack.com/services/",
        r"hooks\.slack\.com/services/(T[A-Z0-9]{7,12}+/B[A-Z0-9]{7,12}+/[A-Za-z0-9]{20,30}+)",
    ),
    # Google: API keys, OAuth client secrets.
    ("AIza", r"AIza[\w-]{35}"),
    ("GOCSPX-", r"GOCSPX-[\w-]{28}"),
    # Stripe: "API keys".
    ("sk_live_", r"sk_live_[A-Za-z0-9]{16,247}+"),
    ("rk_live_", r"rk_live_[A-Za-z0-9]{16,247}+"),
    # OpenAI and Anthropic.
    ("sk-", r"sk-(?:proj-|svcacct-|ant-[a-z0-9]{3,8}+-)?[\w-]{40,200}+"),
    # Hugging Face: "User access tokens". npm, PyPI: token prefixes (PyPI: macaroons for pypi.org).
    ("hf_", r"hf_[A-Za-z]{34}"),
    ("npm_", r"npm_[A-Za-z0-9]{36}"),
    ("pypi-AgEIcHlwaS5vcmc", r"pypi-AgEIcHlwaS5vcmc[\w-]{50,1000}+"),
    # SendGrid, Twilio, DigitalOcean, Shopify, Telegram, Azure Storage.
    ("SG.", r"SG\.[\w-]{22}\.[\w-]{43}"),
    ("AC", r"AC[0-9a-f]{32}:[0-9a-f]{32}"),
    ("_v1_", r"do[por]_v1_[0-9a-f]{64}"),
    ("shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    (":AA", r"(?<=\d{8}):AA[\w-]{33}"),
    ("AccountKey=", r"AccountKey=([A-Za-z0-9+/]{86}==)"),
    # JSON Web Tokens (RFC 7519): header and payload are JSON objects, so both begin with `{"`.
    ("eyJ", r"eyJ(?<![\w-]eyJ)[\w-]{8,2000}+\.eyJ[\w-]{8,8000}+\.[\w-]{16,2000}+"),
    # A password within a URL (RFC 3986, section 3.2.1).
    ("://", r"://[^\s:/@?#\"'<>]{1,100}+:([^\s:/@?#\"'<>]{4,100}+)@[\w.-]{1,253}+"),
)
"""Literal that a format contains, and its pattern. The first group is the secret, or all of it without a group."""

_COMPILED = tuple((literal, re.compile(rf"{pattern}(?![\w-])")) for literal, pattern in FORMATS)
_BLOCK = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_BLOCK_END = re.compile(r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]{40,}+")
_SAMPLE = re.compile(
    r"example|your[-_]?|xxxx|sample|placeholder|redacted|changeme|123456789|abcdefgh|password", re.IGNORECASE
)
_WORD = re.compile(r"\w")


def account_keys(text: str) -> Iterator[Occurrence]:
    """Yield the keys and tokens, format by format."""
    yield from _private_keys(text)
    for literal, pattern in _COMPILED:
        if literal not in text:
            continue
        for found in pattern.finditer(text):
            start, end = found.span(1 if pattern.groups else 0)
            secret = text[start:end]
            joined = found.start() and _WORD.match(text[found.start() - 1]) and literal[0].isalnum()
            if joined or _SAMPLE.search(secret) or (len(set(secret)) < MIN_DISTINCT and literal != "://"):
                continue
            yield Occurrence(start, end, "key", secret)


def _private_keys(text: str) -> Iterator[Occurrence]:
    """Yield PEM and OpenPGP private keys, also such as lost their end. The frame stays: it is no secret."""
    if "PRIVATE KEY" not in text:
        return
    for found in _BLOCK.finditer(text):
        begin, limit = found.end(), found.end() + MAX_BLOCK
        dashes = text.find("-----", begin, limit)
        if dashes >= 0 and _BLOCK_END.match(text, dashes):
            stop = dashes
        else:
            body = _BASE64.search(text, begin, limit if dashes < 0 else dashes)
            stop = begin if body is None else body.end()
        inner = text[begin:stop]
        start, stop = begin + len(inner) - len(inner.lstrip()), begin + len(inner.rstrip())
        if stop - start >= MIN_BODY and not _SAMPLE.search(text, start, stop):
            yield Occurrence(start, stop, "key", "".join(text[start:stop].split()))
