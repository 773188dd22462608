"""The lines of the guide on installing, typed in a clone of the checkout by a user whose home directory is empty."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.environments import installed
from tests.installed.wheels import PIP, ROOT, copy_checkout, run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
GUIDE = (ROOT / "docs/guides/install.md").read_text(encoding="utf-8")
BLOCKS = [
    block for block in re.findall(r"^```\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL) if "$ " not in block
]
LOCKED = re.compile(r"^[a-z0-9-]+==.*(?:\n    .*)*", re.MULTILINE)
SMALL = ("markdown-it-py", "mdurl", "setuptools")
"""Packages of the lock of all extras that tests install: the line is tested, and not the network."""


def block(beginning):
    """The block with a line that begins so."""
    (found,) = (each for each in BLOCKS if re.search(rf"^{re.escape(beginning)}", each, re.MULTILINE))
    return found


def indexes_of_pip():
    """What pip is told of indexes, for uv, which does not read pip's configuration."""
    said = dict(re.findall(r"^[^.]+\.([a-z-]+)='(.*)'$", run(*PIP, "config", "list"), re.MULTILINE))
    names = {"find-links": "UV_FIND_LINKS", "index-url": "UV_DEFAULT_INDEX", "extra-index-url": "UV_INDEX"}
    found = {variable: said[name] for name, variable in names.items() if name in said}
    return {**found, "UV_INDEX_STRATEGY": "unsafe-best-match"} if found else {}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The home directory of the user."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def user(home):
    """Types lines in bash in a folder of an own home; the interpreter of the tests is `python3`."""
    (home / "bin").mkdir()
    (home / "bin/python3").symlink_to(sys.executable)
    kept = ("PIP_", "UV_", "SSL_", "HTTP", "http", "NO_PROXY", "no_proxy", "LANG", "LC_")
    variables = {
        **{name: value for name, value in os.environ.items() if name.startswith(kept)},
        **indexes_of_pip(),
        "HOME": str(home),
        "PATH": f"{home}/bin:{home}/.local/bin:{os.environ['PATH']}",
        "PIP_NO_COMPILE": "1",
        "PIP_QUIET": "1",
        "PIPX_DEFAULT_PYTHON": sys.executable,
        "UV_PYTHON": sys.executable,
    }

    def types(lines, folder=home):
        done = subprocess.run(
            ["bash", "-euc", lines], cwd=folder, env=variables, capture_output=True, text=True, check=False
        )
        if done.returncode and re.search(r"No matching distribution|no versions of|ConnectTimeout|Could not fetch",
                                         done.stderr):  # fmt: skip
            pytest.skip(f"no index has the packages: {done.stderr.strip().splitlines()[-1]}")
        assert done.returncode == 0, f"{lines}\n{done.stdout[-1000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    return types


@pytest.fixture(scope="module")
def clone(user, home, tmp_path_factory):
    """The folder of the clone after the first block of the guide."""
    repository = copy_checkout(tmp_path_factory.mktemp("repository"))
    for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "all"]):
        run("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", repository, *command)
    said = user(block("git clone").replace("REPOSITORY", str(repository)))
    assert said.startswith("thresher ")
    return home / "thresher"


def works(user, command, folder):
    """Whether the command says its versions and shows a guide."""
    version = json.loads(user(f"{command} --version --json", folder))["thresher"]
    assert user(f"{command} help install", folder).startswith("# Installing")
    return version


def test_from_a_clone(user, home, clone):
    assert works(user, "thresher/.venv/bin/thresher", home)


def test_a_wheel_and_a_repository(user, clone):
    for line in (
        ".venv/bin/pip wheel",
        ".venv/bin/pip install --no-deps --no-build-isolation --force-reinstall",
    ):
        user(block(line), clone)
        assert works(user, ".venv/bin/thresher", clone)
        where = user(f"{clone}/.venv/bin/python -c 'import thresher; print(thresher.__file__)'")
        assert "/site-packages/thresher/" in where, "a script beside the clone finds the copy"


@pytest.mark.parametrize("program", ["uv", "pipx"])
def test_as_a_tool(program, user, home, clone, request):
    if not shutil.which(program, path=str(home / "bin")):
        version = re.findall(r"^UV\s+= (uv==[0-9.]+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
        packages = version if program == "uv" else ["pipx"]
        programs = installed(request.config.cache, f"install-{program}", packages, program)
        (home / "bin" / program).symlink_to(programs / program)
    (line,) = (each for each in BLOCKS if each.startswith(f"{program} "))
    user(line, clone)
    assert works(user, "thresher", home)
    user(f"{program} {'tool ' if program == 'uv' else ''}uninstall thresher")


def test_extras_and_without_internet(user, home, clone):
    """With a lock of few packages: the line is what is tested. The other machine builds with what the lock holds."""
    lock = clone / "requirements-all.lock"
    entries = {text.partition("==")[0]: text for text in LOCKED.findall(lock.read_text())}
    lock.write_text("".join(f"{entries[name]}\n" for name in SMALL))
    user(block(".venv/bin/pip install --no-deps --require-hashes -r requirements-all.lock"), clone)
    user(block(".venv/bin/pip download"), clone)
    assert len(list((clone / "wheels").iterdir())) == len(SMALL)
    other = home / "other"
    shutil.copytree(clone, other, symlinks=True, ignore=shutil.ignore_patterns(".venv"))
    (lines,) = (each for each in BLOCKS if "--no-index" in each)
    user(lines, other)


def test_completion_is_installed_into_the_shell_that_it_is_typed_in(user, clone):
    path = f"PATH={clone}/.venv/bin:$PATH"
    user(f"{path}; {block('thresher --install-completion')}true")  # bash stays, and is found to be the shell
    said = user(
        f"{path}; source ~/.bashrc; COMP_WORDS=(thresher stat); COMP_CWORD=1; _thresher_completion thresher; "
        'echo "${COMPREPLY[@]}"'
    )
    assert said == "status\n"


def test_every_line_of_the_guide_is_typed_by_one_of_these_tests():
    typed = (
        "git clone",
        "pip wheel",
        "git+file:",
        "uv tool",
        "pipx",
        "requirements-all.lock",
        "--install-completion",
    )
    assert [each for each in BLOCKS if not any(word in each for word in typed)] == []
