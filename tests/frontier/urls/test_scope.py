"""A scope admits what its reach says and nothing else."""

import re

import pytest

from tests.shared import shared_file
from thresher.core import InputError
from thresher.frontier import InvalidUrl, Scope, canonicalize
from thresher.frontier.urls.scope import registered_domain

SEED = canonicalize("https://docs.example.co.uk:8443/guide/start.html?x=/y/")


@pytest.mark.parametrize(
    ("kind", "inside", "outside"),
    [
        ("any", ["http://other.org/"], []),
        (
            "domain",
            ["http://example.co.uk/", "http://a.b.example.co.uk/"],
            ["http://other.co.uk/", "http://example.com/"],
        ),
        (
            "host",
            ["http://docs.example.co.uk/", "https://docs.example.co.uk:1/x"],
            ["http://example.co.uk/", "http://a.docs.example.co.uk/"],
        ),
        (
            "prefix",
            ["https://docs.example.co.uk:8443/guide/", "https://docs.example.co.uk:8443/guide/a/b?c"],
            [
                "https://docs.example.co.uk:8443/guide",
                "https://docs.example.co.uk/guide/a",
                "http://docs.example.co.uk:8443/guide/a",
            ],
        ),
    ],
)
def test_a_scope_reaches_as_far_as_it_says(kind, inside, outside):
    scope = Scope.of(kind, SEED)
    assert scope.admits(SEED)
    assert all(scope.admits(canonicalize(url)) for url in inside)
    assert not any(scope.admits(canonicalize(url)) for url in outside)


@pytest.mark.parametrize("kind", ["any", "domain", "host", "prefix"])
def test_a_scope_survives_its_text(kind):
    scope = Scope.of(kind, SEED)
    assert Scope.parse(str(scope)) == scope


@pytest.mark.parametrize("text", ["", "all", "host", "host:", "any:x", "planet:earth"])
def test_another_text_is_no_scope(text):
    with pytest.raises(InputError, match="not a scope"):
        Scope.parse(text)


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("localhost", "localhost"),
        ("a.b.site.test", "site.test"),
        ("co.uk", "co.uk"),
        ("somebody.github.io", "somebody.github.io"),
        ("www.xn--mnchen-3ya.de", "xn--mnchen-3ya.de"),
    ],
)
def test_a_registered_domain_has_one_owner(host, domain):
    assert registered_domain(host) == domain


@pytest.mark.shared
def test_registered_domains_are_those_of_the_public_suffix_list():
    cases = re.findall(
        r"^checkPublicSuffix\('([^']+)', '([^']+)'\);$",
        shared_file("urls/psl-test_psl.txt").read_text(),
        re.MULTILINE,
    )
    assert len(cases) > 50
    for host, domain in cases:
        url = canonicalize(f"http://{host}/")
        assert registered_domain(url.host) == canonicalize(f"http://{domain}/").host


@pytest.mark.shared
def test_the_rules_of_the_public_suffix_list_hold_for_its_own_cases():
    cases = [
        line.split()
        for line in shared_file("urls/psl-tests.txt").read_text().split("\n")
        if line.strip() and not line.startswith("//")
    ]
    checked = 0
    for host, domain in cases:
        try:
            url = canonicalize(f"http://{host}/")
        except InvalidUrl:
            continue  # no host, or one with a leading dot
        # What nobody registered is its own domain here, where the list has none.
        expected = url.host if domain == "null" else canonicalize(f"http://{domain}/").host
        assert registered_domain(url.host) == expected
        checked += 1
    assert checked > 60
