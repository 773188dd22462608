"""One job of a user in the places where Thresher runs: each gives the same dataset, or says in one line what is missing.

The job (`tests/places/job.py`) crawls, processes, exports, verifies and serves, and renders a page if there is a browser.
"""

import gzip
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from thresher.core import InputError
from thresher.crawler.render.chromium.program import find_browser

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
JOB = ("-m", "tests.places.job")
LACKING = (sys.executable, "-m", "tests.isolation.kernel_without")
AS_USER = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
"""Begins a program as a user who is not root and has no name, and may read what root may."""
NAMESPACE = ("unshare", "--mount", *(() if os.geteuid() == 0 else ("--user", "--map-root-user")))
"""Begins a program that may mount, and nobody else sees what."""
READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
SMALL_MEMORY = 'mount -t tmpfs -o size=64m,mode=1777 tmpfs /dev/shm && exec "$@"'
WITHOUT_IPV6 = "ip link set lo up && sysctl -qw net.ipv6.conf.all.disable_ipv6=1"
LATER_YEARS = 20
LATER_CLOCK = f"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
#define LATER ({LATER_YEARS} * 31556952L)
int clock_gettime(clockid_t clock, struct timespec *now) {{
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *)) dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += LATER;
    return result;
}}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {{
    struct timespec found;
    int result = clock_gettime(CLOCK_REALTIME, &found);
    if (result == 0) {{ now->tv_sec = found.tv_sec; now->tv_usec = found.tv_nsec / 1000; }}
    return result;
}}
time_t time(time_t *at) {{
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    if (at) *at = found.tv_sec;
    return found.tv_sec;
}}
"""
"""A library that a program is started with: its clock is twenty years late, and what measures time is as it was."""
NOT_COPIED = shutil.ignore_patterns(
    ".venv", ".git", "__pycache__", "demo-out", "build", ".*_cache", ".hypothesis"
)


@pytest.fixture(scope="module")
def browser():
    """Options that have the job render a page, if there is a browser."""
    try:
        find_browser("")
    except InputError:
        return []
    return ["--render"]


@pytest.fixture(scope="module")
def checkout():
    """A checkout with an environment of its own, below the temporary folder, in a path with blanks and letters."""
    with tempfile.TemporaryDirectory(prefix="thresher-test ") as directory:
        copy = Path(directory, "Größe & 'Maß' 語")
        shutil.copytree(ROOT, copy, symlinks=True, ignore=NOT_COPIED)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", copy / ".venv"], check=True)
        (packages,) = copy.glob(".venv/lib/python*/site-packages")
        (packages / "checkout.pth").write_text(f"{copy}\n{sysconfig.get_path('purelib')}\n", encoding="utf-8")
        yield copy


@pytest.fixture
def project():
    """A directory for a project that every user may enter, though it is not below the temporary folder of the tests."""
    with tempfile.TemporaryDirectory(prefix="thresher-test-") as directory:
        yield Path(directory, "project")


def needs(*words):
    """Skip where the kernel does not grant what `words` begin with."""
    if (
        shutil.which(words[0]) is None
        or subprocess.run([*words, "true"], check=False, capture_output=True).returncode
    ):
        pytest.skip(f"this user may not: {' '.join(words)}")


def result(*words, root=ROOT, environment=None, **options):
    environment = dict(os.environ) if environment is None else environment
    done = subprocess.run(
        [*map(str, words)], cwd=root, env=environment, capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    found = json.loads(done.stdout)
    documents = 3 if "--render" in words else 2  # one says something only to a browser
    assert found["console"] == "ok"
    assert found["manifest"]["documents"] == documents
    return found["manifest"]["digest"]


def test_below_the_temporary_folder_in_a_path_with_blanks_and_letters_outside_of_ascii(checkout, browser):
    result(
        checkout / ".venv/bin/python",
        *JOB,
        checkout.parent / "Projekt ü/mit Leerzeichen",
        *browser,
        root=checkout,
    )


def test_with_code_that_lies_on_a_read_only_file_system(checkout, project, browser):
    needs(*NAMESPACE)
    shutil.rmtree(checkout / "core/__pycache__", ignore_errors=True)
    python = checkout / ".venv/bin/python"
    result(*NAMESPACE, "sh", "-c", READ_ONLY, checkout, python, *JOB, project, *browser, root=checkout)
    assert not (checkout / "core/__pycache__").exists()


def test_as_a_user_without_rights_name_or_home(project, browser):
    needs(*AS_USER)
    environment = {
        name: value for name, value in os.environ.items() if name not in {"HOME", "USER", "LOGNAME"}
    }
    # In this namespace the browser can make no other one, which it needs for its sandbox.
    result(*AS_USER, sys.executable, *JOB, project, *browser, "--no-sandbox", environment=environment)


def test_in_a_container_that_grants_no_user_namespaces_no_landlock_and_no_filter(project, browser):
    features = "namespaces,landlock,seccomp"
    result(*LACKING, features, sys.executable, *JOB, project, *browser, "--no-sandbox")


def test_in_the_c_locale_with_files_that_only_their_owner_may_read(project, browser):
    locale = {"PATH": os.environ["PATH"], "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    words = ("sh", "-c", 'umask 077 && exec "$@"', "sh", sys.executable, *JOB, project, *browser)
    result(*words, environment=locale)


def test_without_ipv6_and_with_little_shared_memory(project, browser):
    begin = (*NAMESPACE, "--net", "sh", "-c", f"{WITHOUT_IPV6} && {SMALL_MEMORY}", "sh")
    needs(*begin)
    result(*begin, sys.executable, *JOB, project, *browser)


def test_after_the_19th_of_january_2038(project, tmp_path):
    """Seconds since 1970 then need more than 31 bits. Files keep the times that the kernel gives them."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler to make a later clock with")
    (tmp_path / "clock.c").write_text(LATER_CLOCK, encoding="ascii")
    library = tmp_path / "clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "clock.c", "-ldl"], check=True)
    result(sys.executable, *JOB, project, environment={**os.environ, "LD_PRELOAD": str(library)})
    (index,) = project.glob("data/warc/*/*.cdxj.gz")
    years = {line.split()[1][:4] for line in gzip.decompress(index.read_bytes()).splitlines()}
    assert years == {str(datetime.now(UTC).year + LATER_YEARS).encode()}


def test_optimized_python_gives_the_same(project):
    environment = {**os.environ, "PYTHONOPTIMIZE": "2", "PYTHONSAFEPATH": "1", "PYTHONPATH": str(ROOT)}
    result(sys.executable, *JOB, project, environment=environment)
