"""The rules of a robots.txt for us; the numbers in the names are sections of RFC 9309."""

import tarfile

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.shared import read_tar_file, shared_file
from thresher.crawler.robots import robots_rules
from thresher.crawler.robots.robots_rules import (
    MAX_LINE_LENGTH,
    MAX_ROBOTS_BYTES,
    MAX_STEPS,
    normalize_path,
    parse_rules,
    request_path,
    whole_lines,
)


def allowed(text, path, product="thresher"):
    body = text if isinstance(text, bytes) else text.encode()
    return parse_rules(body, product).allows(request_path(f"http://example.org{path}"))


def ours(*lines):
    return "\n".join(("User-agent: thresher", *lines))


@pytest.mark.parametrize(
    "text",
    [
        "user-agent: thresher\ndisallow: /",
        "USER-AGENT: THRESHER\nDISALLOW: /",
        "User-Agent: Thresher/2.1\nDisallow: /",
        "User-Agent: thresher bot\nDisallow: /",
        "User-agent: *\nDisallow: /",
        "User-agent: * # all\nDisallow: / # nothing for anybody",
        "User-agent: a\nUser-agent: thresher\nUser-agent: b\nDisallow: /",
        "User-agent: thresher\n\n\nDisallow: /",
        "User-agent : thresher\n disallow :/",
        "User-agent thresher\nDisallow /",
        "useragent: thresher\ndissallow: /",
        "user agent: thresher\ndisallaw: /",
        "User-agent: a\nSitemap: http://example.org/s\nUser-agent: thresher\nDisallow: /",
        "User-agent: thresher\nCrawl-delay: 3\nUser-agent: a\nDisallow: /",
        "User-agent: thresher\nUnknown: 1\nUser-agent: a\nDisallow: /",
        "User-agent: thresher\nAllow: /x\nUser-agent: a\nAllow: /\nUser-agent: thresher\nDisallow: /",
        "User-agent: thresher\r\nDisallow: /\r\n",
        "User-agent: thresher\rDisallow: /\r",
        "\ufeffUser-agent: thresher\nDisallow: /",
        "User-agent: thresher\nDisallow:\u00a0/\u00a0",
        b"\xef\xbbUser-agent: thresher\nDisallow: /",
        "User-agent: thresher\nDisallow: /\0",
        "\ufeffUser-agent: thresher\nDisallow: /".encode("utf-16-le"),
        "\ufeffUser-agent: thresher\nDisallow: /".encode("utf-16-be"),
        "User-agent: thresher\nDisallow: /".encode("utf-16-le"),
        b"User-agent: thresher\nDisallow: /\n\xff\xfe\xfd",
    ],
)
def test_2_1_a_file_that_forbids_us_everything_in_any_form_is_obeyed(text):
    assert not allowed(text, "/page")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<!doctype html><html><body>Disallow: /</body></html>",
        "Disallow: /",
        "User-agent: thresh\nDisallow: /",
        "User-agent: thresher-image\nDisallow: /",
        "User-agent: *bot\nDisallow: /",
        "User-agent:\nDisallow: /",
        "User-agent: thresher\nDisallow:",
        "User-agent: thresher\nDisallow: #/",
        "User-agent: thresher\n\nUser-agent: *\nAllow: /x\nUser-agent: a\nDisallow: /",
        "User-agent: *\nDisallow: /\n\nUser-agent: thresher\nDisallow: /other",
        "User-agent: thresher\nAllow: /\nDisallow: /",
        "User-agent: thresher\nDisallow: page",
        "User-agent: thresher\u2028Disallow: /",
    ],
)
def test_2_2_1_rules_for_others_forbid_us_nothing(text):
    assert allowed(text, "/page")


def test_2_2_1_our_groups_are_one_group_without_those_for_everybody():
    text = "User-agent: thresher\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n\nUser-agent: thresher\nDisallow: /c"
    assert [allowed(text, path) for path in ("/a", "/b", "/c")] == [False, True, False]
    assert [allowed(text, path, "other") for path in ("/a", "/b", "/c")] == [True, False, True]


@pytest.mark.parametrize(
    ("rules", "path", "expected"),
    [
        (("Disallow: /x/page.html", "Allow: /x/"), "/x/page.html", False),
        (("Allow: /x/page.html", "Disallow: /x/"), "/x/page.html", True),
        (("Disallow: /x", "Allow: /x/"), "/x", False),
        (("Disallow: /x", "Allow: /x/"), "/x/", True),
        (("Allow: /page", "Disallow: /*.html"), "/page.html", False),
        (("Allow: /x/page.", "Disallow: /*.html"), "/x/page.html", True),
        (("Allow: /page", "Disallow: /*.htm"), "/page.htm", False),
        (("Allow: /$", "Disallow: /"), "/", True),
        (("Allow: /$", "Disallow: /"), "/page", False),
        (("Disallow: /a*", "Allow: /a$"), "/a", True),
        (("Allow: /fold", "Disallow: /*old"), "/folder", True),
        (("Disallow: /~joe/", "Allow: /%7Ejoe/"), "/~joe/x", True),
    ],
)
def test_2_2_2_the_rule_with_the_most_octets_wins_and_of_two_as_long_allow(rules, path, expected):
    assert allowed(ours(*rules), path) == expected


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("/fish", "/fish.html"),
        ("/fish*", "/fish"),
        ("/*.php", "/folder/any.php.file.html"),
        ("/*.php", "/index?f=filename.php/"),
        ("/*.php$", "/folder/filename.php"),
        ("/fish*.php", "/fishheads/catfish.php?parameters"),
        ("*/print", "/a/print"),
        ("/**a***b", "/xaxb"),
        ("/a$b", "/a$b"),
        ("/x*y*z$", "/xyzzyz"),
        ("/foo/bar/\u30c4", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84"),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
        ("/foo/bar?baz=https%3A%2F%2Ffoo.bar", "/foo/bar?baz=https://foo.bar"),
        ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"),
        ("/%7Ejoe/", "/~joe/index.html"),
        ("/~joe/", "/%7Ejoe/index.html"),
        ("/a%3cd.html", "/a%3Cd.html"),
        ("/a%2fb", "/a%2Fb"),
        ("/100%", "/100%25"),
        ("/a b", "/a%20b"),
        ("/%2A", "/*"),
        ("/*?c", "/a?b?c"),
        ("/*/print", "/x?u=/print"),
        ("/?", "?q"),
    ],
)
def test_2_2_2_and_2_2_3_rules_and_paths_are_compared_octet_by_octet_in_one_form(rule, path):
    assert not allowed(ours(f"Disallow: {rule}"), path)


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("/fish", "/Fish.asp"),
        ("/fish", "/catfish"),
        ("/fish/", "/fish"),
        ("/*.php$", "/filename.php?parameters"),
        ("/*.php$", "/filename.php5"),
        ("/x*ab$", "/xb"),
        ("/a$", "/a$"),
        ("/a*a$", "/a"),
        ("/a%2Fb", "/a/b"),
        ("/a/b", "/a%2Fb"),
        ("/a%3Fb", "/a?b"),
        ("/%2A", "/x"),
        ("/x%24", "/x"),
    ],
)
def test_2_2_3_a_path_without_a_matching_rule_is_allowed(rule, path):
    assert allowed(ours(f"Disallow: {rule}"), path)


def test_2_2_2_the_robots_txt_itself_is_always_allowed():
    assert allowed("User-agent: *\nDisallow: /", "/robots.txt")
    assert not allowed("User-agent: *\nDisallow: /", "/robots.txt?x")


def test_2_5_a_line_that_is_cut_by_the_limit_is_no_rule():
    start = b"User-agent: *\nDisallow: /a\n"
    body = start + b"#" * (MAX_ROBOTS_BYTES - len(start) - len(b"\nDisallow: /b")) + b"\nDisallow: /b"
    assert len(body) == MAX_ROBOTS_BYTES
    assert not allowed(body, "/b")
    assert not allowed(body + b"\nDisallow: /", "/b")
    assert allowed(body + b"eyond", "/b")
    assert not allowed(body + b"eyond", "/a")
    assert whole_lines(b"Disallow: /a\nDisall", cut=True) == b"Disallow: /a\n"


def test_only_the_beginning_of_an_endless_line_is_read():
    body = b"User-agent: *\nDisallow: /x\nDisallow: /" + b"y" * 10_000_000
    assert not allowed(body, "/x")
    assert allowed(body, "/y")
    assert not allowed(ours("Disallow: /" + "*" * MAX_LINE_LENGTH + "x"), "/y")


def test_the_time_of_a_decision_is_bounded():
    many = 4_000
    rules = parse_rules(
        ours(*(f"Disallow: /{'a*' * 50}b{number}" for number in range(many))).encode(), "thresher"
    )
    long = "/" + "a" * 1_900
    assert len(rules.patterns.splitlines()) == many
    assert not rules.allows(long), "more than may be asked of us is forbidden"
    assert rules.allows(long[: MAX_STEPS // many])


def test_a_rule_of_many_stars_is_matched_from_left_to_right():
    assert allowed(ours("Disallow: /" + "a*" * 5_000 + "b"), "/" + "a" * 1_900)
    assert not allowed(ours("Disallow: /" + "a*" * 900 + "b"), "/" + "a" * 1_900 + "b")


@pytest.mark.parametrize(
    ("lines", "delay_s"),
    [
        (("Crawl-delay: 0.5",), 0.5),
        (("Crawl-delay: .5",), 0.5),
        (("crawl-delay: 10 # seconds",), 10),
        (("Crawl-delay: 10s",), 10),
        (("Crawl-delay: -5",), None),
        (("Crawl-delay: soon",), None),
        (("Crawl-delay: nan",), None),
        (("Crawl-delay: 1e9",), 1e9),
        (("Request-rate: 1/5",), 5),
        (("Request-rate: 30/1m 0600-0845",), 2),
        (("Request-rate: 0/5",), None),
        (("Crawl-delay: 2", "Crawl-delay: 4", "Request-rate: 1/3"), 4),
        (("Disallow: /x", "", "User-agent: other", "Crawl-delay: 9"), None),
        (("Allow: /", "User-agent: *", "Crawl-delay: 9"), None),
    ],
)
def test_the_slowest_of_several_delays_counts(lines, delay_s):
    assert parse_rules(ours(*lines).encode(), "thresher").delay_s == delay_s


def test_2_2_4_sitemaps_apply_to_everybody_and_end_no_group():
    rules = parse_rules(
        b"Sitemap: /a\nUser-agent: x\nSitemap: http://b.org/s\nsite-map: /a\nSitemap:\n", "thresher"
    )
    assert rules.sitemaps == ("/a", "http://b.org/s")


@given(st.binary(max_size=500), st.text(max_size=60))
def test_any_bytes_can_be_parsed_with_the_same_result_each_time(body, path):
    rules = parse_rules(b"User-agent: *\n" + body, "thresher")
    where = request_path(f"http://example.org/{path}")
    assert rules.allows(where) == rules.allows(where)


@given(st.text(st.sampled_from("/?%aA2Ff3E*$~&= é"), max_size=20))
def test_the_normal_form_is_a_fixed_point(path):
    once = normalize_path(request_path(f"http://example.org/{path}"))
    assert normalize_path(once) == once


LINES = st.sampled_from(
    [
        *(
            "User-agent: *",
            "User-agent: thresher",
            "User-agent: other",
            "# a comment",
            "",
            "Sitemap: http://a.org/é.xml",
            "Crawl-delay: 2.5",
        ),
        *(
            "Disallow: /",
            "Disallow: /a*b$",
            "Allow: /a%2Fb",
            "Disallow: /é",
            "Disallow: /%24",
            "Disallow: *",
            "Disallow: $",
            "Allow: /x%24$",
        ),
        *(
            "Disallow: /*?a=b",
            "Disallow: /?%2f*%3F",
            "Allow: /%0a%23",
            "Request-rate: 1/5m",
            "Disallow:",
            "Allow: /%2A*%2a",
        ),
    ]
)


@given(st.lists(LINES, max_size=12))
def test_the_stored_form_of_a_file_has_the_same_rules_for_us(lines):
    rules = parse_rules("\n".join(lines).encode(), "thresher")
    kept = rules.body("thresher")
    assert parse_rules(kept, "thresher") == rules
    assert b"comment" not in kept
    assert b"other" not in kept


def test_the_memory_of_rules_is_proportional_to_their_length():
    body = b"User-agent: *\n" + b"".join(b"allow:*%x\n" % number for number in range(0x10000, 0x19000))
    rules = parse_rules(body, "thresher")
    assert len(rules.patterns) < len(body)
    assert rules.size < 2 * len(body)


def files(name):
    packed = shared_file(f"robots/{name}").read_bytes()
    with tarfile.open(
        fileobj=zstandard.ZstdDecompressor().stream_reader(packed, closefd=True), mode="r|"
    ) as archive:
        for member in archive:
            if member.isfile():
                yield member.name, read_tar_file(archive, member)


def test_real_files_are_read():
    read = 0
    for _, body in files("robots-txt.tar.zst"):
        rules = parse_rules(body, "thresher")
        for prefix, allow in list(rules.prefixes.items())[:5]:
            assert rules.allows(prefix) == allow or len(rules.prefixes) + len(rules.patterns.splitlines()) > 1
        read += 1
    assert read > 1_000


CASES = {
    "rfc9309-example-rule-group-merging.txt": [
        ("examplebot", "/foo", False),
        ("examplebot", "/baz", False),
        ("bazbot", "/foo", True),
        ("bazbot", "/baz", False),
        ("other", "/bar", False),
        ("other", "/baz", True),
    ],
    "rfc9309-example-longest-match-robots.txt": [
        ("foobot", "/example/page/", True),
        ("foobot", "/example/page/disallowed.gif", False),
        ("foobot", "/example/", True),
    ],
    "directive-typos-robots.txt": [
        ("bot-a", "/desallow/", True),
        ("bot-a", "/dissalow/", False),
        ("bot-b", "/useragent/", False),
        ("bot-c", "/useg-agent/", True),
        ("bot-d", "/useragent-no-colon/", False),
    ],
    "format-errors-robots.txt": [
        ("bot-a", "/whitespace-before-colon/", False),
        ("bot-a", "/no-colon/", False),
        ("bot-b", "/no-colon-useragent/", False),
        ("bot-c", "/whitespace-before-colon", True),
        ("bot-c", "/x", False),
    ],
    "merge-rules.txt": [
        ("wget", "/foo/bar/x", True),
        ("wget", "/tmp/bar/x", False),
        ("other", "/foo/bar/x", False),
        ("curl", "/x", False),
    ],
    "crawl-delay-group-merging.txt": [
        ("mybot", "/private/", False),
        ("yourbot", "/private/", False),
        ("yourbot", "/login/", False),
        ("mybot", "/login/", True),
        ("other", "/private/", True),
    ],
    "robots-with-utf8-bom.txt": [("foobot", "/profile", False)],
    "robots-with-utf16le-bom.txt": [("foobot", "/profile", False)],
}


def test_the_cases_of_crawler_commons_have_its_results():
    seen = set()
    for name, body in files("sitemaps-feeds-robots-cases.tar.zst"):
        base = name.rpartition("/")[2]
        for digit, letter in zip(
            "1234", "abcd", strict=True
        ):  # a product token has no digits (2.2.1); those of crawler-commons have some
            body = body.replace(f"bot{digit}".encode(), f"bot-{letter}".encode())  # noqa: PLW2901
        for agent, path, expected in CASES.get(base, ()):
            assert allowed(body, path, agent) == expected, (base, agent, path)
            seen.add(base)
    assert seen == set(CASES)
    delays = {
        agent: parse_rules(body, agent).delay_s
        for name, body in files("sitemaps-feeds-robots-cases.tar.zst")
        if name.endswith("crawl-delay-group-merging.txt")
        for agent in ("mybot", "yourbot", "other")
    }
    assert delays == {"mybot": 10, "yourbot": None, "other": 30}


def test_a_rule_is_read_once_however_often_its_user_agent_is_named(monkeypatch):
    read = []
    monkeypatch.setattr(
        robots_rules._Group, "rule", lambda _, written, *, allow: read.append((written, allow))
    )
    robots_rules.parse_rules(
        b"User-agent: *\nUser-agent: thresher\n" * 500 + b"Disallow: /%%\n" * 3, "thresher"
    )
    assert read == [("/%%", False)] * 6
