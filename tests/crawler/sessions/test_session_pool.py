"""Which profile a host's requests are under, and when it is retired."""

import os

import pytest

from tests.crawler.sessions.login_site import SECRET
from thresher.core import Capture, InputError
from thresher.crawler.sessions.session_pool import SessionPool
from thresher.crawler.sessions.session_settings import HostLogin
from thresher.crawler.wire import Postponement
from thresher.frontier import canonicalize

HOST = "127.0.0.1"
BLOCK_PAGE = b"<title>Just a moment...</title><p>Checking."


def capture(status=200, body=b"<p>a page", *headers):
    return Capture(
        url=canonicalize(f"http://{HOST}/a"),
        request=b"",
        response=body,
        head_length=0,
        status=status,
        headers=(("Content-Type", "text/html"), *headers),
        payload=body,
        started_ms=0,
        elapsed_ms=0,
        peer=HOST,
        truncated=None,
    )


@pytest.fixture
def holds():
    return []


@pytest.fixture
def pool(save, holds):
    """A function that makes a pool of profiles of these names for the host."""

    async def hold(host, ms, reason):
        holds.append((host, reason))

    def made(*names, **signs):
        paths = tuple(save(name) for name in names)
        return SessionPool((HostLogin(host=HOST, profiles=paths, **signs),), hold=hold, clock=lambda: 0.0)

    return made


async def answer(pool, *captures):
    """Return the profile after these answers; empty if none is left."""
    for each in captures:
        session = pool.session(HOST)
        assert session is not None
        await pool.checked(session, each)
    after = pool.session(HOST)
    return after.profile if after is not None else ""


@pytest.mark.parametrize(
    ("answers", "profile"),
    [
        ([capture(403)] * 2, "ada"),
        ([capture(403)] * 3, "bob"),
        ([capture(403), capture(403), capture(), capture(403)], "ada"),
        ([capture(503, BLOCK_PAGE)] * 3, "ada"),  # a server that is busy
        ([capture(403, BLOCK_PAGE)], "bob"),
        ([capture(429)] * 9, "ada"),
        ([capture(403, BLOCK_PAGE)] * 2, "bob"),  # nobody is left to take over
        ([capture(401)], "bob"),
        ([capture(401), capture(401)], ""),
    ],
)
async def test_a_profile_is_retired_when_its_login_ends_or_its_host_blocks_it(pool, holds, answers, profile):
    assert await answer(pool("ada", "bob"), *answers) == profile
    assert holds == ([(HOST, "login_ended")] if not profile else [])


async def test_a_retired_profile_is_read_again_when_its_file_has_changed(pool, save, caplog):
    sessions = pool("ada")
    before = sessions.session(HOST)
    assert isinstance(await sessions.checked(before, capture(401)), Postponement)
    path = save("ada", "of-today")
    path.write_bytes(b"half a file")
    os.utime(path, ns=(1, 1))
    assert sessions.session(HOST) is None
    assert "no profile of this version" in caplog.text
    os.utime(save("ada", "of-today"), ns=(2, 2))
    after = sessions.session(HOST)
    assert after is not None
    assert [one.value for one in after.cookies] == ["of-today"]
    # An answer to a request of before says nothing about the new login.
    assert isinstance(await sessions.checked(before, capture(401)), Postponement)
    assert sessions.session(HOST) is after


def test_the_longest_name_that_a_host_lies_under_has_its_session(save, members):
    async def hold(*_): ...

    logins = tuple(
        HostLogin(host=host, profiles=(save(name),))
        for host, name in (("a.test", "ada"), ("b.a.test", "bob"))
    )
    pool = SessionPool(logins, hold=hold, clock=lambda: 0.0)
    found = {host: pool.session(host) for host in ("a.test", "c.a.test", "b.a.test", "x.b.a.test", "ba.test")}
    assert {host: one.profile for host, one in found.items() if one} == {
        "a.test": "ada",
        "c.a.test": "ada",
        "b.a.test": "bob",
        "x.b.a.test": "bob",
    }
    assert SECRET not in repr((pool, found))


def test_a_selector_that_is_none_is_an_error_before_anything_is_fetched(pool):
    with pytest.raises(InputError, match="no CSS selector"):
        pool("ada", ended_selector="p[[")
