"""Environments of the peers: a virtual environment for each requirements file beside this module.

An environment lies in `build/peers/`. It is created when a bench first needs it, and again when its requirements file
changes.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

PEERS = Path(__file__).resolve().parent
BUILD = PEERS.parents[1] / "build" / "peers"


def python(requirements: str) -> str:
    """Return the interpreter that has what `requirements`.txt pins. Raise `subprocess.CalledProcessError` if pip
    cannot install it."""
    listed = PEERS / f"{requirements}.txt"
    stamp = hashlib.sha256(listed.read_bytes()).hexdigest()
    directory = BUILD / requirements
    done = directory / "installed"
    if not done.exists() or done.read_text() != stamp:
        shutil.rmtree(directory, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", directory], check=True)
        # The files are complete, so nothing is resolved. magic-html asks for Python 3.12 and works with 3.11.
        pip = [
            str(directory / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]
        subprocess.run(
            [*pip, "--no-deps", "--ignore-requires-python", "-r", str(listed)], check=True, stdout=sys.stderr
        )
        done.write_text(stamp)
    return str(directory / "bin" / "python")


def command(script: str, requirements: str) -> list[str]:
    """Return the words that run a script of this directory in the environment of its peer."""
    return [python(requirements), str(PEERS / script)]
