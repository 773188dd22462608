"""Programs that check or run what lies in deploy/, from `make .venv/deploy.stamp` or from the machine itself."""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
ENVIRONMENT = Path(sysconfig.get_path("scripts")).parent
DEBIAN = ENVIRONMENT / "debian"
PLACES = (
    ENVIRONMENT / "deploy/bin",
    Path(sysconfig.get_path("scripts")),
    DEBIAN / "usr/bin",
    DEBIAN / "usr/sbin",
)


def find_program(name):
    """Return the path of a program, or None."""
    return shutil.which(name, path=os.pathsep.join([*map(str, PLACES), os.environ["PATH"], "/usr/sbin"]))


def needed_program(name):
    """Return the path of a program. Skip the test if there is none."""
    path = find_program(name)
    if path is None:
        pytest.skip(f"there is no {name}: make .venv/deploy.stamp could not install it")
    return path


def environment(**more):
    """Return the environment of a program that was unpacked and not installed: its libraries lie beside it."""
    libraries = ":".join(map(str, (DEBIAN / "usr/lib").glob("*-linux-gnu")))
    return {**os.environ, "LD_LIBRARY_PATH": libraries, **more}


def check(*words, **more):
    """Run a checking program. Fail with its output if it finds anything."""
    done = subprocess.run(
        [needed_program(words[0]), *map(str, words[1:])],
        cwd=ROOT,
        env=environment(**more),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
