"""thresher.toml: defaults for all but the contact, and one clear line for every mistake."""

import json
import pickle
from pathlib import Path

import pytest

from thresher.core import InputError
from thresher.core.settings import parse_size
from thresher.filters.dedup import signature
from thresher.frontier import UrlPolicy, canonicalize
from thresher.pipeline import configuration
from thresher.pipeline.configuration_template import template
from thresher.pipeline.open_project import OpenProject

HERE = Path("project")


def refusal(text):
    with pytest.raises(InputError) as error:
        configuration.parse(text, HERE)
    assert "\n" not in str(error.value)
    assert "project/thresher.toml" in str(error.value)
    return str(error.value)


def test_everything_but_the_contact_has_a_default():
    parsed = configuration.parse("", HERE)
    assert parsed.crawler.pace.min_delay == 1.0
    assert parsed.crawler.wire.max_body == 10 * 2**20
    assert parsed.dedup.bands_and_rows == (14, 8)
    with pytest.raises(InputError, match=r"project\.contact is not set"):
        _ = parsed.contact


def test_the_template_of_init_is_valid_and_says_the_defaults():
    uncommented = "\n".join(
        line.removeprefix("# ") if line.startswith("# ") and " = " in line else line
        for line in template().splitlines()
        if line.strip()
    )
    assert configuration.parse(uncommented, HERE) == configuration.parse("", HERE)


def test_every_key_is_declared_once():
    for section in configuration.SECTIONS:
        names = [setting.name for setting in configuration.settings_of(section)]
        assert names
        assert len(set(names)) == len(names)


def test_the_template_shows_every_key():
    for section in configuration.SECTIONS:
        text = template().partition(f"[{section}]")[2].partition("\n\n")[0]
        for setting in configuration.settings_of(section):
            assert f"{setting.name} = " in text or f"#   {setting.key.example or setting.name} " in text


def test_tables_come_last_so_that_any_line_of_the_template_may_be_uncommented():
    for section in configuration.SECTIONS:
        lines = template().partition(f"[{section}]")[2].partition("\n\n")[0].splitlines()
        is_table = [line.startswith("#   [") for line in lines]
        assert is_table == sorted(is_table)


def test_the_settings_of_the_owners_go_to_another_process_whole():
    parsed = configuration.parse("[crawler]\ntimeout = 5\nmax_body = '1MiB'\nrender = 'auto'", HERE)
    assert pickle.loads(pickle.dumps(parsed)) == parsed
    assert (parsed.crawler.wire.timeout, parsed.crawler.wire.max_body) == (5.0, 1 << 20)
    assert parsed.crawler.rendering.render == "auto"


def test_the_size_of_a_signature_is_the_filters():
    assert configuration.PERMUTATIONS == signature.PERMUTATIONS
    assert configuration.MAX_PERMUTATIONS == signature.MAX_PERMUTATIONS


def test_an_empty_file_is_a_project_of_defaults(tmp_path):
    (tmp_path / configuration.FILE).write_text("")
    assert configuration.load(tmp_path) == configuration.parse("", tmp_path)


def test_a_directory_without_the_file_is_no_project(tmp_path):
    with pytest.raises(InputError, match=rf"{tmp_path}: no project here.*thresher init {tmp_path}"):
        configuration.load(tmp_path)


def test_inside_a_project_its_directory_is_named(tmp_path):
    (tmp_path / configuration.FILE).write_text("")
    with pytest.raises(InputError, match=rf"add --project {tmp_path}$"):
        configuration.load(tmp_path / "notes" / "today")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[crawler]\nmin_dealy = 1", "did you mean 'min_delay'?"),
        ("[filter]\npreset = 'none'", "did you mean 'filters'?"),
        ("contact = 'a@b.org'", "unknown section [contact]"),
        ("[crawler]\nmin_delay = 'fast'", "must be a number"),
        ("[crawler]\nmin_delay = true", "must be a number"),
        ("[crawler]\nmin_delay = -1", "must not be negative"),
        ("[crawler]\nmax_body = '10 apples'", "is not a size"),
        ("[crawler]\nallow_networks = ['127.0.0.0/40']", "allow_networks"),
        ("[crawler]\nallow_networks = '127.0.0.0/8'", "must be a list of strings"),
        ("[filters]\nlanguages = [1]", "must be a list of strings"),
        ("[filters]\nlanguages = ['english']", "codes of ISO 639 such as 'en'"),
        ("[filters]\nlicenses = ['Creative Commons']", "must be SPDX identifiers such as 'CC-BY-4.0'"),
        ("[filters]\nlicenses = ['']", "must be SPDX identifiers"),
        ("[filters]\nlanguage_model = 'cld3'", "'ensemble' or 'lid.176'"),
        (
            "[filters]\nlanguage_thresholds = 0.5",
            "filters.language_thresholds must be a table of numbers, not a number",
        ),
        (
            "[filters.language_thresholds]\nhr = 'low'",
            'filters.language_thresholds."hr" must be a number, not a string',
        ),
        (
            "[filters.language_thresholds]\nhr = 65",
            "filters.language_thresholds must have values from 0 to 1",
        ),
        ("[filters]\nformat = 'html'", "'text', 'markdown' or 'markdown+links'"),
        (
            "[filters]\nformat = 'markdown+links'\n[extract]\nengine = 'trafilatura'",
            'extract.engine = "trafilatura" writes no links',
        ),
        ("[dedup]\nnear = '14by8'", "bands x rows"),
        ("[dedup]\nnear = '999x20'", "product of at most 10000"),
        ("[dedup]\nsimilarity = 0", "above 0 and at most 1"),
        ("[crawler]\nmin_delay = inf", "must be finite"),
        ("[crawler]\nmin_ip_delay = -1", "min_ip_delay must not be negative"),
        ("[crawler]\nmin_ip_delay = 'fast'", "must be a number"),
        ("[crawler]\nmax_pages_per_host = 0", "max_pages_per_host must be at least 1"),
        ("[crawler]\nmax_pages_per_domain = 1.5", "must be a whole number"),
        ("[crawler]\nmax_hosts_per_domain = true", "must be a whole number"),
        ("[project]\ncontact = 'me'", "project.contact must be"),
        ('[project]\ncontact = "a@b.org\\nX-Evil: 1"', "project.contact must be"),
        ("[crawler]\nrender = 'maybe'", "crawler.render must be 'never', 'auto' or 'always', not 'maybe'"),
        ("[crawler]\narchive = 1", "crawler.archive must be 'all' or 'kept', not 1"),
        ("[crawler]\nobey = ['noai']", "crawler.obey must name 'nofollow' and 'noarchive' at most"),
        ("[crawler]\nallow_networks = [1]", "crawler.allow_networks must be a list of strings"),
        ("[crawler]\nmax_body = 10", "crawler.max_body must be a string, not a whole number"),
        ("[crawler]\nhosts = 1", 'crawler.hosts must be tables such as [crawler.hosts."example.org"]'),
        (
            "[crawler.hosts]\nx = 1",
            'crawler.hosts."x" must be a table, written as [crawler.hosts."x"], not a whole',
        ),
        ("[crawler]\ntimeout = 0", "crawler.timeout must be more than 0 and finite, not 0.0"),
        ("[crawler]\nproxy = 1979-05-27", "crawler.proxy must be a string, not a date"),
        (
            "[project]\nengine = 'slurm'",
            "project.engine must be 'local', 'ray' or 'ray:HOST:PORT', not 'slurm'",
        ),
        ("[project", "not valid TOML"),
    ],
)
def test_a_mistake_is_named_with_what_would_be_right(text, said):
    assert said in refusal(text)


@pytest.mark.parametrize(
    ("text", "expected"), [("10MiB", 10 * 2**20), ("500 kB", 500_000), ("1.5GB", 1_500_000_000), ("12", 12)]
)
def test_sizes(text, expected):
    assert parse_size(text) == expected


def test_a_host_may_have_traps_and_query_order_of_its_own(tmp_path):
    text = """
    [crawler]
    traps = false
    [crawler.hosts."Shop.example.org"]
    traps = true
    query_order = true
    [crawler.hosts."bücher.example"]
    query_order = true
    """
    policy = OpenProject(config=configuration.parse(text, tmp_path)).settings.policy
    assert [policy.traps.is_on(host) for host in ("a.test", "shop.example.org", "www.shop.example.org")] == [
        False,
        True,
        True,
    ]
    assert [
        policy.query_order.is_on(host) for host in ("a.test", "shop.example.org", "xn--bcher-kva.example")
    ] == [False, True, True]
    assert OpenProject(config=configuration.parse("", tmp_path)).settings.policy == UrlPolicy()


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (
            '"shop.example.org"]\ntrap = true',
            "unknown key crawler.hosts.\"shop.example.org\".trap; did you mean 'traps'?",
        ),
        ('"shop.example.org"]\ntraps = 1', "must be true or false, not 1"),
        ('"shop.example.org:80"]\ntraps = true', "is no host name"),
        ('"http://shop.example.org"]\ntraps = true', "is no host name"),
        ('""]\ntraps = true', "is no host name"),
        ("x]\nhosts = 1\n[crawler]\nhosts = 1", "thresher.toml: not valid TOML"),
    ],
)
def test_a_table_of_a_host_that_is_wrong_is_refused(tmp_path, table, said):
    with pytest.raises(InputError) as refusal:
        configuration.parse(f"[crawler.hosts.{table}", tmp_path)
    assert said in str(refusal.value)
    assert "thresher.toml" in str(refusal.value)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('"a.test" = "scroll"', 'crawler.behaviour_hosts."a.test" must be a list, not a string'),
        (
            '"a.test" = ["klick"]',
            "\"a.test\" must be 'consent', 'more', 'scroll', 'next' or 'autoplay', not 'klick'",
        ),
    ],
)
def test_behaviours_of_a_host_that_are_wrong_are_refused(tmp_path, table, said):
    with pytest.raises(InputError) as refusal:
        configuration.parse(f"[crawler.behaviour_hosts]\n{table}", tmp_path)
    assert said in str(refusal.value)


def test_a_host_has_its_own_behaviours(tmp_path):
    parsed = configuration.parse('[crawler.behaviour_hosts]\n"a.test" = []\n"b.test" = ["scroll"]', tmp_path)
    rendering = parsed.crawler.rendering
    assert [rendering.behaviours_of(canonicalize(f"http://{host}/")).names for host in ("a.test", "www.b.test")] == [
        (), ("scroll",),
    ]  # fmt: skip


def test_a_host_to_render_is_written_as_people_write_it(tmp_path):
    def rendering(table):
        return configuration.parse(f"[crawler.render_hosts]\n{table}", tmp_path).crawler.rendering

    settings = rendering('"Shop.Example.org" = "always"\n"b\u00fccher.example" = "auto"')
    hosts = ("www.shop.example.org", "xn--bcher-kva.example", "example.org")
    assert [settings.mode(host) for host in hosts] == ["always", "auto", "never"]
    for table, said in (
        ('"shop.example.org:80" = "auto"', "is no host name"),
        ('"a.test" = "alway"', "must be 'never'"),
    ):
        with pytest.raises(InputError, match=said):
            rendering(table)


@pytest.mark.parametrize(
    "wrong",
    [
        '[crawler.auth]\n"x.test" = "S3CRET"',
        '[crawler]\nauth = "S3CRET"',
        '[crawler]\nproxy = ["http://u:S3CRET@h:1"]',
        '[project]\nredis = {password = "S3CRET"}',
        '[project]\ncatalog = ["postgresql://u:S3CRET@h/db"]',
    ],
)
def test_a_value_of_the_wrong_type_is_in_no_message(tmp_path, wrong):
    with pytest.raises(InputError, match="must be") as refusal:
        configuration.parse(wrong, tmp_path)
    assert "S3CRET" not in str(refusal.value)


def test_rules_are_names_and_tables(tmp_path):
    (tmp_path / "words.txt").write_text("# a comment\nbad\n\n worse \n")
    text = '[filters]\nrules = ["length", {rule = "url_words", hard = "file:words.txt"}, "mine:rule"]'
    length, words, own = configuration.parse(text, tmp_path).filters.rules
    assert (length, own) == ("length", "mine:rule")
    assert json.loads(words) == {"rule": "url_words", "hard": ["bad", "worse"]}


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ('"length"', "filters.rules must be a list of names and of tables"),
        ("[1]", "filters.rules must be a list of names and of tables"),
        ("[{short_line = 3}]", "filters.rules must be a list of names and of tables"),
        ('[{rule = "length", most_words = 1979-05-27}]', "dates are no parameters"),
        (
            '[{rule = "url_words", hard = "file:no.txt"}]',
            "filters.rules: url_words: hard = 'file:no.txt': cannot be",
        ),
    ],
)
def test_wrong_entries_of_rules_are_refused_in_one_line(tmp_path, rules, said):
    with pytest.raises(InputError) as error:
        configuration.parse(f"[filters]\nrules = {rules}", tmp_path)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
