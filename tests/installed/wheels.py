"""A wheel of the checkout, and environments in which it is installed. Tests import the fixtures by name."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
PACKAGES_OF_TESTS = sysconfig.get_path("purelib")
"""Where the dependencies lie. As a line of a `.pth` file it gives them to another environment, but not the editable
Thresher, because the `.pth` files in it are not read again."""


def run(*command, cwd=None, **variables):
    """Run a program, and return what it printed. A failure shows its messages. Modules of the checkout are not on its path,
    though some tests put them there for the workers of Ray (`tests.pipeline.raycluster`).
    """
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env={**inherited, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def copy_checkout(directory):
    """Copy what git knows of the working tree, with its links: a build must leave nothing behind in the checkout."""
    try:
        names = subprocess.run(
            ["git", "-C", str(ROOT), "ls-files", "-z"], check=True, capture_output=True, text=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is not a checkout of git")
    for name in filter(None, names.split("\0")):
        if (ROOT / name).exists():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, directory / name, follow_symlinks=False)
    return directory


def build_wheel(source, directory):
    """Build a wheel of a directory or of an sdist, with the setuptools of this environment and no network."""
    run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", directory, source)
    (wheel,) = directory.glob("*.whl")
    return wheel


def new_environment(directory):
    """Make an environment with the dependencies of the tests and without Thresher. Return its Python."""
    run(sys.executable, "-m", "venv", "--without-pip", directory)
    python = directory / "bin/python"
    (site,) = directory.glob("lib/python3*/site-packages")
    (site / "dependencies.pth").write_text(f"{PACKAGES_OF_TESTS}\n")
    return python


def install(python, *packages):
    """Install packages, without dependencies, into the environment of a Python."""
    run(*PIP, "--python", python, "install", "--no-deps", "--no-index", "--no-build-isolation", *packages)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the checkout, in which a build may leave files."""
    return copy_checkout(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="module")
def wheel(checkout, tmp_path_factory):
    """The wheel of the checkout."""
    return build_wheel(checkout, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def wheel_python(wheel, tmp_path_factory):
    """The Python of an environment in which the wheel is installed."""
    python = new_environment(tmp_path_factory.mktemp("environment"))
    install(python, wheel)
    return python
