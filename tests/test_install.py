"""The guide on installing names what pyproject.toml and the locks have."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GUIDE = (ROOT / "docs/guides/install.md").read_text(encoding="utf-8")
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
DEVELOPERS = {"test", "check", "build"}


def locked(name):
    """Version of each package of a lock. Environments differ: what only the tests need may need a package everywhere."""
    text = (ROOT / name).read_text()
    return dict(re.findall(r"^([a-z0-9._-]+)==([^\s;\\]+)", text, re.MULTILINE | re.IGNORECASE))


def required(extra):
    return {re.findall(r"^[A-Za-z0-9._-]+", line)[0].lower() for line in EXTRAS[extra]}


@pytest.mark.parametrize("extra", sorted(EXTRAS.keys() - DEVELOPERS))
def test_the_lock_of_all_extras_has_each_and_the_guide_names_it(extra):
    assert required(extra) <= {name.lower() for name in locked("requirements-all.lock")}
    assert f"| `{extra}` |" in GUIDE


def test_the_locks_agree():
    least, all_extras, most = map(
        locked, ("requirements.lock", "requirements-all.lock", "requirements-test.lock")
    )
    assert least.items() <= all_extras.items()
    assert all_extras.items() <= most.items()


def test_the_program_that_builds_is_locked_in_the_version_that_is_asked_for():
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert asked == EXTRAS["build"]
    for name in ("requirements.lock", "requirements-all.lock", "requirements-test.lock"):
        assert [f"setuptools=={locked(name)['setuptools']}"] == asked
    assert re.search(r"^UV\s+= uv==[0-9.]+$", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_nobody_is_told_to_install_a_package_of_that_name_from_an_index():
    said = [
        path.name
        for pattern in ("*.md", "docs/**/*.md", "*/*.py")
        for path in ROOT.glob(pattern)
        if path.name != "install.md"
        and re.search(r"pip install ['\"]?thresher", path.read_text(encoding="utf-8"))
    ]
    assert said == []
