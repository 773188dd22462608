"""What a checkout holds: regular files, and nothing that a build or a test leaves behind."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.packages import LINKS

ROOT = Path(__file__).resolve().parents[2]
REGULAR_FILES = {"100644", "100755"}
"""The modes that git gives a file, and one that can be run; a link has 120000, another repository 160000."""


def _git(*arguments: str) -> list[str]:
    """The names that git prints, each ended by a NUL."""
    command = ["git", "-C", str(ROOT), *arguments, "-z"]
    try:
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is not a checkout of git")
    return output.split("\0")[:-1]


def test_every_file_is_regular_but_the_links_to_the_packages_and_the_guides():
    """Any other link leads nowhere on another machine, and stands in the way of the folder that is made there."""
    files = _git("ls-files", "--stage")
    assert len(files) > 1_000
    others = [line.split("\t", 1)[1] for line in files if line.split(" ", 1)[0] not in REGULAR_FILES]
    assert others == sorted(f"thresher/{name}" for name in (*LINKS, "guides"))
    assert (ROOT / "thresher/guides").readlink() == Path("../docs/guides")


@pytest.mark.parametrize("name", LINKS)
def test_a_package_has_one_name(name):
    """Imported under two names, its classes would be two: an `except` would miss what the other one raises."""
    assert (ROOT / "thresher" / name).readlink() == Path("..", name)
    code = f"import thresher.{name}, sys; sys.modules.pop('{name}', None); import {name}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, capture_output=True, text=True)
    assert (
        done.stderr.splitlines()[-1]
        == f"ImportError: import thresher.{name}: `{name}` is its folder in a checkout"
    )


def test_nothing_that_is_ignored_belongs_to_the_checkout():
    assert _git("ls-files", "--cached", "--ignored", "--exclude-standard") == []


@pytest.mark.parametrize("name", [".venv", "build", "demo-out"])
def test_what_commands_leave_behind_is_ignored_as_a_folder_and_as_a_link(name):
    patterns = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    assert {name, f"/{name}"} & set(patterns), "a pattern that ends in / leaves out the link"
