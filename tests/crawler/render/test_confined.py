"""The browser starts without privileges and secrets: never as root, and in its own sandbox unless the user says
otherwise.
"""

import asyncio
import errno
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import pytest

from tests.crawler.conftest import redis  # noqa: F401 - a fixture
from tests.crawler.server import page
from thresher.core import InputError, Unavailable
from thresher.crawler.render.chromium.browser import start_browser
from thresher.crawler.render.chromium.directory import BrowserDirectory
from thresher.crawler.render.chromium.processes import process_tree
from thresher.crawler.worker import run_worker
from thresher.frontier import Outcome
from thresher.isolation import probe_confinement

pytestmark = pytest.mark.usefixtures("chromium")
SECRET = "s3cr3t-of-the-test"
WITHOUT_NAMESPACES = """#!/bin/sh
exec unshare --user --map-root-user sh -c '
    echo 1 >/proc/sys/user/max_user_namespaces &&
    exec unshare --user --map-user=1000 --map-group=1000 {chromium} "$@"' sh "$@"
"""
"""Chromium on a system without user namespaces: the script creates two, in which a third is one too many."""


def lines(pid):
    try:
        return dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    except OSError:
        return {}


def words(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def environment(pid):
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError):  # it has ended since it was listed
        return b""


def namespaces(pid):
    return [Path(f"/proc/{pid}/ns/{kind}").readlink() for kind in ("user", "net", "pid")]


async def running(chromium, look, *, sandbox=True):
    browser = await start_browser(chromium, sandbox=sandbox)
    try:
        context = await browser.chromium.new_context()
        await context.new_page()
        return look([process.pid for process in process_tree(browser.pid)])
    finally:
        await browser.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one browser and its driver look like, started by somebody with a secret."""

    status: dict
    environments: list
    commands: list
    ours: list
    """Command and environment of every process that we have started, the driver's too."""
    namespaces: list
    """Of the processes that run pages."""
    files: set
    left: list
    """Files that are there once it has stopped."""


@contextmanager
def temporary_files():
    """Yield a directory for temporary files that every user may enter, under a path of some length."""
    with (
        TemporaryDirectory(prefix="thresher-test-", dir="/tmp") as name,
        pytest.MonkeyPatch.context() as patch,
    ):
        Path(name).chmod(0o755)
        patch.setenv("TMPDIR", name)
        patch.setattr("tempfile.tempdir", name)
        yield Path(name)


def our_processes():
    """All processes that this one has started, once the driver is among them."""
    found = [process.pid for process in process_tree(os.getpid())[1:]]
    return found if any(b"run-driver" in words(pid) for pid in found) else []


@pytest.fixture(scope="module")
def seen(chromium, sandbox):
    with temporary_files() as temporary, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)

        def look(pids):
            (directory,) = temporary.iterdir()
            assert os.environ["TMPDIR"] == str(temporary)
            # The kernel may leave a process out of a list of children while another one ends.
            mine = next(filter(None, (our_processes() for _ in range(100))))
            return {
                "environments": [environment(pid) for pid in pids],
                "status": {pid: lines(pid) for pid in pids},
                "commands": [words(pid) for pid in pids],
                "ours": [(words(pid), environment(pid)) for pid in mine],
                "namespaces": [namespaces(pid) for pid in pids if b"--type=renderer" in words(pid)],
                "files": {re.sub(r"-\w+$", "", path.name) for path in directory.iterdir()},
            }

        found = asyncio.run(running(chromium, look, sandbox=sandbox))
        return Seen(**found, left=list(temporary.iterdir()))


def test_every_process_is_unprivileged_and_has_no_secret(seen, sandbox):
    walls = probe_confinement()
    found = [each for each in seen.status.values() if each and not each["State"].startswith("Z")]
    assert len(found) >= 3
    assert not any(SECRET.encode() in environment for environment in seen.environments)
    assert any(b"--no-sandbox" in command for command in seen.commands) != sandbox
    for each in found:
        assert "0" not in each["Uid"].split()
        assert each["NoNewPrivs"] == "1"
        assert not walls.seccomp or each["Seccomp"] == "2"
    if os.geteuid() == 0:
        assert {each["Uid"].split()[0] for each in found} == {"65534"}


def test_the_driver_has_no_secret(seen):
    assert any(b"run-driver" in command for command, _ in seen.ours)
    assert [command for command, environment in seen.ours if SECRET.encode() in environment] == []
    assert "PLAYWRIGHT_NODEJS_PATH" not in os.environ


@pytest.mark.usefixtures("sandboxed")
def test_processes_that_run_pages_have_their_own_namespaces(seen):
    ours = namespaces("self")
    assert seen.namespaces
    assert all(theirs != mine for found in seen.namespaces for theirs, mine in zip(found, ours, strict=True))


@pytest.fixture
def temporary():
    with temporary_files() as directory:
        yield directory


def test_all_files_of_a_browser_lie_in_one_directory_that_is_removed_with_it(seen):
    assert seen.files == {"t", "playwright_chromiumdev_profile", "playwright-artifacts"}
    assert seen.left == []


KILLED = """
import asyncio, os, signal
from thresher.crawler.render.chromium.browser import start_browser
from thresher.crawler.render.chromium.directory import BrowserDirectory
from thresher.crawler.render.chromium.processes import kill, process_tree

async def killed():
    await (await start_browser({chromium!r}, sandbox={sandbox})).chromium.new_context()
    for process in process_tree(os.getpid())[::-1]:
        kill(process.pid)

asyncio.run(killed())
"""


def test_the_next_browser_removes_the_directory_of_a_killed_one_and_no_others(chromium, sandbox, temporary):
    code = KILLED.format(chromium=chromium, sandbox=sandbox)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = temporary.iterdir()
    (temporary / "thresher-browser-link").symlink_to("/etc")
    living = BrowserDirectory()
    other = BrowserDirectory()
    assert not left.exists()
    assert {path.name for path in temporary.iterdir()} == {
        "thresher-browser-link",
        living.path.name,
        other.path.name,
    }
    living.remove()
    other.remove()
    assert [path.name for path in temporary.iterdir()] == ["thresher-browser-link"]


def test_a_directory_that_another_process_took_for_a_stale_one_is_made_again(temporary, monkeypatch):
    def removed_once(prefix):
        monkeypatch.undo()
        found = Path(mkdtemp(prefix=prefix, dir=temporary))
        found.rmdir()
        return str(found)

    monkeypatch.setattr("thresher.crawler.render.chromium.directory.mkdtemp", removed_once)
    made = BrowserDirectory()
    assert made.path.is_dir()
    made.remove()


def test_without_directory_locks_no_directory_counts_as_stale(temporary, monkeypatch):
    def lockless(*_):
        raise OSError(errno.EBADF, "Bad file descriptor")

    monkeypatch.setattr("thresher.crawler.render.chromium.directory.fcntl.flock", lockless)
    living = BrowserDirectory()
    BrowserDirectory().remove()
    assert list(temporary.iterdir()) == [living.path]
    living.remove()


@pytest.fixture
def without_namespaces(chromium, sandbox):
    """Yield the path of a browser that can have no sandbox, in a place where the user `nobody` may run it."""
    if not sandbox:
        yield chromium
        return
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-Ur", "true"], check=False).returncode:
        pytest.skip("this user can make no user namespaces, of which a test could take some away")
    directory = Path("/tmp") / f"thresher-test-{os.getpid()}"
    directory.mkdir(exist_ok=True)
    directory.chmod(0o755)
    program = directory / "chromium"
    program.write_text(WITHOUT_NAMESPACES.format(chromium=chromium))
    program.chmod(0o755)
    yield str(program)
    shutil.rmtree(directory)


async def test_without_namespaces_a_browser_is_refused_in_one_line_that_names_the_key(without_namespaces):
    with pytest.raises(InputError, match=r"grants no user namespaces; .*crawler.browser_sandbox = false"):
        await start_browser(without_namespaces, sandbox=True)


@pytest.mark.slow
async def test_a_browser_runs_without_its_sandbox_if_the_user_says_so(without_namespaces):
    browser = await start_browser(without_namespaces, sandbox=False)
    assert browser.is_alive
    await browser.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can lack what makes it another user")
def test_root_that_cannot_become_nobody_is_refused_in_one_line(chromium):
    code = (
        "import asyncio; from thresher.crawler.render.chromium.browser import start_browser; "
        f"asyncio.run(start_browser({chromium!r}, sandbox=True))"
    )
    words = [
        sys.executable,
        "-m",
        "tests.isolation.kernel_without",
        "capabilities",
        sys.executable,
        "-c",
        code,
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("thresher.core.errors.InputError: crawler.render: ")
    assert "does not run as root" in last
    assert "crawler.browser_sandbox = false" in last


@pytest.mark.skipif(os.geteuid() != 0, reason="only root begins it as another user")
async def test_root_whose_temporary_files_nobody_may_see_is_refused_in_one_line(
    chromium, tmp_path, monkeypatch
):
    tmp_path.chmod(0o700)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(InputError, match=f"as nobody, who may not enter {tmp_path}; .*TMPDIR=/tmp"):
        await start_browser(chromium, sandbox=True)


def test_a_worker_without_a_sandbox_ends_before_it_leases_anything(crawl, site, without_namespaces):
    site.answers["/"] = page("<div id=root></div><script>document.body.append('rendered')</script>")
    crawl.seed(f"{site.url}/")
    with pytest.raises(InputError, match=r"crawler.browser_sandbox = false"):
        run_worker(crawl.config("w1", render="auto", browser=without_namespaces, browser_sandbox=True))
    assert not site.requests
    run_worker(
        crawl.config("w2", render="auto", browser=without_namespaces, browser_sandbox=False, timeout_s=30)
    )
    assert crawl.stats.outcomes[Outcome.FETCHED] == 1


async def test_a_program_that_is_no_browser_is_an_error_of_one_line(tmp_path):
    with pytest.raises(Unavailable, match="/bin/true does not start: "):
        await start_browser("/bin/true", sandbox=True)
    assert asyncio.all_tasks() == {asyncio.current_task()}
