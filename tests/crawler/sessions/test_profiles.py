"""Profiles lie encrypted under a key that lies elsewhere, and nothing shows what is in them."""

import json
import stat

import pytest
from cryptography.fernet import Fernet

from thresher.core import InputError
from thresher.crawler.sessions.profile import Profile, parse_storage_state
from thresher.crawler.sessions.profile_file import profile_path, read_profile, write_profile
from thresher.crawler.sessions.profile_key import KEY_FILE_VARIABLE, KEY_VARIABLE, ensure_key, read_key

SECRET = "s3cr3t"
STATE = json.dumps(
    {
        "cookies": [
            {
                "name": "sid",
                "value": SECRET,
                "domain": ".shop.test",
                "path": "/",
                "expires": -1,
                "httpOnly": True,
                "secure": True,
                "sameSite": "Lax",
            }
        ],
        "origins": [
            {"origin": "https://shop.test", "localStorage": [{"name": "token", "value": f"jwt {SECRET}"}]}
        ],
    }
).encode()


def made():
    return Profile(
        login_urls=("https://shop.test/login",),
        state=parse_storage_state(STATE, "state.json"),
        user_agent="agent",
        proxy=f"http://me:{SECRET}@proxy.test:1",
    )


def test_a_profile_is_read_as_it_was_written_and_its_file_is_the_owners_alone(tmp_path):
    key, path = Fernet(Fernet.generate_key()), profile_path(tmp_path, "shop")
    write_profile(path, made(), key)
    assert read_profile(path, key) == made()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert SECRET.encode() not in path.read_bytes()
    assert [each.name for each in path.parent.iterdir()] == ["shop.profile"]


def test_a_wrong_key_and_a_changed_byte_are_one_line_without_a_value(tmp_path):
    key, path = Fernet(Fernet.generate_key()), profile_path(tmp_path, "shop")
    write_profile(path, made(), key)
    with pytest.raises(InputError, match="another key"):
        read_profile(path, Fernet(Fernet.generate_key()))
    text = bytearray(path.read_bytes())
    text[60] ^= 1
    path.write_bytes(text)
    with pytest.raises(InputError, match="damaged"):
        read_profile(path, key)
    path.write_bytes(STATE)
    with pytest.raises(InputError, match="no profile"):
        read_profile(path, key)
    with pytest.raises(InputError, match="thresher login URL --profile gone"):
        read_profile(profile_path(tmp_path, "gone"), key)


@pytest.mark.parametrize("name", ["", "../shop", ".shop", "a/b", "a" * 101])
def test_a_profile_has_the_name_of_a_file(name, tmp_path):
    with pytest.raises(InputError, match="a name has"):
        profile_path(tmp_path, name)


def test_nothing_shows_what_is_in_a_profile():
    profile = made()
    shown = [
        *(profile, profile.state, profile.state.cookies[0], profile.state.origins[0]),
        profile.state.origins[0].local_storage[0],
    ]
    assert SECRET not in repr(shown)


@pytest.mark.parametrize(
    "text",
    [b"", b"[]", b'{"cookies": "%s"}' % SECRET.encode(), b'{"cookies": [{"name": "sid", "value": 7}]}'],
)
def test_a_file_that_is_no_storage_state_is_refused_without_its_values(text):
    with pytest.raises(InputError, match=r"state\.json: no storage state") as caught:
        parse_storage_state(text, "state.json")
    assert SECRET not in str(caught.value)


def test_a_storage_state_without_a_login_is_refused():
    with pytest.raises(InputError, match="without cookies"):
        parse_storage_state(b"{}", "state.json")


def test_the_key_is_made_once_for_its_owner_alone(tmp_path):
    where = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    path = ensure_key(where)
    assert path is not None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert ensure_key(where) is None
    token = read_key(where).encrypt(b"x")
    assert read_key({KEY_FILE_VARIABLE: str(path)}).decrypt(token) == b"x"
    assert read_key({KEY_VARIABLE: path.read_text()}).decrypt(token) == b"x"


def test_a_key_that_others_may_read_is_refused(tmp_path):
    path = tmp_path / "key"
    path.write_bytes(Fernet.generate_key())
    path.chmod(0o640)
    with pytest.raises(InputError, match="chmod 600"):
        read_key({KEY_FILE_VARIABLE: str(path)})


def test_a_key_of_openssl_is_a_key():
    assert read_key({KEY_VARIABLE: "+/" * 21 + "+="})


def test_a_wrong_key_is_not_shown(tmp_path):
    with pytest.raises(InputError, match="no key of profiles") as caught:
        read_key({KEY_VARIABLE: SECRET})
    assert SECRET not in str(caught.value)
    with pytest.raises(InputError, match="cannot be read"):
        read_key({KEY_FILE_VARIABLE: str(tmp_path / "none")})
