import pytest
from cryptography.fernet import Fernet

from tests.crawler.sessions.login_site import SECRET, LoginSite
from thresher.crawler.sessions.profile import Profile, ProfileCookie, StorageState
from thresher.crawler.sessions.profile_file import profile_path, write_profile
from thresher.crawler.sessions.profile_key import KEY_VARIABLE
from thresher.crawler.sessions.session_settings import HostLogin


@pytest.fixture
def key(monkeypatch):
    """The key of the profiles, in the environment."""
    text = Fernet.generate_key().decode()
    monkeypatch.setenv(KEY_VARIABLE, text)
    return Fernet(text)


@pytest.fixture
def members():
    with LoginSite().serve() as site:
        yield site


@pytest.fixture
def elsewhere():
    """Another host."""
    with LoginSite("127.0.0.2").serve() as site:
        yield site


@pytest.fixture
def save(tmp_path, key, members):
    """A function that saves a profile of the site of members with the cookie `sid`, and returns its file."""

    def saved(name, value=SECRET, *, origins=(), cookies=(), **fields):
        sid = ProfileCookie(name="sid", value=value, domain=members.address)
        state = StorageState(cookies=(sid, *cookies), origins=origins)
        path = profile_path(tmp_path, name)
        write_profile(path, Profile(login_urls=(members.login_url,), state=state, **fields), key)
        return path

    return saved


@pytest.fixture
def login(save, members):
    """A function that returns the login of a crawl at the site of members, by profiles of these names and cookies."""

    def at(profiles=None, **signs):
        paths = [save(name, value) for name, value in (profiles or {"ada": SECRET}).items()]
        return (HostLogin(host=members.address, profiles=tuple(paths), **signs),)

    return at
