"""What a checkout holds: regular files, and nothing that a build or a test leaves behind."""

import subprocess
from pathlib import Path

import pytest

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


def test_every_file_is_regular():
    """A link leads nowhere on another machine, and stands in the way of the folder that is made there."""
    files = _git("ls-files", "--stage")
    assert len(files) > 1_000
    assert [line for line in files if line.split(" ", 1)[0] not in REGULAR_FILES] == []


def test_nothing_that_is_ignored_belongs_to_the_checkout():
    assert _git("ls-files", "--cached", "--ignored", "--exclude-standard") == []


@pytest.mark.parametrize("name", [".venv", "build", "demo-out"])
def test_what_commands_leave_behind_is_ignored_as_a_folder_and_as_a_link(name):
    patterns = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    assert {name, f"/{name}"} & set(patterns), "a pattern that ends in / leaves out the link"
