"""Programs of others that judge and replay archives, in an environment of their own: pywb holds back packages of ours."""

import fcntl
import subprocess
import sys

import pytest

PACKAGES = [
    "pywb>=2.9,<3",
    "wacz>=0.5,<1",
    "warcio>=1.7,<2",
    "cdxj-indexer>=1.4,<2",
    "warctools>=4,<6",
    "setuptools<81",
]


def programs(cache):
    """The directory of `pywb`, `wb-manager`, `wacz`, `cdxj-indexer` and `warcvalid`; made on first use, then kept."""
    directory = cache.mkdir("pywb")
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = directory / "done"
        if not done.exists():
            for command in (
                [sys.executable, "-m", "venv", "--clear", directory / "env"],
                [directory / "env/bin/python", "-m", "pip", "install", "--quiet", *PACKAGES],
            ):
                made = subprocess.run(command, check=False, capture_output=True, text=True)
                if made.returncode:
                    pytest.skip(f"pywb cannot be installed here: {made.stderr.strip().splitlines()[-1]}")
            done.touch()
    return directory / "env" / "bin"
