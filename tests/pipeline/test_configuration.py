"""thresher.toml: defaults for all but the contact, and one clear line for every mistake."""

from pathlib import Path

import pytest

from core import InputError
from filters.dedup import signature
from frontier import UrlPolicy
from pipeline import configuration
from pipeline.project import Project

HERE = Path("project")


def refusal(text):
    with pytest.raises(InputError) as error:
        configuration.parse(text, HERE)
    assert "\n" not in str(error.value)
    assert "project/thresher.toml" in str(error.value)
    return str(error.value)


def test_everything_but_the_contact_has_a_default():
    parsed = configuration.parse("", HERE)
    assert parsed.crawler.min_delay == 1.0
    assert parsed.crawler.max_body_bytes == 10 * 2**20
    assert parsed.dedup.bands_and_rows == (14, 8)
    with pytest.raises(InputError, match=r"project\.contact is not set"):
        _ = parsed.contact


def test_the_template_of_init_is_valid_and_says_the_defaults():
    uncommented = "\n".join(
        line.removeprefix("# ") if line.startswith("# ") and " = " in line else line
        for line in configuration.TEMPLATE.splitlines()
        if line.strip()
    )
    assert configuration.parse(uncommented, HERE) == configuration.parse("", HERE)


def test_the_size_of_a_signature_is_the_filters():
    assert configuration.PERMUTATIONS == signature.PERMUTATIONS


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
        ("[filters]\nformat = 'html'", "'text' or 'markdown'"),
        ("[dedup]\nnear = '14by8'", "bands x rows"),
        ("[dedup]\nnear = '20x20'", "must not be more than the 112"),
        ("[crawler]\nmin_delay = inf", "must be finite"),
        ("[crawler]\nmin_ip_delay = -1", "min_ip_delay must not be negative"),
        ("[crawler]\nmin_ip_delay = 'fast'", "must be a number"),
        ("[crawler]\nmax_pages_per_host = 0", "max_pages_per_host must be at least 1"),
        ("[crawler]\nmax_pages_per_domain = 1.5", "must be a whole number"),
        ("[crawler]\nmax_hosts_per_domain = true", "must be a whole number"),
        ("[project]\ncontact = 'me'", "project.contact must be"),
        ('[project]\ncontact = "a@b.org\\nX-Evil: 1"', "project.contact must be"),
        ("[project", "not valid TOML"),
    ],
)
def test_a_mistake_is_named_with_what_would_be_right(text, said):
    assert said in refusal(text)


@pytest.mark.parametrize(
    ("text", "expected"), [("10MiB", 10 * 2**20), ("500 kB", 500_000), ("1.5GB", 1_500_000_000), ("12", 12)]
)
def test_sizes(text, expected):
    assert configuration.parse_size(text) == expected


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
    policy = Project(config=configuration.parse(text, tmp_path)).settings.policy
    assert [policy.traps.is_on(host) for host in ("a.test", "shop.example.org", "www.shop.example.org")] == [
        False,
        True,
        True,
    ]
    assert [
        policy.query_order.is_on(host) for host in ("a.test", "shop.example.org", "xn--bcher-kva.example")
    ] == [False, True, True]
    assert Project(config=configuration.parse("", tmp_path)).settings.policy == UrlPolicy()


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
    ],
)
def test_a_table_of_a_host_that_is_wrong_is_refused(tmp_path, table, said):
    with pytest.raises(InputError) as refusal:
        configuration.parse(f"[crawler.hosts.{table}", tmp_path)
    assert said in str(refusal.value)
    assert "thresher.toml" in str(refusal.value)


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
