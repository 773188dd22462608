"""Which crawls are logged in, and what is wrong with a table that says so."""

from pathlib import Path

import pytest

from thresher.core import InputError
from thresher.crawler.sessions.session_settings import host_logins
from thresher.pipeline import configuration

TABLE = """[crawler.sessions."Shop.Test"]
profiles = ["ada", "bob"]
crawls = ["members"]
ended_text = "Please sign in"
"""


def settings(text):
    return configuration.parse(text, Path("/project")).crawler.sessions


def test_only_the_crawls_that_a_table_names_are_logged_in():
    (login,) = host_logins(settings(TABLE), "members", Path("/project"))
    assert login.host == "shop.test"
    assert [str(path) for path in login.profiles] == [
        "/project/profiles/ada.profile",
        "/project/profiles/bob.profile",
    ]
    assert (login.ended_text, login.ended_selector) == ("Please sign in", "")
    assert host_logins(settings(TABLE), "other", Path("/project")) == ()


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('profiles = ["a"]', r'crawler.sessions."a.test": crawls must be a list of names'),
        ('crawls = ["a"]', "profiles must be a list of names"),
        ('profiles = []\ncrawls = ["a"]', "profiles must be a list of names"),
        ('profiles = ["../a"]\ncrawls = ["a"]', "a name has letters"),
        ('profiles = ["a"]\ncrawls = ["a"]\nended_text = 7', "must be strings"),
        ('profiles = ["a"]\ncrawls = ["a"]\npassword = "s3cr3t"', "unknown key 'password'"),
    ],
)
def test_a_wrong_table_is_one_line(table, said):
    with pytest.raises(InputError, match=said) as caught:
        settings(f'[crawler.sessions."a.test"]\n{table}')
    assert "s3cr3t" not in str(caught.value)


def test_a_name_that_is_no_host_is_refused():
    with pytest.raises(InputError, match="no host name"):
        settings('[crawler.sessions."https://a.test"]\nprofiles = ["a"]\ncrawls = ["a"]')
