"""What a wheel and an sdist hold, and the ways from a checkout to an installed Thresher."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.installed.wheels import (  # noqa: F401 - fixtures
    ROOT,
    build_wheel,
    checkout,
    install,
    new_environment,
    run,
    wheel,
    wheel_python,
)
from tests.packages import LINKS

pytestmark = pytest.mark.slow


def contents(built):
    """The files of a wheel but those that describe it."""
    names = zipfile.ZipFile(built).namelist()
    assert len(names) == len(set(names))
    return {name for name in names if ".dist-info/" not in name}


def tracked():
    """The files of the packages that git knows, as they are to be installed; and the guides."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", *LINKS, "thresher", "docs/guides/*.md"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    names = [name for name in listed.split("\0") if name and not (ROOT / name).is_symlink()]
    return {
        name.replace("docs/guides/", "thresher/guides/")
        if name.startswith("docs/")
        else name
        if name.startswith("thresher/")
        else f"thresher/{name}"
        for name in names
    }


def test_a_wheel_holds_every_file_of_the_packages_once_and_nothing_else(wheel):
    assert contents(wheel) == tracked()
    with zipfile.ZipFile(wheel) as archive:
        (top_level,) = (name for name in archive.namelist() if name.endswith("top_level.txt"))
        assert archive.read(top_level) == b"thresher\n"
        assert not any(entry.external_attr >> 28 == 0o12 for entry in archive.infolist()), "links"
    assert {name.split("/")[0] for name in contents(wheel)} == {"thresher"}


def test_the_data_that_the_code_reads_is_among_them(wheel):
    kinds = {Path(name).suffix for name in contents(wheel)}
    assert kinds >= {".py", ".lua", ".html", ".toml", ".json", ".js", ".css", ".md", ".typed"}
    assert {f"thresher/{name}/py.typed" for name in LINKS} <= contents(wheel)


def test_an_sdist_unpacks_to_what_builds_the_same_wheel(checkout, wheel, tmp_path):
    code = "import setuptools.build_meta as build; print(build.build_sdist('../sdist'))"
    copy = tmp_path / "copy"
    shutil.copytree(checkout, copy, symlinks=True)
    run(sys.executable, "-c", code, cwd=copy)
    (sdist,) = (tmp_path / "sdist").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        assert all(member.isfile() or member.isdir() for member in archive)
        tops = {Path(member.name).parts[1] for member in archive if len(Path(member.name).parts) > 1}
    assert tops <= {"thresher", "thresher.egg-info", "pyproject.toml", "setup.cfg", "PKG-INFO", "README.md",
                    "LICENSE", "NOTICE", "MANIFEST.in"}  # fmt: skip
    assert contents(build_wheel(sdist, tmp_path)) == contents(wheel)


@pytest.mark.parametrize("way", ["git archive", "git clone"])
def test_what_git_hands_out_builds_the_same_wheel(way, checkout, wheel, tmp_path):
    repository = tmp_path / "repository"
    shutil.copytree(checkout, repository, symlinks=True, ignore=shutil.ignore_patterns("build", "*.egg-info"))
    for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "all"]):
        run("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", repository, *command)
    if way == "git clone":
        assert contents(build_wheel(f"git+file://{repository}", tmp_path)) == contents(wheel)
        return
    run("git", "-C", repository, "archive", "--format=tar", "-o", tmp_path / "all.tar", "HEAD")
    (tmp_path / "unpacked").mkdir()
    run("tar", "-xf", tmp_path / "all.tar", "-C", tmp_path / "unpacked")
    assert contents(build_wheel(tmp_path / "unpacked", tmp_path)) == contents(wheel)


def test_an_editable_install_adds_one_name_as_well(checkout, tmp_path):
    python = new_environment(tmp_path / "environment")
    install(python, "--editable", checkout)
    where = run(python, "-c", "import thresher.core; print(thresher.core.__file__)", cwd=tmp_path).strip()
    assert where == f"{checkout}/thresher/core/__init__.py"
    code = "import importlib.util as u; print([u.find_spec(n) for n in {!r}])".format(
        [*LINKS, "bench", "docs", "demo", "deploy", "examples", "tests"]
    )
    assert str(checkout) not in run(python, "-c", code, cwd=tmp_path)


def test_an_installed_thresher_starts_in_every_way(wheel_python, wheel, tmp_path):
    said = run(wheel_python.with_name("thresher"), "--version", cwd=tmp_path)
    assert said.startswith("thresher ")
    (tmp_path / "core").mkdir()
    (tmp_path / "core/__init__.py").write_text("raise SystemExit('core of the working directory')")
    for command in (
        [wheel_python, "-m", "thresher"],
        [wheel_python, "-P", "-m", "thresher"],
        [wheel_python, "-I", "-m", "thresher"],
    ):
        assert run(*command, "--version", cwd=tmp_path) == said
    assert "# Installing" in run(wheel_python, "-m", "thresher", "help", "install", cwd=tmp_path)


def test_it_starts_from_a_directory_that_pip_fills_and_from_a_moved_environment(wheel, tmp_path):
    target = tmp_path / "target"
    python = new_environment(tmp_path / "environment")
    run(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", target, wheel)
    said = run(python, "-m", "thresher", "--version", cwd=tmp_path, PYTHONPATH=str(target))
    assert said.startswith("thresher ")
    install(python, wheel)
    (tmp_path / "environment").rename(tmp_path / "moved")
    moved = tmp_path / "moved/bin/python"
    assert run(moved, "-m", "thresher", "--version", cwd=tmp_path) == said
    where = run(moved, "-c", "import thresher.core; print(thresher.core.__file__)", cwd=tmp_path)
    assert where.startswith(str(tmp_path / "moved"))
