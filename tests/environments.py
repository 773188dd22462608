"""Python environments of programs whose packages do not go with ours: made on first use, then kept."""

import fcntl
import subprocess
import sys

import pytest


def installed(cache, name, packages, what):
    """The environment's directory of programs. The test skips where the packages of `what` cannot be installed."""
    directory = cache.mkdir(name)
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = directory / "done"
        if not done.exists():
            for command in (
                [sys.executable, "-m", "venv", "--clear", directory / "env"],
                [directory / "env/bin/python", "-m", "pip", "install", "--quiet", "--no-compile", *packages],
            ):
                made = subprocess.run(command, check=False, capture_output=True, text=True)
                if made.returncode:
                    pytest.skip(f"{what} cannot be installed here: {made.stderr.strip().splitlines()[-1]}")
            done.touch()
    return directory / "env" / "bin"
