"""`thresher login` without a browser: what it takes, what it refuses, and what it says."""

import json

import pytest

from thresher.core import InputError
from thresher.crawler.sessions.profile_file import profile_path, read_profile
from thresher.crawler.sessions.profile_key import read_key
from thresher.pipeline import configuration
from thresher.pipeline.login import LoginOptions, save_login

SECRET = "s3cr3t"
URL = "https://shop.test/login"


@pytest.fixture
def environment(tmp_path, monkeypatch):
    found = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "PROXY": f"socks5://me:{SECRET}@proxy.test:1080"}
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    return found


@pytest.fixture
def config(tmp_path):
    return configuration.parse('[project]\ncontact = "mailto:a@b.test"', tmp_path)


@pytest.fixture
def state(tmp_path):
    path = tmp_path / "state.json"
    cookie = {"name": "sid", "value": SECRET, "domain": "shop.test", "path": "/"}
    path.write_text(json.dumps({"cookies": [cookie]}))
    return path


def test_an_imported_login_becomes_a_profile_and_a_key_is_made(config, state, environment):
    saved = save_login(config, LoginOptions(url=URL, imported=state, proxy="env:PROXY"))
    profile = read_profile(profile_path(config.directory, "shop.test"), read_key(environment))
    assert profile.login_urls == (URL,)
    assert profile.proxy == environment["PROXY"]
    assert profile.state.cookies[0].value == SECRET
    assert saved.new_key is not None
    assert SECRET not in repr((saved, saved.body, saved.lines))
    assert save_login(config, LoginOptions(url=URL, imported=state)).new_key is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"is_headless": True}, "add --form"),
        ({"url": "shop"}, "no address of a login page"),
        ({"proxy": f"http://me:{SECRET}@proxy.test:1"}, "write env:NAME"),
        ({"proxy": "env:NONE"}, "NONE is not set"),
        ({"user_agent": "a\nb"}, "one line"),
        ({"profile": "../x"}, "a name has"),
    ],
)
@pytest.mark.usefixtures("environment")
def test_what_does_not_fit_is_one_line_and_saves_nothing(config, state, options, said):
    wanted = {"url": URL, "imported": None if "is_headless" in options else state, **options}
    with pytest.raises(InputError, match=said) as caught:
        save_login(config, LoginOptions(**wanted))
    assert SECRET not in str(caught.value)
    assert not (config.directory / "profiles").exists()
