"""A command of an operator changes the frontier for every worker and for later runs."""

import asyncio
import gzip
import random
import re

import pytest

from thresher.core import InputError
from thresher.frontier import CrawlSettings, Frontier
from thresher.frontier.link.connect import connect
from thresher.frontier.link.embedded import embedded_server
from thresher.pipeline import configuration
from thresher.pipeline.commands import results
from thresher.pipeline.crawls import operator_commands, yields
from thresher.pipeline.crawls.barred_scope import barred_scope
from thresher.pipeline.crawls.seed import BATCH, SeedPlan, parse_revisit, seed_file
from thresher.pipeline.open_project import OpenProject

URLS = (
    "http://a.example.org/1",
    "http://b.example.org/2",
    "http://www.example.com/forum/3",
    "http://www.example.com/4",
)


@pytest.fixture(scope="module")
def redis(tmp_path_factory):
    with embedded_server(tmp_path_factory.mktemp("redis")) as address:
        yield address


@pytest.fixture
def project(redis, tmp_path, request):
    def make(settings=""):
        text = f'[project]\nredis = "{redis}"\n[crawler]\nmin_delay = 0\n{settings}'
        return OpenProject(config=configuration.parse(text, tmp_path))

    return make


@pytest.fixture
def name(request):
    return f"crawl-{abs(hash(request.node.nodeid))}"


def seeded(project, name, urls=URLS):
    path = project.directory / "seeds.txt"
    path.write_text("\n".join(urls))
    return seed_file(project, str(path), SeedPlan(crawl=name))


def granted(redis, name, n=100):
    """The hosts of whatever is granted now, in order, and the stats."""

    async def ask():
        link = await connect(redis)
        try:
            frontier = await Frontier(link, name).open()
            leases = await frontier.lease(n, worker="w", lease_ms=60_000)
            await frontier.workers.reclaim("w")
            return [lease.url.host for lease in leases], await frontier.stats()
        finally:
            await link.aclose()

    return asyncio.run(ask())


def test_a_held_host_is_asked_nothing_until_it_is_let_go_on(project, redis, name):
    seeded(project(), name)
    operator_commands.hold(project(), name, "a.example.org", "2d")
    assert set(granted(redis, name)[0]) == {"b.example.org", "www.example.com"}
    operator_commands.resume(project(), name, "a.example.org")
    assert "a.example.org" in granted(redis, name)[0]


@pytest.mark.parametrize(
    ("typed", "scope"),
    [
        ("domain:EXAMPLE.org", "domain:example.org"),
        ("domain:exämple.org", "domain:xn--exmple-cua.org"),
        ("domain:1.2.3.4", "domain:1.2.3.4"),
        ("host:www.Example.org.", "host:www.example.org"),
        ("host:[::1]", "host:[::1]"),
        ("prefix:https://example.org", "prefix:https://example.org/"),
        ("prefix:HTTPS://Example.org:443/%66orum/", "prefix:https://example.org/forum/"),
    ],
)
def test_a_scope_is_barred_in_the_form_that_urls_have(typed, scope):
    assert str(barred_scope(typed)) == scope


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        (
            "domain:www.example.org",
            "belongs to the registered domain example.org; write example.org or host:www.",
        ),
        ("domain:https://example.org/", "give the name of a host alone"),
        ("domain:.example.org", "host name with an empty label"),
        ("host:example.org/forum", "give the name of a host alone"),
        ("host:example.org:8080", "give the name of a host alone"),
        ("host:*.example.org", "give the name of a host alone"),
        ("host:exa mple.org", "is no host name"),
        ("prefix:example.org/forum", "no page has a URL that begins so"),
        ("prefix:ftp://example.org/", "not http or https but ftp"),
        ("any", "bars every page"),
        ("domain:", "not a scope"),
    ],
)
def test_a_scope_that_can_match_nothing_is_refused(typed, problem):
    """It was taken, and barred nothing."""
    with pytest.raises(InputError, match=problem) as error:
        barred_scope(typed)
    assert "\n" not in str(error.value)


def test_what_is_dropped_is_refused_and_not_let_in_again(project, redis, name):
    seeded(project(), name)
    assert operator_commands.drop(project(), name, "domain:example.org") == 2
    hosts, stats = granted(redis, name)
    assert set(hosts) == {"www.example.com"}
    assert stats.reasons == {"refused:dropped": 2}
    again = seeded(project(), name, ["http://a.example.org/new"])
    assert again.discarded == {"dropped": 1}
    assert results.seed_line(again, name).endswith("0 added, 0 known, 0 refused; not let in: 1 dropped")


def test_the_hosts_of_a_preferred_domain_come_first(project, redis, name):
    seeded(project(), name)
    operator_commands.prefer(project(), name, ["example.com"], "first")
    assert granted(redis, name, 1)[0] == ["www.example.com"]
    operator_commands.prefer(project(), name, ["example.com"], "last")
    assert granted(redis, name, 2)[0] == ["a.example.org", "b.example.org"]


@pytest.mark.parametrize(
    ("kept", "documents", "rank"),
    [
        (20, 20, "FIRST"),
        (10, 20, "FIRST"),
        (9, 20, "RICH"),
        (1, 20, "USUAL"),
        (1, 100, "LAST"),
        (0, 20, "LAST"),
    ],
)
def test_what_a_domain_gave_earns_its_rank(kept, documents, rank):
    assert yields.rank_of(kept, documents).name == rank


@pytest.mark.parametrize(
    ("tell", "line"),
    [
        (
            lambda project, name: operator_commands.hold(project, name, "unknown.test", "1h"),
            "knows no host 'unknown.test'",
        ),
        (
            lambda project, name: operator_commands.resume(project, name, "unknown.test"),
            "knows no host 'unknown.test'",
        ),
        (
            lambda project, name: operator_commands.hold(project, name, "a.example.org", "soon"),
            "'soon' is not a time",
        ),
        (
            lambda project, name: operator_commands.hold(project, name, "a.example.org", "999999999d"),
            "'999999999d' is too long; give 36500d at most",
        ),
        (lambda project, name: operator_commands.drop(project, name, "example.org"), "not a scope"),
        (
            lambda project, name: operator_commands.drop(project, "no-such-crawl", "host:a.org"),
            "nothing is seeded",
        ),
        (lambda project, name: operator_commands.drop(project, name, "any"), "bars every page"),
        (
            lambda project, name: operator_commands.prefer(project, name, ["www.example.org"], "first"),
            "www.example.org: www.example.org belongs to the registered domain example.org",
        ),
        (
            operator_commands.prefer_by_yield,
            "no domain has 20 processed documents yet",
        ),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(project, name, tell, line):
    seeded(project(), name)
    with pytest.raises(InputError, match=line) as refusal:
        tell(project(), name)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "ms"), [("90s", 90_000), ("15m", 900_000), ("1h", 3_600_000), ("2d", 172_800_000)]
)
def test_times_are_written_as_people_write_them(text, ms):
    assert operator_commands.parse_duration_ms(text) == ms


def test_seeds_beyond_a_budget_are_not_let_in_and_are_counted(project, name):
    tight = project("max_pages_per_host = 2\nmax_hosts_per_domain = 1\n")
    found = seeded(
        tight,
        name,
        [*(f"http://a.example.org/{n}" for n in "abcd"), "http://b.example.org/", "http://c.test/"],
    )
    assert (found.added, found.discarded) == (3, {"host_budget": 2, "domain_hosts": 1})


def test_a_packed_list_that_breaks_off_says_how_many_were_added(project, name):
    path = project().directory / "seeds.gz"
    draw = random.Random(1)
    lines = [f"http://a.example.org/{draw.getrandbits(64):x}" for _ in range(5_500)]
    path.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0)[:-20_000])
    with pytest.raises(InputError) as refusal:
        seed_file(project(), str(path), SeedPlan(crawl=name))
    (found,) = re.findall(
        r"breaks off .*; before that ([\d,]+) URLs were added, 0 known, 0 lines refused;", str(refusal.value)
    )
    added = int(found.replace(",", ""))
    _, stats = granted(project().config.project.redis, name)
    assert added == stats.seen
    assert 1_000 < added < 5_500
    assert added % BATCH


def test_a_page_under_three_spellings_is_one_seed_unless_the_order_matters_there(project, name):
    spellings = [
        f"http://{host}.example.org/?{query}"
        for host in "ab"
        for query in ("x=1&y=%7e", "y=~&x=1", "x=1&y=%7E")
    ]
    assert seeded(project(), name, spellings).added == 2
    ordered = project('[crawler.hosts."b.example.org"]\nquery_order = true\n')
    found = seeded(ordered, f"{name}-ordered", spellings)
    assert (found.added, found.known) == (3, 3)


@pytest.mark.parametrize("time", ["10s", "59m", "0d", "366d"])
def test_a_revisit_that_no_visit_would_keep_to_is_refused(time):
    with pytest.raises(InputError, match=f"--revisit {time}: give a time between 1h and 365d"):
        parse_revisit(time)
    assert (parse_revisit("1h"), parse_revisit("365d")) == (3_600, 31_536_000)


def crawl_settings(project, name):
    async def ask(frontier):
        return frontier.crawl.settings

    return operator_commands.query_frontier(project, name, ask)


def test_settings_are_changed_for_all_workers_and_say_what_changed(project, name):
    seeded(project(), name)
    change = operator_commands.SettingsChange(min_delay_s=2.0, max_pages_per_host=50)
    said = operator_commands.change_settings(project(), name, change)
    assert "crawler.min_delay was 0, is 2 now" in said
    assert "crawler.max_pages_per_host was not set, is 50 now" in said
    settings = crawl_settings(project(), name)
    assert (settings.min_delay_ms, settings.min_ip_delay_ms, settings.budget.host) == (2000, 500, 50)
    with pytest.raises(InputError, match="has other settings"):
        seeded(project(), name)
    operator_commands.change_settings(project(), name, operator_commands.SettingsChange(max_pages_per_host=0))
    assert crawl_settings(project(), name).budget.host is None
    with pytest.raises(InputError, match="has these settings already"):
        operator_commands.change_settings(project(), name, operator_commands.SettingsChange(min_delay_s=2))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"min_delay_s": -1.0}, "crawler.min_delay is -1"),
        ({"min_delay_s": float("nan")}, "crawler.min_delay is nan"),
        ({"min_ip_delay_s": 1e9}, "crawler.min_ip_delay"),
        ({"max_pages_per_host": -1}, "crawler.max_pages_per_host is -1"),
        ({"max_hosts_per_domain": 0}, "crawler.max_hosts_per_domain is 0"),
        ({"max_pages_per_domain": 1 << 60}, "crawler.max_pages_per_domain"),
    ],
)
def test_a_setting_out_of_range_changes_nothing(project, name, change, said):
    seeded(project(), name)
    before = crawl_settings(project(), name)
    with pytest.raises(InputError, match=said):
        operator_commands.change_settings(project(), name, operator_commands.SettingsChange(**change))
    assert crawl_settings(project(), name) == before


def test_a_delay_of_addresses_that_is_not_a_quarter_stays():
    before = CrawlSettings(min_delay_ms=1000, min_ip_delay_ms=100)
    after = operator_commands.apply_change(before, operator_commands.SettingsChange(min_delay_s=4))
    assert (after.min_delay_ms, after.min_ip_delay_ms) == (4000, 100)
